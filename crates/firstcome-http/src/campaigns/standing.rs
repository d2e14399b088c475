//! Campaigns as they stand, for whoever looks at them.

use super::super::claims::path;
use super::super::problem::Problem;
use super::super::request;
use super::super::tokens::Bearer;
use super::tagged;
use crate::app::App;
use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State as Extract};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::response::IntoResponse;
use firstcome_api::clock_text;
use firstcome_api::key::Role;
use firstcome_core::campaign::{Campaign, Phase};
use firstcome_core::{State, Timestamp};
use firstcome_node::Decided;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// A pool as it stands. Keys are told `held`, `blocked`, `last_rank` and `cancelled`; subject tokens are not.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PoolView {
    name: String,
    /// `counted` or `seated`.
    kind: &'static str,
    /// All its units, of a seated pool those that were added.
    capacity: u32,
    /// Units that are free and for sale.
    left: u32,
    /// Units that are not free.
    taken: u32,
    /// Units that are set aside until a deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<u32>,
    /// Units that are blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked: Option<u32>,
    /// How many units of it one subject may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    /// The last rank given.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_rank: Option<u32>,
    /// Claims that were cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    cancelled: Option<u32>,
}

/// How much one subject may have.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LimitsView {
    campaign: Option<u32>,
    /// By grade, where grades have limits.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    grades: BTreeMap<String, u32>,
}

/// A campaign as it stands, with what a page needs. Keys are told `live_holds` and `unsettled`; subject tokens are not.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CampaignView {
    campaign: String,
    title: String,
    /// `draft`, `scheduled`, `open`, `paused` or `closed`.
    state: &'static str,
    version: u32,
    created_at: String,
    opens_at: Option<String>,
    closes_at: Option<String>,
    closed_at: Option<String>,
    /// Milliseconds until it opens: 0 once it has, null for a draft.
    opens_in_ms: Option<i64>,
    /// Milliseconds until it closes: 0 once it has, null if it never does.
    closes_in_ms: Option<i64>,
    /// The server's time.
    now: String,
    limits: LimitsView,
    claim_again: bool,
    units_return: bool,
    /// How long a hold lasts.
    hold_ttl_ms: i64,
    /// How long after its start a hold can be extended to.
    hold_max_ms: i64,
    /// How many live holds one subject may have: `one` or `many`.
    holds: &'static str,
    /// How many holds one subject may start in an hour.
    holds_per_hour: u32,
    /// Whether a hold may leave a single free seat between taken ones.
    allow_orphans: bool,
    /// Holds that are live.
    #[serde(skip_serializing_if = "Option::is_none")]
    live_holds: Option<u64>,
    pools: Vec<PoolView>,
    /// Units that are free in all pools.
    left: u64,
    /// When a page had better ask again, in milliseconds.
    ask_again_ms: i64,
    /// Results of this campaign that the ledger does not have yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsettled: Option<u64>,
    position: String,
    /// Whether this node's state may be out of date.
    stale: bool,
    /// Whether this is known to be as durable as answers to commands are: `false` after a second of waiting for it.
    durable: bool,
}

impl CampaignView {
    /// Leaves out what is for whoever runs the campaign.
    fn for_a_subject(&mut self) {
        (self.live_holds, self.unsettled) = (None, None);
        for pool in &mut self.pools {
            (pool.held, pool.blocked, pool.last_rank, pool.cancelled) = (None, None, None, None);
        }
    }
}

/// A campaign that has left memory.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ArchivedView {
    campaign: String,
    title: String,
    archived_at: String,
}

/// All campaigns this node knows.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CampaignsView {
    campaigns: Vec<CampaignView>,
    archived: Vec<ArchivedView>,
    position: String,
    /// Whether this is known to be as durable as answers to commands are.
    durable: bool,
}

/// Gives a campaign.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}", tag = "campaigns",
    params(("campaign" = String, Path), ("min_position" = Option<String>, Query)),
    responses((status = 200, body = CampaignView), (status = 404, description = "not_found"), (status = 410, description = "archived")))]
