//! The whole waitlist of a pool, for operators.

use super::pool;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::clock_text;
use crate::request;
use crate::request::call::Call;
use axum::http::StatusCode;
use firstcome_api::key::Role;
use firstcome_api::waitlist::{WaitingLine, WaitlistPage};
use firstcome_core::State;
use firstcome_core::waitlist::Waiting;
use firstcome_node::Decided;

/// Lists who waits for units of a pool, in order.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/waitlist", tag = "waitlists", operation_id = "list_waitlist",
    params(("pool" = Option<String>, Query, description = "May be left out if the campaign has one"),
           ("after" = Option<u32>, Query, description = "Only tickets after this one"),
           ("limit" = Option<usize>, Query, description = "1 to 10000, 1000 if left out")),
    responses((status = "2XX", body = WaitlistPage)))]
pub(crate) async fn list(call: Call<String>) -> HandlerResult {
    let Call { app, path: campaign, .. } = &call;
    call.key(Role::Operator, campaign)?;
    let query = call.query(&["pool", "after", "limit"])?;
    let named = query.get("pool");
    if let Some(pool) = named {
        request::pool(campaign, pool)?;
    }
    let after = query.number::<u32>("after")?.unwrap_or(0);
    let limit = query.limit()?;
    app.reach(&query).await?;
    app.readable(campaign)?;
    let (mut waiting, counts, position) = app.node.replica.look(|state: &State| {
        let position = state.token();
        let problem = |refusal| Problem::refused(refusal, campaign).at(position, Decided::Replica);
        let found = state.campaign(campaign).map_err(problem)?;
        let pool = pool(found, named).map_err(problem)?;
        // One more than asked for, to know whether there is anything to come back for.
        let waiting = pool.waiters_after(after).take(limit + 1).map(line);
        let counts = (pool.waiters(), pool.offered());
        Ok::<_, Problem>((waiting.collect::<Vec<_>>(), counts, position))
    })?;
    let more = waiting.len() > limit;
    waiting.truncate(limit);
    let next = waiting.last().filter(|_| more).map(|line| u64::from(line.ticket));
    let durable = app.node.intake.endures(position).await;
    let ((count, offered), position) = (counts, position.to_string());
    Ok(json(StatusCode::OK, &WaitlistPage { waiting, next, count, offered, position, durable }))
}

fn line(waiting: Waiting<'_>) -> WaitingLine {
    let Waiting { ticket, subject, wish, missed, since } = waiting;
    WaitingLine {
        ticket,
        subject: subject.to_owned(),
        quantity: wish.quantity,
        grade: wish.grade.map(str::to_owned),
        channel: wish.channel.map(str::to_owned),
        area: wish.area.map(str::to_owned),
        adjacent: wish.adjacent,
        offers_not_taken: missed,
        since: clock_text::rfc3339(since),
    }
}
