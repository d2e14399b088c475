//! The counts of the HTTP server, and the text of all counts in the Prometheus format.
//!
//! Each counter is looked up once, at the start: a count on the path of a claim is one atomic addition.

use crate::guard::eligibility::CountsOfAll;
use firstcome_api::answer::Code;
use firstcome_core::Outcome;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;

type ByLabel = Family<Vec<(&'static str, &'static str)>, Counter>;

/// Every count and gauge of the HTTP server.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    answers: BTreeMap<&'static str, Counter>,
    /// Connections that were refused because too many were open.
    pub connections_refused: Counter,
    /// Connections ended because what they sent was no request this server reads.
    pub connections_unreadable: Counter,
    /// Connections ended because a request's head or the next request took too long, or nobody read an answer.
    pub connections_too_slow: Counter,
    /// Attempts to accept a connection that the operating system refused, for want of files for example.
    pub accept_failures: Counter,
    /// Requests turned away because a subject, a key or an address asked too often.
    pub rate_limited: RateLimited,
    /// What came of checks with the teams' own services.
    pub eligibility: CountsOfAll,
    /// Connections open.
    pub connections: Gauge,
    gauges: BTreeMap<&'static str, Gauge>,
}

/// Requests turned away because somebody asked too often, by who it was.
#[derive(Clone, Debug)]
pub struct RateLimited {
    /// A subject.
    pub subject: Counter,
    /// A key.
    pub key: Counter,
    /// An address.
    pub address: Counter,
    /// An address that tries keys, tokens or hold ids.
    pub misses: Counter,
}

/// Gauges that are set when the counts are read: name, help.
const SET_ON_READ: [(&str, &str); 15] = [
    ("queue_waiting", "Commands that wait for the journal"),
    ("queue_limit", "Commands that may wait for the journal"),
    ("connections_limit", "Connections that may be open"),
    ("body_limit_bytes", "Bytes a request body may have"),
    ("position", "Position of the entry applied last"),
    ("results_last", "Number of the last result"),
    ("results_settled", "Number up to which the ledger has results"),
    ("results_waiting", "Results that wait for the ledger"),
    ("results_lag_seconds", "Age of the oldest result that waits for the ledger, rounded up"),
    ("outbox_limit", "Results that may wait for the ledger; 0 without a limit"),
    ("state_memory_bytes", "Memory that campaigns take, about"),
    ("live_holds", "Holds that are live"),
    ("holds_in_line", "Holds that wait for a seat somebody has"),
    ("hall_watchers", "Streams of events that are open"),
    ("ready", "1 while this node is ready"),
];

impl Metrics {
    /// Makes the counts and registers them beside those that are in the registry already.
    pub fn new(mut registry: Registry) -> Self {
        let by_outcome = ByLabel::default();
        let counted = |outcome| {
            let counter = by_outcome.get_or_create(&vec![("outcome", outcome)]).clone();
            (outcome, counter)
        };
        let of_nodes = ["ticked", "settled"];
        let yeses = Outcome::YES.into_iter().filter(|yes| !of_nodes.contains(yes));
        let yeses = yeses.chain(["minted"]);
        let refusals = Code::all().map(|code| code.row().outcome);
        let answers = yeses.chain(refusals).map(counted).collect();
        registry.register("answers", "Answers given, by outcome", by_outcome);
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let help = "Connections refused because too many were open";
        let connections_refused = counter("connections_refused", help);
        let help = "Connections ended because what they sent was no request that can be read";
        let connections_unreadable = counter("connections_unreadable", help);
        let help = "Connections ended because a head or the next request took too long, or nobody read an answer";
        let connections_too_slow = counter("connections_too_slow", help);
        let help = "Attempts to accept a connection that failed, for want of files for example";
        let accept_failures = counter("accept_failures", help);
        let by_limit = ByLabel::default();
        let limited = |limit| by_limit.get_or_create(&vec![("limit", limit)]).clone();
        let rate_limited = RateLimited {
            subject: limited("subject"),
            key: limited("key"),
            address: limited("address"),
            misses: limited("misses"),
        };
        registry.register("rate_limited", "Requests turned away as too many", by_limit);
        let eligibility = CountsOfAll::default();
        eligibility.register(&mut registry);
        let connections = Gauge::default();
        registry.register("connections", "Connections open", connections.clone());
        let mut gauges = BTreeMap::new();
        for (name, help) in SET_ON_READ {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauges.insert(name, gauge);
        }
        Self {
            registry,
            answers,
            connections_refused,
            connections_unreadable,
            connections_too_slow,
            accept_failures,
            rate_limited,
            eligibility,
            connections,
            gauges,
        }
    }

    /// Counts an answer by its stable string.
    pub fn answered(&self, outcome: &str) {
        if let Some(counter) = self.answers.get(outcome) {
            counter.inc();
        }
    }

    /// Counts what the rules said.
    pub fn decided(&self, outcome: &Outcome) {
        self.answered(outcome.as_str());
    }

    /// Sets a gauge, when the counts are read.
    pub(crate) fn set(&self, name: &'static str, value: u64) {
        if let Some(gauge) = self.gauges.get(name) {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }

    /// Gives everything in the Prometheus text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }
}
