//! How far results are in the ledger, and what keeps the others.

use super::problem::Problem;
use super::request;
use crate::app::App;
use axum::Json;
use axum::body::Body;
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, Response};
use axum::response::IntoResponse;
use firstcome_api::key::Role;
use firstcome_core::State;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// How settling stands.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SettlingView {
    /// `sqlite`, `postgres` or `none`.
    ledger: &'static str,
    /// The number up to which the ledger has results.
    pub(super) settled: u64,
    /// The number of the last result.
    pub(super) last_result: u64,
    /// Results that wait for the ledger.
    pub(super) lag: u64,
    /// Age of the oldest of them, in milliseconds; 0 if none waits.
    pub(super) lag_ms: u64,
    /// The term under which this server settles; 0 before the ledger minted one.
    term: u64,
    /// Why results are not being settled; null if they are.
    pub(super) trouble: Option<String>,
}

/// Gives how far results are in the ledger.
#[utoipa::path(get, path = "/v1/settling", tag = "operation", responses((status = 200, body = SettlingView)))]
pub(super) async fn settling(
    Extract(app): Extract<Arc<App>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    let answered = async {
        app.keys.know(&headers, Role::Read)?;
        app.reach(&request::Query::parse(query.as_deref(), &[])?).await?;
        Ok::<_, Problem>(app.settling())
    };
    match answered.await {
        Ok(view) => Json(view).into_response(),
        Err(problem) => app.problem(problem),
    }
}

impl App {
    /// Gives how far results are in the ledger.
    pub(super) fn settling(&self) -> SettlingView {
        let standing = self.leader.standing();
        let now = self.node.intake.now();
        let (settled, last_result, oldest) = self.node.replica.look(|state: &State| {
            let oldest = state.results_after(state.settled()).next();
            let oldest = oldest.map(|result| firstcome_node::ledger::Row::from(result).at);
            (state.settled(), state.last_result(), oldest)
        });
        let age = oldest.map_or(0, |oldest| now.micros_since(oldest).max(0).cast_unsigned());
        SettlingView {
            ledger: self.ledger.as_ref().map_or("none", firstcome_node::ledger::Ledger::kind),
            settled,
            last_result,
            lag: last_result - settled,
            lag_ms: age / 1_000,
            term: standing.term,
            trouble: standing.trouble,
        }
    }
}
