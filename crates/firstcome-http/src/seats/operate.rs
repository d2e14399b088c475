//! What an operator does to units: takes them out of sale, puts them back, exchanges one for another.

use crate::app::App;
use crate::holds::picks;
use crate::problem::{Answered, Problem, yes};
use crate::request::{self, InPath, Query};
use crate::respond::json;
use axum::body::Body;
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, StatusCode};
use firstcome_api::hold::PickRequest;
use firstcome_api::key::Role;
use firstcome_api::seat::{BlockRequest, MoveRequest, SeatsBlocked, SeatsMoved};
use firstcome_core::Outcome;
use firstcome_core::hall::settings::check_unit_name;
use firstcome_core::limits::REASON_BYTES;
use firstcome_core::names::check_text;
use firstcome_node::{Answer, Ask, HoldAsk, Ordered, OwnPick};
use serde::de::DeserializeOwned;
use std::sync::Arc;

type TwoNames = InPath<(String, String)>;

/// An operation on units, as far as every operation is the same.
struct Operation<T> {
    campaign: String,
    pool: String,
    ordered: Ordered,
    body: T,
}

async fn read<T: DeserializeOwned>(
    app: &App,
    (path, query): (TwoNames, Option<String>),
    headers: &HeaderMap,
    body: Body,
) -> Result<Operation<T>, Problem> {
    let (campaign, pool) = request::path(path)?;
    let key = app.keys.allow(headers, Role::Operator, &campaign)?;
    request::campaign(&campaign)?;
    request::pool(&campaign, &pool)?;
    let ordered = Ordered { id: request::command_id(headers)?, who: key.name.clone() };
    let bytes = request::body(&app.options, headers, body).await?;
    let body = request::json(&bytes)?;
    app.reach(&Query::parse(query.as_deref(), &[])?).await?;
    Ok(Operation { campaign, pool, ordered, body })
}

fn reasoned(reason: &str) -> Result<(), Problem> {
    if reason.is_empty() || reason.len() > REASON_BYTES {
        return Err(Problem::invalid(format!("a reason has 1 to {REASON_BYTES} bytes")));
    }
    check_text(reason).map_err(|why| Problem::invalid(format!("the reason {why}")))
}

async fn set_blocked(
    app: &App,
    at: (TwoNames, Option<String>),
    headers: &HeaderMap,
    body: Body,
    blocked: bool,
) -> Answered {
    let Operation { campaign, pool, ordered, body } =
        read::<BlockRequest>(app, at, headers, body).await?;
    reasoned(&body.reason)?;
    let mut picks = body.picks;
    if !body.units.is_empty() {
        picks.push(PickRequest::names(None, body.units));
    }
    let units = picks::own_named(picks, &campaign)?;
    let of_pool = |pick: OwnPick| match pick.pool {
        Some(named) if *named != *pool => Err(Problem::invalid("a pick names another pool")),
        Some(_) | None => Ok(OwnPick { pool: Some(pool.as_str().into()), ..pick }),
    };
    let units = units.into_iter().map(of_pool).collect::<Result<_, _>>()?;
    let reason = body.reason.into();
    let name = campaign.as_str().into();
    let ask = HoldAsk::Block { campaign: name, units, blocked, reason, ordered };
    let answer = decided(app, ask, &campaign).await?;
    let (Outcome::Blocked { units } | Outcome::Unblocked { units }) = answer.outcome else {
        unreachable!("a block is not answered with {}", answer.outcome.as_str())
    };
    let answer = SeatsBlocked {
        outcome: answer.outcome.as_str().into(),
        campaign,
        pool,
        units,
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    Ok(json(StatusCode::OK, &answer))
}

async fn decided(app: &App, ask: HoldAsk, campaign: &str) -> Result<Answer, Problem> {
    let answer = yes(app.node.intake.decide(Ask::Hold(Box::new(ask))).await, campaign)?;
    app.metrics.decided(&answer.outcome);
    Ok(answer)
}

/// Takes free units out of sale: all of them or none.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/pools/{pool}/block", tag = "seats",
    params(("campaign" = String, Path), ("pool" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = BlockRequest,
    responses((status = 200, description = "blocked", body = SeatsBlocked),
        (status = 409, description = "unit_taken, sold_out, not_for_sale, not_seated"), (status = 404, description = "not_found, no_such_unit"),
        (status = 410, description = "archived"), (status = 422, description = "id_reused")))]
pub(crate) async fn block(
    Extract(app): Extract<Arc<App>>,
    path: TwoNames,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    set_blocked(&app, (path, query), &headers, body, true).await
}

/// Puts blocked units back: all of them or none.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/pools/{pool}/unblock", tag = "seats",
    params(("campaign" = String, Path), ("pool" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = BlockRequest,
    responses((status = 200, description = "unblocked", body = SeatsBlocked),
        (status = 409, description = "not_for_sale, not_seated"), (status = 404, description = "not_found, no_such_unit"),
        (status = 410, description = "archived"), (status = 422, description = "id_reused")))]
pub(crate) async fn unblock(
    Extract(app): Extract<Arc<App>>,
    path: TwoNames,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    set_blocked(&app, (path, query), &headers, body, false).await
}

/// Exchanges a seat that is held or confirmed for a free one.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/pools/{pool}/move", tag = "seats",
    params(("campaign" = String, Path), ("pool" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = MoveRequest,
    responses((status = 200, description = "moved", body = SeatsMoved),
        (status = 409, description = "not_held, unit_taken, not_for_sale, not_seated"), (status = 404, description = "not_found, no_such_unit"),
        (status = 410, description = "archived"), (status = 422, description = "id_reused")))]
pub(crate) async fn move_seat(
    Extract(app): Extract<Arc<App>>,
    path: TwoNames,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let Operation { campaign, pool, ordered, body } =
        read::<MoveRequest>(&app, (path, query), &headers, body).await?;
    reasoned(&body.reason)?;
    for name in [&body.from, &body.to] {
        let wrong = |why| Problem::invalid(format!("the seat {name:?} {why}"));
        check_unit_name(name).map_err(wrong)?;
    }
    let ask = HoldAsk::Move {
        campaign: campaign.as_str().into(),
        pool: pool.as_str().into(),
        from: body.from.into(),
        to: body.to.into(),
        reason: body.reason.into(),
        ordered,
    };
    let answer = decided(&app, ask, &campaign).await?;
    let Outcome::Moved(moved) = answer.outcome else {
        unreachable!("a move is not answered with {}", answer.outcome.as_str())
    };
    let answer = SeatsMoved {
        outcome: "moved".into(),
        campaign,
        pool,
        from: moved.from.into(),
        to: moved.to.into(),
        rank: (moved.rank > 0).then_some(moved.rank),
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    Ok(json(StatusCode::OK, &answer))
}
