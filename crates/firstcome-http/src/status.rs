//! The server's own status: alive, ready, its time, its ledger, its digest, its counts.

pub(crate) mod dev;
pub(crate) mod durability;
pub(crate) mod nodes;
pub(crate) mod webhooks;

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::app::App;
use crate::campaigns::by_campaign;
use crate::clock_text;
use crate::request::call::Call;
use crate::server::serves::ForOperations;
use axum::body::Body;
use axum::extract::Extension;
use axum::http::{HeaderValue, Response, StatusCode, header};
use firstcome_api::key::{KeyView, Role};
use firstcome_api::node::{Alive, Audit, Ready, Settling, Time};
use firstcome_core::State;
use firstcome_node::Condition;
use firstcome_node::ledger::{Ledger, Row};

/// The word of a store that promises less than what was chosen.
const UNPROVEN: &str = "durability_unproven";

/// Says that the process runs.
#[utoipa::path(get, path = "/livez", tag = "operation", operation_id = "live",
    responses((status = "2XX", description = "It runs.", body = Alive)))]
pub(super) async fn live() -> Response<Body> {
    json(StatusCode::OK, &Alive { status: "alive".into() })
}

/// Says whether this server accepts commands, and if not, why: in sentences with a key, in words without one.
#[utoipa::path(get, path = "/readyz", tag = "operation", operation_id = "ready",
    responses((status = "2XX", description = "ready", body = Ready), (status = 503, description = "not ready, with reasons", body = Ready)))]
pub(super) async fn ready(call: Call) -> Response<Body> {
    let Call { app, headers, .. } = &call;
    // Sentences name the hosts of the store and the ledger.
    let in_full = app.keys.reads(headers);
    let reasons = app.not_ready(in_full);
    let settling = app.settling();
    let trouble = settling.trouble.map(|why| if in_full { why } else { word_of(&why).to_owned() });
    let position = app.node.replica.look(State::token).to_string();
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let differences = app.node.intake.agreement.differences();
    let mut differs: Vec<String> = if in_full {
        differences.iter().map(ToString::to_string).collect()
    } else {
        differences.into_iter().map(|found| found.setting).collect()
    };
    differs.dedup();
    let durability = app.options.durability.borrow().clone();
    let name = durability.name().to_owned();
    let unproven = |why: String| if in_full { why } else { UNPROVEN.to_owned() };
    let ready = Ready {
        differs,
        durability: if in_full { durability.promise } else { name },
        durability_trouble: durability.trouble.map(unproven),
        lag: settling.lag,
        lag_ms: settling.lag_ms,
        last_result: settling.last_result,
        leaderless_ms: app.leader.leaderless().as_millis() as u64,
        position,
        settle_trouble: trouble,
        settled: settling.settled,
        status: if reasons.is_empty() { "ready" } else { "not_ready" }.into(),
        reasons,
    };
    json(status, &ready)
}

/// Says whose key a request brings: its name, its role, and the campaigns it is for.
#[utoipa::path(get, path = "/v1/key", tag = "operation", operation_id = "show_key", responses((status = "2XX", body = KeyView)))]
pub(super) async fn key(call: Call) -> HandlerResult {
    let Call { app, headers, .. } = &call;
    let key = app.keys.know(headers, Role::Read)?;
    let view = KeyView {
        name: key.name.to_string(),
        role: key.role.as_str().into(),
        campaigns: key.campaigns.as_deref().map(str::to_owned),
    };
    Ok(json(StatusCode::OK, &view))
}

/// Returns the server's time.
#[utoipa::path(get, path = "/v1/time", tag = "operation", operation_id = "show_time", responses((status = "2XX", body = Time)))]
pub(super) async fn time(call: Call) -> HandlerResult {
    let Call { app, headers, .. } = &call;
    app.keys.know(headers, Role::Read)?;
    call.reach().await?;
    let position = app.node.replica.look(State::token).to_string();
    let now = clock_text::rfc3339(app.node.intake.now());
    Ok(json(StatusCode::OK, &Time { now, position }))
}

