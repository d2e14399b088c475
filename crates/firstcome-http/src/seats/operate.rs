//! What an operator does to units: takes them out of sale, puts them back, exchanges one for another.

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::app::App;
use crate::asks::yes;
use crate::holds::picks;
use crate::request;
use crate::request::auth::Key;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::StatusCode;
use firstcome_api::hold::PickRequest;
use firstcome_api::key::Role;
use firstcome_api::seat::{BlockRequest, MoveRequest, SeatsBlocked, SeatsMoved};
use firstcome_core::command::Order;
use firstcome_core::hall::settings::check_unit_name;
use firstcome_core::{Command, Outcome};
use firstcome_node::Answer;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// An operation on units, as far as every operation is the same.
pub(super) struct Operation<T> {
    /// The operation's own id.
    id: Option<Box<str>>,
    /// The name of the key that set it.
    who: Arc<Key>,
    pub(super) body: T,
}

impl<T> Operation<T> {
    pub(super) fn order(&self) -> Order<'_> {
        Order { id: self.id.as_deref(), who: &self.who.name }
    }
}

pub(super) async fn read<T: DeserializeOwned>(
    call: &Call<(String, String)>,
    body: Body,
) -> Result<Operation<T>, Problem> {
    let (campaign, pool) = &call.path;
    let who = call.key(Role::Operator, campaign)?;
    request::pool(campaign, pool)?;
    let id = request::command_id(&call.headers)?;
    let body = call.json(body).await?;
    call.reach().await?;
    Ok(Operation { id, who, body })
}

async fn set_blocked(call: &Call<(String, String)>, body: Body, blocked: bool) -> HandlerResult {
    let Call { app, path: (campaign, pool), .. } = call;
    let mut operation = read::<BlockRequest>(call, body).await?;
    let asked = &mut operation.body;
    request::reason(&asked.reason)?;
    if !asked.units.is_empty() {
        asked.picks.push(PickRequest::names(None, std::mem::take(&mut asked.units)));
    }
    let mut units = picks::read_named(&operation.body.picks, campaign)?;
    for pick in &mut units {
        if pick.pool.is_some_and(|named| named != pool) {
            return Err(Problem::invalid("a pick names another pool"));
        }
        pick.pool = Some(pool);
    }
    let (reason, order) = (&*operation.body.reason, operation.order());
    let answer = decided(app, &Command::Block { campaign, units, blocked, reason, order }).await?;
    let (Outcome::Blocked { units } | Outcome::Unblocked { units }) = answer.outcome else {
        unreachable!("a block is not answered with {}", answer.outcome.as_str())
    };
    let answer = SeatsBlocked {
        outcome: answer.outcome.as_str().into(),
        campaign: campaign.clone(),
        pool: pool.clone(),
        units,
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    Ok(json(StatusCode::OK, &answer))
}

pub(super) async fn decided(app: &App, command: &Command<'_>) -> Result<Answer, Problem> {
    let campaign = command.campaign().unwrap_or_default();
    let answer = yes(app.node.intake.decide(command).await, campaign)?;
    app.metrics.decided(&answer.outcome);
    Ok(answer)
}

/// Takes free units out of sale: all of them or none.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/pools/{pool}/block", tag = "seats", operation_id = "block_units",
    request_body = BlockRequest, responses((status = "2XX", body = SeatsBlocked)))]
pub(crate) async fn block(call: Call<(String, String)>, body: Body) -> HandlerResult {
    set_blocked(&call, body, true).await
}

/// Puts blocked units back: all of them or none.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/pools/{pool}/unblock", tag = "seats", operation_id = "unblock_units",
    request_body = BlockRequest, responses((status = "2XX", body = SeatsBlocked)))]
pub(crate) async fn unblock(call: Call<(String, String)>, body: Body) -> HandlerResult {
    set_blocked(&call, body, false).await
}

/// Exchanges a held or confirmed seat for a free one.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/pools/{pool}/move", tag = "seats", operation_id = "move_seat",
    request_body = MoveRequest, responses((status = "2XX", body = SeatsMoved)))]
pub(crate) async fn move_seat(call: Call<(String, String)>, body: Body) -> HandlerResult {
    let Call { app, path: (campaign, pool), .. } = &call;
    let operation = read::<MoveRequest>(&call, body).await?;
    let MoveRequest { from, to, reason } = &operation.body;
    request::reason(reason)?;
    for name in [from, to] {
        let wrong = |why| Problem::invalid(format!("the seat {name:?} {why}"));
        check_unit_name(name).map_err(wrong)?;
    }
    let order = operation.order();
    let command = Command::Move { campaign, pool, from, to, reason, order };
    let answer = decided(app, &command).await?;
    let Outcome::Moved(moved) = answer.outcome else {
        unreachable!("a move is not answered with {}", answer.outcome.as_str())
    };
    let answer = SeatsMoved {
        outcome: "moved".into(),
        campaign: campaign.clone(),
        pool: pool.clone(),
        from: moved.from.into(),
        to: moved.to.into(),
        rank: (moved.rank > 0).then_some(moved.rank),
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    Ok(json(StatusCode::OK, &answer))
}
