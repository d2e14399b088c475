//! Campaigns as they stand.

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::{json, tagged};
use crate::clock_text;
use crate::request;
use crate::request::call::Call;
use axum::http::StatusCode;
use firstcome_api::campaign::{Archived, Campaign, CampaignList, CampaignPool, Limits};
use firstcome_api::code::PoolCodes;
use firstcome_api::key::Role;
use firstcome_core::campaign::{self, Phase};
use firstcome_core::limits::WAITLIST;
use firstcome_core::pool::Pool;
use firstcome_core::settings::{CodeSettings, PoolSettings};
use firstcome_core::{State, Timestamp};
use firstcome_node::Decided;
use tokio::task::yield_now;

/// Returns a campaign.
///
/// A public campaign is given to everybody, without a key, for a second (`Cache-Control: public, max-age=1`).
#[utoipa::path(get, path = "/v1/campaigns/{campaign}", tag = "campaigns", operation_id = "show_campaign",
    responses((status = "2XX", body = Campaign)))]
pub(crate) async fn show(call: Call<String>) -> HandlerResult {
    let Call { app, path: campaign, headers, .. } = &call;
    let reader = app.reader(headers, campaign)?;
    request::campaign(campaign)?;
    call.reach().await?;
    app.readable(campaign)?;
    let (now, stale) = (app.node.intake.now(), app.is_stale());
    let (mut view, position) = app.node.replica.look(|state| {
        let position = state.token();
        let refused = |refusal| Problem::refused(refusal, campaign).at(position, Decided::Replica);
        let found = state.campaign(campaign).map_err(refused)?;
        Ok::<_, Problem>((view(state, found, now, stale), position))
    })?;
    if !reader.has_key() {
        leave_out_for_a_subject(&mut view);
    }
    view.durable = app.node.intake.endures(position).await;
    Ok(reader.cache(tagged(StatusCode::OK, view.version, &view)))
}

/// Campaigns of one page at most, unless fewer are asked for: each has a kilobyte and more.
const LISTED: usize = 100;
/// The most that one may ask for.
pub const LISTED_MOST: usize = 1_000;

/// Lists campaigns, those in memory and archived ones, by name.
#[utoipa::path(get, path = "/v1/campaigns", tag = "campaigns", operation_id = "list_campaigns",
    params(("after" = Option<String>, Query, description = "Only campaigns whose names come after this one"),
           ("limit" = Option<usize>, Query, description = "1 to 1000, 100 if left out")),
    responses((status = "2XX", body = CampaignList)))]
pub(crate) async fn list(call: Call) -> HandlerResult {
    let Call { app, headers, .. } = &call;
    // A key for some campaigns sees those.
    let key = app.keys.know(headers, Role::Read)?;
    let query = call.query(&["after", "limit"])?;
    let limit = query.limit_of(LISTED, LISTED_MOST)?;
    app.reach(&query).await?;
    app.all_readable()?;
    let (now, stale) = (app.node.intake.now(), app.is_stale());
    let begin = key.campaigns.as_deref().unwrap_or_default();
    let mut list = CampaignList {
        campaigns: Vec::new(),
        archived: Vec::new(),
        next: None,
        position: String::new(),
        durable: true,
    };
    let (mut last, mut left) = (query.get("after").unwrap_or_default().to_owned(), limit);
    let position = loop {
        // So many under one lock: entries wait meanwhile.
        let most = left.min(LISTED);
        let (more, position) = app.node.replica.look(|state| {
            let mut found = state.campaigns_named(begin, &last);
            let mut name = None;
            for (named, campaign) in found.by_ref().take(most) {
                match campaign {
                    Ok(campaign) => list.campaigns.push(view(state, campaign, now, stale)),
                    Err(archived) => list.archived.push(Archived {
                        campaign: named.to_owned(),
                        title: archived.title.to_string(),
                        archived_at: clock_text::rfc3339(archived.at),
                    }),
                }
                name = Some(named);
            }
            (name.filter(|_| found.next().is_some()).map(str::to_owned), state.token())
        });
        left -= most;
        match more {
            Some(name) if left > 0 => last = name,
            more => {
                list.next = more;
                break position;
            }
        }
        // Other requests of this thread come first.
        yield_now().await;
    };
    list.position = position.to_string();
    list.durable = app.node.intake.endures(position).await;
    Ok(json(StatusCode::OK, &list))
}

