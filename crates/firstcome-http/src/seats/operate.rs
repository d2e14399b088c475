//! What an operator does to units: takes them out of sale, puts them back, exchanges one for another.

use super::super::claims::{json, path};
use super::super::problem::{Problem, yes};
use super::super::request;
use crate::app::App;
use crate::holds::picks::{self, PickRequest};
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State as Extract};
use axum::http::{HeaderMap, Response, StatusCode};
use firstcome_api::key::Role;
use firstcome_core::Outcome;
use firstcome_core::hall::settings::check_unit_name;
use firstcome_core::limits::REASON_BYTES;
use firstcome_core::names::check_text;
use firstcome_node::{Answer, Ask, HoldAsk, Ordered};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Units of one pool, and why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlockRequest {
    /// Names of seats, of groups as a whole, of areas for one place each.
    #[serde(default)]
    units: Vec<String>,
    /// Units in the form a hold takes, places of an area for example; their pool is this one.
    #[serde(default)]
    picks: Vec<PickRequest>,
    /// 1 to 256 bytes.
    reason: String,
}

/// One seat for another, and why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MoveRequest {
    /// The seat that becomes free.
    from: String,
    /// The seat in its place, free until then.
    to: String,
    /// 1 to 256 bytes.
    reason: String,
}

/// How many units stand otherwise now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BlockedView {
    /// `blocked` or `unblocked`.
    outcome: &'static str,
    campaign: String,
    pool: String,
    /// How many units it changed; those that stood so before are not counted.
    units: u32,
    position: String,
    decided: &'static str,
}

/// A seat that was exchanged.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MovedView {
    /// `moved`.
    outcome: &'static str,
    campaign: String,
    pool: String,
    from: String,
    to: String,
    /// The rank of its claim; null while it is held only.
    rank: Option<u32>,
    position: String,
    decided: &'static str,
}

type Place = Result<Path<(String, String)>, PathRejection>;

/// What every command here brings.
struct Asked<T> {
    campaign: String,
    pool: String,
    ordered: Ordered,
    body: T,
}

async fn asked<T: DeserializeOwned>(
    app: &App,
    (place, query): (Place, Option<String>),
    headers: &HeaderMap,
    body: Body,
) -> Result<Asked<T>, Problem> {
    let Path((campaign, pool)) = path(place)?;
    let key = app.keys.allow(headers, Role::Operator, &campaign)?;
    request::campaign(&campaign)?;
    request::pool(&campaign, &pool)?;
    let ordered = Ordered { id: request::command_id(headers)?, who: key.name.clone() };
    let bytes = request::body(app, headers, body).await?;
    let body = request::json(&bytes)?;
    app.reach(&request::Query::parse(query.as_deref(), &[])?).await?;
    Ok(Asked { campaign, pool, ordered, body })
}

fn reasoned(reason: &str) -> Result<(), Problem> {
    if reason.is_empty() || reason.len() > REASON_BYTES {
        return Err(Problem::invalid(format!("a reason has 1 to {REASON_BYTES} bytes")));
    }
    check_text(reason).map_err(|why| Problem::invalid(format!("the reason {why}")))
}

async fn set_blocked(
    app: &App,
    at: (Place, Option<String>),
    headers: &HeaderMap,
    body: Body,
    blocked: bool,
) -> Result<Response<Body>, Problem> {
    let Asked { campaign, pool, ordered, body } =
        asked::<BlockRequest>(app, at, headers, body).await?;
    reasoned(&body.reason)?;
    let mut picks = body.picks;
    if !body.units.is_empty() {
        picks.push(PickRequest::names(None, body.units));
    }
    let units = picks::own_named(picks, &campaign)?;
    let of_pool = |pick: firstcome_node::OwnPick| match pick.pool {
        Some(named) if *named != *pool => Err(Problem::invalid("a pick names another pool")),
        Some(_) | None => Ok(firstcome_node::OwnPick { pool: Some(pool.as_str().into()), ..pick }),
    };
    let units = units.into_iter().map(of_pool).collect::<Result<_, _>>()?;
    let reason = body.reason.into();
    let name = campaign.as_str().into();
    let ask = HoldAsk::Block { campaign: name, units, blocked, reason, ordered };
    let answer = decided(app, ask, &campaign).await?;
    let (Outcome::Blocked { units } | Outcome::Unblocked { units }) = answer.outcome else {
        unreachable!("a block is not answered with {}", answer.outcome.as_str())
    };
    let view = BlockedView {
        outcome: answer.outcome.as_str(),
        campaign,
        pool,
        units,
        position: answer.position.to_string(),
        decided: answer.decided.as_str(),
    };
    Ok(json(StatusCode::OK, &view))
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
    responses((status = 200, description = "blocked", body = BlockedView),
        (status = 409, description = "unit_taken, sold_out, not_for_sale, not_seated"), (status = 404, description = "not_found, no_such_unit"),
        (status = 410, description = "archived"), (status = 422, description = "id_reused")))]
pub(crate) async fn block(
    Extract(app): Extract<Arc<App>>,
    place: Place,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let answered = set_blocked(&app, (place, query), &headers, body, true).await;
    answered.unwrap_or_else(|problem| app.problem(problem))
}

/// Puts blocked units back: all of them or none.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/pools/{pool}/unblock", tag = "seats",
    params(("campaign" = String, Path), ("pool" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = BlockRequest,
    responses((status = 200, description = "unblocked", body = BlockedView),
        (status = 409, description = "not_for_sale, not_seated"), (status = 404, description = "not_found, no_such_unit"),
        (status = 410, description = "archived"), (status = 422, description = "id_reused")))]
pub(crate) async fn unblock(
    Extract(app): Extract<Arc<App>>,
    place: Place,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let answered = set_blocked(&app, (place, query), &headers, body, false).await;
    answered.unwrap_or_else(|problem| app.problem(problem))
}

/// Exchanges a seat that is held or confirmed for a free one.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/pools/{pool}/move", tag = "seats",
    params(("campaign" = String, Path), ("pool" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = MoveRequest,
    responses((status = 200, description = "moved", body = MovedView),
        (status = 409, description = "not_held, unit_taken, not_for_sale, not_seated"), (status = 404, description = "not_found, no_such_unit"),
        (status = 410, description = "archived"), (status = 422, description = "id_reused")))]
pub(crate) async fn move_seat(
    Extract(app): Extract<Arc<App>>,
    place: Place,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let answered = async {
        let Asked { campaign, pool, ordered, body } =
            asked::<MoveRequest>(&app, (place, query), &headers, body).await?;
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
        let view = MovedView {
            outcome: "moved",
            campaign,
            pool,
            from: moved.from.into(),
            to: moved.to.into(),
            rank: (moved.rank > 0).then_some(moved.rank),
            position: answer.position.to_string(),
            decided: answer.decided.as_str(),
        };
        Ok(json(StatusCode::OK, &view))
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}
