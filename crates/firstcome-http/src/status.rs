//! How the server itself is: alive, ready, its time, its nodes, its counts.

use super::problem::Problem;
use super::request;
use crate::app::App;
use axum::Json;
use axum::body::Body;
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use firstcome_api::answer::Code;
use firstcome_api::clock_text;
use firstcome_api::key::Role;
use firstcome_core::State;
use firstcome_node::Condition;
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
    let now = clock_text::rfc3339(app.node.intake.now());
    Json(json!({"now": now, "position": position})).into_response()
}

/// One server process.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NodeView {
    /// Drawn anew at every start.
    node: String,
    /// Where it can be reached, as it says itself.
    address: String,
    since: String,
    /// The position it had applied when it last said so.
    position: u64,
    /// How many entries it was behind the head of the journal then.
    lag: u64,
    /// Up to where it knew the journal to be durable.
    durable: u64,
    /// The newest level of stored bytes it can read.
    level: u32,
    /// Bytes of memory campaigns may take on it.
    memory_limit: u64,
    /// When it last said so, by the store's clock.
    seen: String,
    /// Whether it is the leader.
    leader: bool,
    /// Whether it is the one that answers this.
    this: bool,
}

/// Who leads.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LeaderView {
    node: String,
    /// The number of its term.
    term: u64,
}

/// The nodes of the space, and what this one knows.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NodesView {
    /// The position this node applied last.
    position: String,
    digest: String,
    /// Who leads; null while nobody does.
    leader: Option<LeaderView>,
    /// The term under which the ledger takes results from this node; 0 where it does not.
    settle_term: u64,
    settled: u64,
    last_result: u64,
    /// What an answer that left is safe against.
    durability: String,
    /// Whether this node's state may be out of date.
    stale: bool,
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
    let this = app.node.id.to_string();
    let leader = match app.leader.who() {
        Some(leads) => Some(LeaderView { node: leads.node, term: leads.term }),
        None if app.leader.leads() => {
            Some(LeaderView { node: this.clone(), term: app.leader.standing().term })
        }
        None => None,
    };
    let leads = |node: &str| leader.as_ref().is_some_and(|leader| leader.node == node);
    let nodes = match app.node.intake.roll() {
        Some(roll) => roll
            .nodes
            .iter()
            .map(|(node, seen)| NodeView {
                address: node.address.to_string(),
                since: clock_text::rfc3339(node.since),
                position: node.position,
                lag: roll.head.position.saturating_sub(node.position),
                durable: node.durable,
                level: node.level,
                memory_limit: node.memory,
                seen: clock_text::rfc3339(*seen),
                leader: leads(&node.node.to_string()),
                this: node.node == app.node.id,
                node: node.node.to_string(),
            })
            .collect(),
        // The only node there can be, or one that was not heard yet.
        None => {
            let position = app.node.replica.look(State::position);
            vec![NodeView {
                address: app.node.address.to_string(),
                since: clock_text::rfc3339(app.node.since),
                position,
                lag: 0,
                durable: position,
                level: firstcome_core::LEVEL,
                memory_limit: app.node.intake.memory_limit(),
                seen: clock_text::rfc3339(app.node.intake.now()),
                leader: leads(&this),
                this: true,
                node: this.clone(),
            }]
        }
    };
    let stale = app.is_stale();
    let view = app.node.replica.look(|state| NodesView {
        position: state.token().to_string(),
        digest: format!("{:016x}", state.digest()),
        leader,
        settle_term: app.leader.standing().term,
        settled: state.settled(),
        last_result: state.last_result(),
        durability: app.options.durability.clone(),
        stale,
        nodes,
    });
    Json(view).into_response()
}

/// Has this node write its state into a store that has nothing of the space any more.
///
/// What only other nodes know, or only the store knew, is lost by it: ask the node that applied most.
#[utoipa::path(post, path = "/v1/reseed", tag = "operation",
    responses((status = 202, description = "it will, at the next look at the store"),
        (status = 409, description = "nothing_lost")))]
pub(super) async fn reseed(Extract(app): Extract<Arc<App>>, headers: HeaderMap) -> Response<Body> {
    if let Err(problem) = app.keys.know(&headers, Role::Admin) {
        return app.problem(problem);
    }
    if !app.node.is_without_store() {
        let detail = "the store has this space: there is nothing to seed";
        return app.problem(Problem::new(Code::NothingLost, detail.to_owned()));
    }
    app.node.reseed();
    let position = app.node.replica.look(State::token).to_string();
    (StatusCode::ACCEPTED, Json(json!({"reseed": "accepted", "position": position})))
        .into_response()
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
        metrics.set("live_holds", state.live_holds() as u64);
    });
    let settling = app.settling();
    metrics.set("results_waiting", settling.lag);
    metrics.set("results_lag_seconds", settling.lag_ms.div_ceil(1_000));
    metrics.set("holds_in_line", app.node.intake.in_line() as u64);
    metrics.set("hall_watchers", app.halls.watchers() as u64);
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