/// Leaves out what only operators and back ends see.
fn leave_out_for_a_subject(campaign: &mut Campaign) {
    (campaign.live_holds, campaign.unsettled) = (None, None);
    for pool in &mut campaign.pools {
        (pool.held, pool.blocked, pool.last_rank, pool.cancelled) = (None, None, None, None);
        pool.offered = None;
        if let Some(codes) = &mut pool.codes {
            codes.key = None;
        }
    }
}

fn codes_view(codes: &CodeSettings) -> PoolCodes {
    PoolCodes {
        source: codes.source.as_str().into(),
        key: Some(codes.key.to_string()),
        uses: codes.uses,
        uses_per_subject: codes.uses_per_subject,
        valid_until: codes.valid_until.map(clock_text::rfc3339),
        valid_for_ms: codes.valid_for_us.map(|us| us / 1_000),
        only_by_holder: codes.only_by_holder,
    }
}

fn view(state: &State, campaign: &campaign::Campaign, now: Timestamp, stale: bool) -> Campaign {
    let settings = campaign.settings();
    let holding = &settings.holding;
    let phase = campaign.phase(state.at());
    let until_ms = |at: Timestamp| at.micros_since(now).max(0).div_euclid(1000);
    let opens_in_ms = settings.opens.at().map(until_ms);
    let left = campaign.pools().iter().map(|pool| u64::from(pool.left())).sum();
    let pool = |(pool, set): (&Pool, &PoolSettings)| CampaignPool {
        name: pool.name().to_owned(),
        kind: pool.kind().as_str().into(),
        capacity: pool.capacity(),
        left: pool.left(),
        taken: pool.taken(),
        held: Some(pool.counts().held),
        blocked: Some(pool.counts().blocked),
        limit: pool.limit(),
        last_rank: Some(pool.last_rank()),
        cancelled: Some(pool.cancelled()),
        codes: pool.codes().map(|codes| codes_view(codes.settings())),
        waitlist: Some(set.waitlist.unwrap_or(WAITLIST)),
        waiting: pool.waiters(),
        offered: Some(pool.offered()),
    };
    Campaign {
        campaign: campaign.name().to_owned(),
        title: settings.title.to_string(),
        state: phase.as_str().into(),
        version: campaign.version(),
        created_at: clock_text::rfc3339(campaign.created_at()),
        opens_at: settings.opens.at().map(clock_text::rfc3339),
        closes_at: settings.closes_at.map(clock_text::rfc3339),
        closed_at: campaign.closed_since(state.at()).map(clock_text::rfc3339),
        opens_in_ms,
        closes_in_ms: settings.closes_at.map(until_ms),
        now: clock_text::rfc3339(now),
        limits: Limits {
            campaign: settings.limit,
            grades: holding.grades.iter().map(|g| (g.grade.to_string(), g.limit)).collect(),
        },
        claim_again: settings.claim_again,
        units_return: settings.units_return,
        public: settings.public,
        hold_ttl_ms: holding.ttl_us / 1_000,
        hold_max_ms: holding.max_us / 1_000,
        holds: holding.each.as_str().into(),
        holds_per_hour: holding.per_hour,
        allow_orphans: holding.allow_orphans,
        live_holds: Some(campaign.live_holds() as u64),
        offer_ms: Some(holding.offer_us / 1_000),
        pools: campaign.pools().iter().zip(&settings.pools).map(pool).collect(),
        left,
        ask_again_ms: ask_again_ms(phase, left, opens_in_ms),
        unsettled: Some(campaign.unsettled()),
        position: state.token().to_string(),
        stale,
        durable: true,
    }
}

/// Says when a page had better ask again: seldom while nothing can change, at the opening itself.
fn ask_again_ms(phase: Phase, left: u64, opens_in_ms: Option<i64>) -> i64 {
    match (phase, opens_in_ms) {
        (Phase::Scheduled, Some(ms)) if ms <= 2_000 => ms.max(50),
        (Phase::Scheduled, Some(ms)) => (ms / 2).min(30_000),
        (Phase::Open, _) if left > 0 => 1_000,
        (Phase::Open, _) => 5_000,
        (Phase::Paused, _) => 2_000,
        (Phase::Draft | Phase::Scheduled | Phase::Closed, _) => 60_000,
    }
}
