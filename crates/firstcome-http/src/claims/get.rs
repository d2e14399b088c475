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

/// Returns the claims of a subject.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/claims/{subject}", tag = "claims", operation_id = "show_claims",
    responses((status = "2XX", body = SubjectClaims)))]
pub(crate) async fn look_up(call: Call<(String, String)>) -> HandlerResult {
    let Call { app, path: (campaign, subject), headers, .. } = &call;
    let bearer = app.bearer(headers, Role::Read, campaign)?;
    app.may_act(&bearer, campaign, subject)?;
    call.reach().await?;
    app.readable(campaign)?;
    let stale = app.is_stale();
    let (claims, position) = app.node.replica.look(|state| {
        let position = state.token();
        let problem = |refusal| Problem::refused(refusal, campaign).at(position, Decided::Replica);
        let found = state.campaign(campaign).map_err(problem)?;
        let claims = claims_of(app, state, found, (subject, bearer.sees_codes()))?;
        if claims.is_empty() {
            return Err(problem(Refusal::NoSuchClaim));
        }
        Ok((claims, position))
    })?;
    let durable = app.node.intake.endures(position).await;
    let (campaign, subject) = (campaign.clone(), subject.clone());
    let position = position.to_string();
    let answer = SubjectClaims { campaign, subject, claims, position, stale, durable };
    Ok(json(StatusCode::OK, &answer))
}

/// Returns the claims of a subject in a campaign, those that are live with their codes if the bearer sees them.
///
/// Costs about 2 µs for each live claim of a coded pool, of which there is one in each.
pub(crate) fn claims_of(
    app: &App,
    state: &State,
    campaign: &Campaign,
    (subject, sees_codes): (&str, bool),
) -> Result<Vec<Claim>, Problem> {
    let (mut claims, codes) = (Vec::new(), &app.node.intake.codes);
    let now = (state.at(), state.service());
    for (index, pool) in campaign.pools().iter().enumerate() {
        for claim in pool.claims_of(subject) {
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
    Ok(claims)
}

/// Returns a claim of this pool, without its code.
fn view(pool: &pool::Pool, claim: &pool::Claim<'_>) -> Claim {
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
