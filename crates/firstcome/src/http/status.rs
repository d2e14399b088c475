//! How the server itself is: alive, ready, its time, its nodes, its counts.

use super::problem::Problem;
use super::{App, Role, clock_text, request};
use crate::node::Condition;
use axum::Json;
use axum::body::Body;
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use firstcome_core::State;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use utoipa::ToSchema;

/// Says that the process runs.
#[utoipa::path(get, path = "/livez", tag = "operation", responses((status = 200)))]
pub(super) async fn live() -> Json<serde_json::Value> {
    Json(json!({"status": "alive"}))
}

/// Says whether this node takes commands, and why not.
#[utoipa::path(get, path = "/readyz", tag = "operation",
    responses((status = 200, description = "ready"), (status = 503, description = "not ready, with reasons")))]
pub(super) async fn ready(Extract(app): Extract<Arc<App>>) -> Response<Body> {
    let reasons = app.not_ready();
    let settling = app.settling();
    let position = app.node.replica.look(State::token).to_string();
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let document = json!({
        "status": if reasons.is_empty() { "ready" } else { "not_ready" },
        "reasons": reasons,
        "position": position,
        "settled": settling.settled,
        "last_result": settling.last_result,
        "lag": settling.lag,
        "lag_ms": settling.lag_ms,
        "settle_trouble": settling.trouble,
    });
    (status, Json(document)).into_response()
}

/// Gives the server's time.
#[utoipa::path(get, path = "/v1/time", tag = "operation", responses((status = 200, description = "now, position")))]
pub(super) async fn time(
    Extract(app): Extract<Arc<App>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    if let Err(problem) = app.looked_at(query, &headers).await {
        return app.problem(problem);
    }
    let position = app.node.replica.look(State::token).to_string();
    let now = clock_text::rfc3339(app.node.intake.clock.now());
    Json(json!({"now": now, "position": position})).into_response()
}

/// One server process.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NodeView {
    /// Drawn anew at every start.
    node: String,
    since: String,
    version: &'static str,
    position: String,
    digest: String,
    leader: bool,
    /// The term under which it settles.
    term: u64,
    settled: u64,
    last_result: u64,
    durability: &'static str,
}

/// The nodes of the space.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NodesView {
    nodes: Vec<NodeView>,
}

/// Gives the nodes of the space.
#[utoipa::path(get, path = "/v1/nodes", tag = "operation", responses((status = 200, body = NodesView)))]
pub(super) async fn nodes(
    Extract(app): Extract<Arc<App>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    if let Err(problem) = app.looked_at(query, &headers).await {
        return app.problem(problem);
    }
    let term = app.leader.standing().term;
    let node = app.node.replica.look(|state| NodeView {
        node: app.node.id.to_string(),
        since: clock_text::rfc3339(app.node.since),
        version: env!("CARGO_PKG_VERSION"),
        position: state.token().to_string(),
        digest: format!("{:016x}", state.digest()),
        leader: true,
        term,
        settled: state.settled(),
        last_result: state.last_result(),
        durability: "fsync",
    });
    Json(NodesView { nodes: vec![node] }).into_response()
}

/// What this node's state comes down to.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AuditView {
    position: String,
    /// The digest at the position asked for, or at the one applied last.
    digest: Option<String>,
    settled: u64,
    last_result: u64,
}

/// Gives the digest of this node's state, to compare with one recomputed from the journal.
#[utoipa::path(get, path = "/v1/audit", tag = "operation",
    params(("position" = Option<u64>, Query, description = "One of the last 4096 positions; the last if left out")),
    responses((status = 200, body = AuditView)))]
pub(super) async fn audit(
    Extract(app): Extract<Arc<App>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    let answered = async {
        app.keys.know(&headers, Role::Read)?;
        let query = request::Query::parse(query.as_deref(), &["position"])?;
        let position = query.number("position")?;
        app.reach(&query).await?;
        Ok::<_, Problem>(app.node.replica.look(|state| {
            AuditView {
                position: state.token().to_string(),
                digest: state
                    .digest_at(position.unwrap_or(state.position()))
                    .map(|digest| format!("{digest:016x}")),
                settled: state.settled(),
                last_result: state.last_result(),
            }
        }))
    };
    match answered.await {
        Ok(view) => Json(view).into_response(),
        Err(problem) => app.problem(problem),
    }
}

/// Gives every count in the Prometheus text format.
#[utoipa::path(get, path = "/metrics", tag = "operation", responses((status = 200, content_type = "text/plain")))]
pub(super) async fn metrics(Extract(app): Extract<Arc<App>>, headers: HeaderMap) -> Response<Body> {
    if !app.options.metrics_public
        && let Err(problem) = app.keys.know(&headers, Role::Read)
    {
        return app.problem(problem);
    }
    let metrics = &app.metrics;
    app.node.replica.look(|state| {
        metrics.set("position", state.position());
        metrics.set("results_last", state.last_result());
        metrics.set("results_settled", state.settled());
        metrics.set("state_memory_bytes", state.memory() as u64);
    });
    let settling = app.settling();
    metrics.set("results_waiting", settling.lag);
    metrics.set("results_lag_seconds", settling.lag_ms.div_ceil(1_000));
    let limits = app.node.intake.limits;
    metrics.set("queue_waiting", app.node.waiting() as u64);
    metrics.set("queue_limit", limits.queue as u64);
    metrics.set("outbox_limit", limits.outbox.unwrap_or(0) as u64);
    metrics.set("connections_limit", app.options.connections as u64);
    metrics.set("body_limit_bytes", app.options.body_bytes as u64);
    metrics.set("ready", u64::from(app.not_ready().is_empty()));
    let mut response = Response::new(Body::from(metrics.text()));
    let kind =
        HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

impl App {
    /// Accepts a look at the server itself, at or past the position it brings.
    async fn looked_at(&self, query: Option<String>, headers: &HeaderMap) -> Result<(), Problem> {
        self.keys.know(headers, Role::Read)?;
        self.reach(&request::Query::parse(query.as_deref(), &[])?).await
    }

    /// Says why this server is not ready; nothing if it is.
    pub(super) fn not_ready(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        match self.node.intake.condition() {
            Condition::Fresh => {}
            Condition::Stale(why) | Condition::Lost(_, why) => reasons.push(why),
        }
        if let Some(stuck) = self.node.replica.stuck() {
            reasons.push(format!("stuck at entry {}", stuck.position));
        }
        if *self.draining.borrow() {
            reasons.push("shutting down".to_owned());
        }
        reasons
    }
}