/// Returns how far results are in the ledger.
#[utoipa::path(get, path = "/v1/settling", tag = "operation", operation_id = "show_settling", responses((status = "2XX", body = Settling)))]
pub(super) async fn settling(call: Call) -> HandlerResult {
    call.may_read_of_all().await?;
    Ok(json(StatusCode::OK, &call.app.settling()))
}

/// Returns the digest of the state of this server, to compare with one computed again from the journal.
#[utoipa::path(get, path = "/v1/audit", tag = "operation", operation_id = "audit",
    params(("position" = Option<u64>, Query, description = "One of the last 4096 positions; the last one if left out")),
    responses((status = "2XX", body = Audit)))]
pub(super) async fn audit(call: Call) -> HandlerResult {
    let Call { app, headers, .. } = &call;
    app.keys.know_for_all(headers, Role::Read)?;
    let query = call.query(&["position"])?;
    let position = query.number("position")?;
    app.reach(&query).await?;
    let audit = app.node.replica.look(|state| Audit {
        position: state.token().to_string(),
        digest: state
            .digest_at(position.unwrap_or(state.position()))
            .map(|digest| format!("{digest:016x}")),
        settled: state.settled(),
        last_result: state.last_result(),
    });
    Ok(json(StatusCode::OK, &audit))
}

/// Returns all metrics in the OpenMetrics text format, which Prometheus reads.
///
/// It needs a key that may read, except at the address of `ops_listen`. A client that accepts only `text/plain` gets the same
/// text with that type.
#[utoipa::path(get, path = "/metrics", tag = "operation", operation_id = "metrics",
    responses((status = "2XX", content((String = "application/openmetrics-text"), (String = "text/plain")))))]
