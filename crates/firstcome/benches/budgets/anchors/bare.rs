//! The yardstick: axum on the multi-thread runtime that parses the same JSON and answers a constant.

use super::{CLAIMS, Claim};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use serde::Deserialize;

#[derive(Deserialize)]
struct Hold {
    id: String,
    subject: String,
    picks: Vec<Pick>,
}

#[derive(Deserialize)]
struct Pick {
    pool: String,
    units: Vec<String>,
}

pub(super) const WON: &str = r#"{"outcome":"won","campaign":"bench","pool":"main","subject":"s-00000001","rank":17,"at":"2027-03-01T01:00:00.000000Z","position":"0.42","decided":"journal"}"#;

const HELD: &str = r#"{"outcome":"held","hold":"h-00000001","campaign":"bench","subject":"s-00000001","units":[{"pool":"p0","unit":"R0017-21","grade":"S","price_minor":9000,"currency":"EUR"},{"pool":"p0","unit":"R0017-22","grade":"S","price_minor":9000,"currency":"EUR"}],"expires_at":"2027-03-01T01:08:00.000000Z","position":"0.42","decided":"journal"}"#;

const CONFIRMED: &str = r#"{"outcome":"confirmed","hold":"h-00000001","campaign":"bench","subject":"s-00000001","units":[{"pool":"p0","unit":"R0017-21","rank":17,"grade":"S","price_minor":9000,"currency":"EUR"},{"pool":"p0","unit":"R0017-22","rank":18,"grade":"S","price_minor":9000,"currency":"EUR"}],"at":"2027-03-01T01:00:00.000000Z","retaken":false,"left":0,"position":"0.42","decided":"journal"}"#;

fn answer(yes: StatusCode, is_empty: bool, text: &'static str) -> impl IntoResponse {
    let status = if is_empty { StatusCode::BAD_REQUEST } else { yes };
    (status, [(header::CONTENT_TYPE, "application/json")], text)
}

pub(super) fn router() -> Router {
    let claim = |Json(claim): Json<Claim>| async move {
        answer(StatusCode::CREATED, claim.subject.is_empty(), WON)
    };
    let hold = |Json(hold): Json<Hold>| async move {
        let pick = |pick: &Pick| pick.pool.is_empty() || pick.units.is_empty();
        let is_empty = hold.id.is_empty() || hold.subject.is_empty();
        answer(StatusCode::CREATED, is_empty || hold.picks.iter().any(pick), HELD)
    };
    let confirm = |Json(confirm): Json<Claim>| async move {
        answer(StatusCode::OK, confirm.subject.is_empty(), CONFIRMED)
    };
    Router::new()
        .route(CLAIMS, post(claim))
        .route("/v1/campaigns/{campaign}/holds", post(hold))
        .route("/v1/campaigns/{campaign}/holds/{hold}/confirm", post(confirm))
}
