//! The holds and claims of a subject over all campaigns.

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::claims::get::{claims_of, hide_codes};
use crate::holds::view;
use crate::request::call::Call;
use axum::http::StatusCode;
use firstcome_api::key::Role;
use firstcome_api::subject::{Subject, SubjectIn};
use tokio::task::yield_now;

/// Claims of one campaign at most: the route of the campaign has the others.
const CLAIMS: usize = 1_000;
/// Pools read under one lock, about a millisecond: entries wait meanwhile.
const LOOK: usize = 4_096;
/// Holds and claims after which the lock is given back: it ends with the campaign that has them.
const LOOK_ROWS: usize = 1_000;
/// Pools that one page looks through; it ends there, short or empty, and `next` says from where to go on.
pub const POOLS_LOOKED_THROUGH: usize = 131_072;

/// Returns the live holds and the claims of a subject over all campaigns.
///
/// A page ends with the campaign with which it has as many holds and claims as `limit` says.
#[utoipa::path(get, path = "/v1/subjects/{subject}", tag = "holds", operation_id = "show_subject",
    params(("campaign" = Option<String>, Query, description = "Only this campaign"),
           ("after" = Option<u32>, Query, description = "The `next` of the page before"),
           ("limit" = Option<usize>, Query, description = "1 to 10000, 1000 if left out")),
    responses((status = "2XX", body = Subject)))]
pub(crate) async fn show(call: Call<String>) -> HandlerResult {
    let Call { app, path: subject, headers, .. } = &call;
    let bearer = app.bearer_at_large(headers, Role::Read)?;
    app.may_ask_about(&bearer, subject)?;
    let query = call.query(&["campaign", "after", "limit"])?;
    let (only, mut after) = (query.get("campaign"), query.number::<u32>("after")?.unwrap_or(0));
    let limit = query.limit()?;
    app.reach(&query).await?;
    app.all_readable()?;
    let (stale, sees_codes) = (app.is_stale(), bearer.sees_codes());
    let (mut campaigns, mut rows, mut pools) = (Vec::new(), 0, 0);
    let (more, position) = loop {
        let from = (pools, rows);
        let (more, position) = app.node.replica.look(|state| {
            let one = only.map(|name| state.campaign(name).ok().filter(|_| after == 0));
            let all = one.is_none().then(|| state.campaigns_after(after)).into_iter().flatten();
            for campaign in one.flatten().into_iter().chain(all) {
                let is_long = pools - from.0 >= LOOK || rows - from.1 >= LOOK_ROWS;
                if rows >= limit || is_long {
                    return Ok::<_, Problem>((true, state.token()));
                }
                after = campaign.number();
                pools += campaign.pools().len();
                if !bearer.sees(campaign.name()) {
                    continue;
                }
                let holds = campaign.holds_of(subject);
                let holds: Vec<_> = holds.map(|hold| view::hold(state, campaign, hold)).collect();
                let whose = (&**subject, sees_codes);
                let (claims, next) = claims_of(app, state, campaign, whose, (0, CLAIMS))?;
                if !holds.is_empty() || !claims.is_empty() {
                    rows += holds.len() + claims.len();
                    let campaign = campaign.name().to_owned();
                    campaigns.push(SubjectIn { campaign, holds, claims, next });
                }
            }
            Ok((false, state.token()))
        })?;
        if !more || rows >= limit || pools >= POOLS_LOOKED_THROUGH {
            break (more, position);
        }
        // Other requests of this thread come first.
        yield_now().await;
    };
    let durable = app.node.intake.endures(position).await;
    if !durable {
        campaigns.iter_mut().for_each(|one| hide_codes(&mut one.claims));
    }
    let (subject, position) = (subject.clone(), position.to_string());
    let next = more.then_some(after.into());
    let answer = Subject { subject, campaigns, next, position, stale, durable };
    Ok(json(StatusCode::OK, &answer))
}
