//! The claims of a subject, from memory.

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::app::App;
use crate::clock_text;
use crate::request::call::Call;
use axum::http::StatusCode;
use firstcome_api::claim::{Cancel, Claim, SubjectClaims};
use firstcome_api::hidden::Hidden;
use firstcome_api::key::Role;
use firstcome_core::campaign::Campaign;
use firstcome_core::{Refusal, State, pool};
use firstcome_node::Decided;
use tokio::task::yield_now;

/// Claims read under one lock, about a millisecond: entries wait meanwhile.
const LOOK: usize = 1_000;

/// Returns the claims of a subject.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/claims/{subject}", tag = "claims", operation_id = "show_claims",
    params(("after" = Option<u64>, Query, description = "The `next` of the page before"),
           ("limit" = Option<usize>, Query, description = "1 to 10000, 1000 if left out")),
    responses((status = "2XX", body = SubjectClaims)))]
pub(crate) async fn look_up(call: Call<(String, String)>) -> HandlerResult {
    let Call { app, path: (campaign, subject), headers, .. } = &call;
    let bearer = app.bearer(headers, Role::Read, campaign)?;
    app.may_act(&bearer, campaign, subject)?;
    let query = call.query(&["after", "limit"])?;
    let mut after = query.number::<u64>("after")?.unwrap_or(0);
    let limit = query.limit()?;
    app.reach(&query).await?;
    app.readable(campaign)?;
    let stale = app.is_stale();
    let (whose, mut claims) = ((&**subject, bearer.sees_codes()), Vec::new());
    let (next, position) = loop {
        let most = LOOK.min(limit - claims.len());
        let (more, next, position) = app.node.replica.look(|state| {
            let position = state.token();
            let problem = |no| Problem::refused(no, campaign).at(position, Decided::Replica);
            let found = state.campaign(campaign).map_err(problem)?;
            let (more, next) = claims_of(app, state, found, whose, (after, most))?;
            if more.is_empty() && after == 0 {
                return Err(problem(Refusal::NoSuchClaim));
            }
            Ok((more, next, position))
        })?;
        claims.extend(more);
        match next {
            Some(next) if claims.len() < limit => after = next,
            Some(_) | None => break (next, position),
        }
        // Other requests of this thread come first.
        yield_now().await;
    };
    let durable = app.node.intake.endures(position).await;
    if !durable {
        hide_codes(&mut claims);
    }
    let (campaign, subject) = (campaign.clone(), subject.clone());
    let position = position.to_string();
    let answer = SubjectClaims { campaign, subject, claims, next, position, stale, durable };
    Ok(json(StatusCode::OK, &answer))
}

/// Returns claims of a subject in a campaign, pool by pool, the latest first, those that are live with their codes if the
/// bearer sees them: so many behind a place at most; and the place of the last one, if more follow.
///
/// A place is the index of a pool and a rank; 0 is before all of them. Costs about 2 µs for each live claim of a coded
/// pool, of which there is one in each.
pub(crate) fn claims_of(
    app: &App,
    state: &State,
    campaign: &Campaign,
    (subject, sees_codes): (&str, bool),
    (after, most): (u64, usize),
) -> Result<(Vec<Claim>, Option<u64>), Problem> {
    let (mut claims, mut last, codes) = (Vec::new(), None, &app.node.intake.codes);
    let now = (state.at(), state.service());
    let first = usize::try_from(after >> 32).unwrap_or(usize::MAX);
    for (index, pool) in campaign.pools().iter().enumerate().skip(first) {
        let place = |rank: u32| (index as u64) << 32 | u64::from(rank);
        let is_before =
            |claim: &pool::Claim<'_>| index == first && after > 0 && place(claim.rank) >= after;
        for claim in pool.claims_of(subject).skip_while(is_before) {
            if claims.len() == most {
                return Ok((claims, last));
            }
            last = Some(place(claim.rank));
            let mut shown = view(pool, &claim);
            let has_code = sees_codes && claim.cancel.is_none();
            let code = has_code.then(|| campaign.code_at(index, claim.rank, now)).flatten();
            if let Some(code) = code {
                let written = codes.write(state.space(), (campaign, index), code.unit);
                let written = written.map_err(|missing| Problem::failed(&missing.into()))?;
                shown.code = Some(Hidden(written));
            }
            claims.push(shown);
        }
    }
    Ok((claims, None))
}

/// Leaves the codes out that may not be durable: after a failover such a code may become somebody else's.
pub(crate) fn hide_codes(claims: &mut [Claim]) {
    claims.iter_mut().for_each(|claim| claim.code = None);
}

/// Returns a claim of this pool, without its code.
pub(crate) fn view(pool: &pool::Pool, claim: &pool::Claim<'_>) -> Claim {
    let unit = pool.unit_of(claim.rank).and_then(|unit| pool.unit_name(unit));
    Claim {
        pool: pool.name().to_owned(),
        rank: claim.rank,
        unit: unit.map(str::to_owned),
        hold: pool.granted(claim.rank).map(|(_, hold)| hold.to_owned()),
        code: None,
        at: clock_text::rfc3339(claim.at),
        cancelled: claim.cancel.map(|cancel| Cancel {
            at: clock_text::rfc3339(cancel.at),
            by: cancel.by.as_str().into(),
            reason: cancel.reason.to_string(),
        }),
    }
}