pub(crate) async fn show(
    Extract(app): Extract<Arc<App>>,
    campaign: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    let answered = async {
        let Path(campaign) = path(campaign)?;
        let bearer = app.bearer(&headers, Role::Read, &campaign)?;
        request::campaign(&campaign)?;
        app.reach(&request::Query::parse(query.as_deref(), &[])?).await?;
        app.readable(&campaign)?;
        let (now, stale) = (app.node.intake.now(), app.is_stale());
        let (mut view, position) = app.node.replica.look(|state| {
            let position = state.token();
            let refused =
                |refusal| Problem::refused(refusal, &campaign).at(position, Decided::Replica);
            let found = state.campaign(&campaign).map_err(refused)?;
            Ok::<_, Problem>((view(state, found, now, stale), position))
        })?;
        if let Bearer::Subject(_) = bearer {
            view.for_a_subject();
        }
        view.durable = app.node.intake.endures(position).await;
        Ok(tagged(StatusCode::OK, view.version, &view))
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}

/// Gives all campaigns.
#[utoipa::path(get, path = "/v1/campaigns", tag = "campaigns",
    params(("min_position" = Option<String>, Query)), responses((status = 200, body = CampaignsView)))]
pub(crate) async fn list(
    Extract(app): Extract<Arc<App>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    let answered = async {
        // A key for some campaigns sees those.
        let key = app.keys.know(&headers, Role::Read)?;
        app.reach(&request::Query::parse(query.as_deref(), &[])?).await?;
        let (now, stale) = (app.node.intake.now(), app.is_stale());
        let seen = |name: &str| key.campaigns.as_deref().is_none_or(|own| name.starts_with(own));
        let look = |state: &State| CampaignsView {
            campaigns: state
                .campaigns()
                .filter(|campaign| seen(campaign.name()))
                .map(|campaign| view(state, campaign, now, stale))
                .collect(),
            archived: state
                .archived()
                .filter(|(name, _)| seen(name))
                .map(|(name, archived)| ArchivedView {
                    campaign: name.to_owned(),
                    title: archived.title.to_string(),
                    archived_at: clock_text::rfc3339(archived.at),
                })
                .collect(),
            position: state.token().to_string(),
            durable: true,
        };
        let (mut view, position) = app.node.replica.look(|state| (look(state), state.token()));
        view.durable = app.node.intake.endures(position).await;
        Ok(Json(view).into_response())
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}

fn view(state: &State, campaign: &Campaign, now: Timestamp, stale: bool) -> CampaignView {
    let settings = campaign.settings();
    let holding = &settings.holding;
    let phase = campaign.phase(state.at());
    let until_ms = |at: Timestamp| at.micros_since(now).max(0).div_euclid(1000);
    let opens_in_ms = settings.opens.at().map(until_ms);
    let left = campaign.pools().iter().map(|pool| u64::from(pool.left())).sum();
    let pool = |pool: &firstcome_core::pool::Pool| PoolView {
        name: pool.name().to_owned(),
        kind: pool.kind().as_str(),
        capacity: pool.capacity(),
        left: pool.left(),
        taken: pool.taken(),
        held: Some(pool.counts().held),
        blocked: Some(pool.counts().blocked),
        limit: pool.limit(),
        last_rank: Some(pool.last_rank()),
        cancelled: Some(pool.cancelled()),
    };
    CampaignView {
        campaign: campaign.name().to_owned(),
        title: settings.title.to_string(),
        state: phase.as_str(),
        version: campaign.version(),
        created_at: clock_text::rfc3339(campaign.created_at()),
        opens_at: settings.opens.at().map(clock_text::rfc3339),
        closes_at: settings.closes_at.map(clock_text::rfc3339),
        closed_at: campaign.closed_since(state.at()).map(clock_text::rfc3339),
        opens_in_ms,
        closes_in_ms: settings.closes_at.map(until_ms),
        now: clock_text::rfc3339(now),
        limits: LimitsView {
            campaign: settings.limit,
            grades: holding.grades.iter().map(|g| (g.grade.to_string(), g.limit)).collect(),
        },
        claim_again: settings.claim_again,
        units_return: settings.units_return,
        hold_ttl_ms: holding.ttl_us / 1_000,
        hold_max_ms: holding.max_us / 1_000,
        holds: holding.each.as_str(),
        holds_per_hour: holding.per_hour,
        allow_orphans: holding.allow_orphans,
        live_holds: Some(campaign.live_holds() as u64),
        pools: campaign.pools().iter().map(pool).collect(),
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