pub(super) async fn metrics(
    call: Call,
    for_operations: Option<Extension<ForOperations>>,
) -> HandlerResult {
    let Call { app, headers, .. } = &call;
    if for_operations.is_none() {
        app.keys.know(headers, Role::Read)?;
    }
    let metrics = &app.metrics;
    let campaigns = app.node.replica.look(|state| {
        metrics.set("position", state.position());
        metrics.set("results_last", state.last_result());
        metrics.set("results_settled", state.settled());
        metrics.set("state_memory_bytes", state.memory() as u64);
        metrics.set("live_holds", state.live_holds() as u64);
        by_campaign::standings(state)
    });
    let durable = app.node.replica.durable().position;
    let applied = app.node.replica.look(State::position);
    metrics.set("durable_lag_entries", applied.saturating_sub(durable));
    let log = app.node.journal.write_ahead_log().unwrap_or_default();
    metrics.set("journal_log_bytes", log.bytes);
    metrics.set("journal_log_stuck", u64::from(log.trouble.is_some()));
    metrics.set("store_fresh", u64::from(!app.is_stale()));
    metrics.set("is_leader", u64::from(app.leader.leads()));
    metrics.set("leader_term", app.leader.who().map_or(0, |leads| leads.term));
    metrics.set("ledger_trouble", u64::from(app.leader.standing().trouble.is_some()));
    let settling = app.settling();
    metrics.set("results_waiting", settling.lag);
    metrics.set("results_lag_seconds", settling.lag_ms.div_ceil(1_000));
    metrics.set("holds_in_line", app.node.intake.in_line() as u64);
    metrics.set("hall_watchers", app.seat_maps.watchers() as u64);
    let limits = app.node.intake.limits;
    metrics.set("queue_waiting", app.node.waiting() as u64);
    metrics.set("queue_limit", limits.queue as u64);
    metrics.set("outbox_limit", limits.outbox.unwrap_or(0) as u64);
    metrics.set("connections_limit", app.options.connections as u64);
    metrics.set("body_limit_bytes", app.options.body_bytes as u64);
    let mut settings: Vec<_> = app.node.intake.agreement.differences();
    settings.dedup_by(|one, other| one.setting == other.setting);
    metrics.set("settings_differing", settings.len() as u64);
    let gone = app.node.intake.membership().map_or(0, |membership| membership.gone.len());
    metrics.set("nodes_gone", gone as u64);
    metrics.set("codes_to_suspend", app.node.intake.codes_to_suspend() as u64);
    let durability = app.options.durability.borrow().trouble.is_some();
    metrics.set("durability_trouble", u64::from(durability));
    metrics.set("leaderless_seconds", app.leader.leaderless().as_secs());
    metrics.set("election_store_silent_seconds", app.leader.store_silent().as_secs());
    metrics.set("election_healthy", u64::from(app.leader.is_healthy()));
    metrics.set("ready", u64::from(app.not_ready(false).is_empty()));
    let mut response = Response::new(Body::from(metrics.text(&campaigns)));
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
    let only_plain = accepted.contains("text/plain")
        && !accepted.contains("openmetrics")
        && !accepted.contains("*/*");
    let kind = match only_plain {
        true => "text/plain; charset=utf-8",
        false => "application/openmetrics-text; version=1.0.0; charset=utf-8",
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

impl Call {
    /// Accepts a read of what is about all campaigns, at or past its `min_position`.
    async fn may_read_of_all(&self) -> Result<(), Problem> {
        self.app.keys.know_for_all(&self.headers, Role::Read)?;
        self.reach().await
    }
}

impl App {
    /// Returns how far results are in the ledger.
    fn settling(&self) -> Settling {
        let leading = self.leader.standing();
        let now = self.node.intake.now();
        let (settled, last_result, lag, oldest) = self.node.replica.look(|state: &State| {
            let oldest = state.oldest_waiting().map(|result| Row::from(result).at);
            (state.settled(), state.last_result(), state.waiting() as u64, oldest)
        });
        let age = oldest.map_or(0, |oldest| now.micros_since(oldest).max(0).cast_unsigned());
        Settling {
            ledger: self.ledger.as_ref().map_or("none", Ledger::kind).into(),
            settled,
            last_result,
            lag,
            lag_ms: age / 1_000,
            term: leading.term,
            trouble: leading.trouble,
        }
    }

    /// Says why this server is not ready, in full or in words; nothing if it is.
    fn not_ready(&self, in_full: bool) -> Vec<String> {
        let mut reasons = Vec::new();
        match self.node.intake.condition() {
            Condition::Fresh => {}
            Condition::Stale(why) | Condition::Lost(_, why) if in_full => reasons.push(why),
            Condition::Stale(_) => reasons.push("stale".to_owned()),
            Condition::Lost(failure, _) => {
                reasons.push(Problem::failed(&failure).outcome().to_owned());
            }
        }
        if let Some(stuck) = self.node.replica.stuck() {
            reasons.push(format!("stuck at entry {}", stuck.broke.position));
        }
        let durability = self.options.durability.borrow().clone();
        if let Some(why) = durability.trouble.filter(|_| durability.refuses) {
            reasons.push(if in_full { why } else { UNPROVEN.to_owned() });
        }
        if let Some((campaign, why)) = self.missing_key.get() {
            let why = format!("{why} (campaign {campaign:?})");
            reasons.push(if in_full { why } else { "code_key_missing".to_owned() });
        }
        let codes = self.node.intake.codes_to_suspend();
        if codes > 0 {
            let why = format!("{codes} codes that changed hands in a fork are not suspended yet");
            reasons.push(if in_full { why } else { "codes_not_suspended".to_owned() });
        }
        reasons.extend(self.node.panics.names().into_iter().map(|name| match in_full {
            true => format!("the task {name:?} panicked: restart this server"),
            false => "task_panicked".to_owned(),
        }));
        if self.draining.is_cancelled() || self.node.intake.agreement.is_leaving() {
            reasons.push("shutting down".to_owned());
        }
        reasons
    }
}

/// Returns the word that a sentence about the ledger begins with; one that has none is about a ledger out of reach.
fn word_of(why: &str) -> &str {
    let word = why.split_once(": ").map(|(word, _)| word);
    let known = |word: &&str| {
        ["ledger_ahead", "ledger_behind", "ledger_other", "ledger_differs", "no_ledger"]
            .contains(word)
    };
    word.filter(known).unwrap_or("ledger_unavailable")
}
