//! The counts of the HTTP server, and the text of all counts in the Prometheus format.
//!
//! Each counter is looked up once, at the start: a count on the path of a claim is one atomic addition.

use crate::answer::Code;
use crate::campaigns::by_campaign::{self, Standing};
use crate::guard::eligibility::CountsOfAll;
use crate::minute::here::Here;
use crate::request::id::RequestId;
use crate::server::latency::Latency;
use crate::server::process;
use firstcome_core::{CodeOutcome, Outcome, newest_level};
use prometheus_client::encoding::text::{encode, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// The label of wrong codes that were tried with a subject token.
pub(crate) const OF_TOKENS: &str = "subject_token";

type ByLabel = Family<Vec<(&'static str, &'static str)>, Counter>;

/// Every count and gauge of the HTTP server.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    process: Registry,
    /// How long requests took.
    pub(crate) latency: Latency,
    /// What was answered about each campaign in the last minutes.
    pub(crate) minute: Here,
    /// Where the last request came from whose key was refused, and its id.
    last_refused: Mutex<Option<(IpAddr, RequestId)>>,
    answers: BTreeMap<&'static str, Counter>,
    /// Connections that were refused because too many were open.
    pub connections_refused: Counter,
    /// Connections ended because what they sent was no request this server reads.
    pub connections_unreadable: Counter,
    /// Connections ended because they could not be secured: no TLS, or no certificate that counts.
    pub connections_insecure: Counter,
    /// Connections ended because a request's head or the next request took too long, or nobody read an answer.
    pub connections_too_slow: Counter,
    /// Attempts to accept a connection that the operating system refused, for want of files for example.
    pub accept_failures: Counter,
    /// Requests turned away because a subject, a key or an address asked too often.
    pub rate_limited: RateLimited,
    /// Codes that were tried and do not exist, by the name of the key, of which there are as many as are configured.
    wrong_codes: Family<Vec<(&'static str, String)>, Counter>,
    /// What came of checks with the teams' own services.
    pub eligibility: CountsOfAll,
    /// What came of delivering webhooks.
    pub webhooks: firstcome_webhooks::Counts,
    /// Connections open.
    pub connections: Gauge,
    gauges: BTreeMap<&'static str, Gauge>,
}

/// Requests refused by a rate limit, by the kind of limit.
#[derive(Clone, Debug)]
pub struct RateLimited {
    pub subject: Counter,
    pub key: Counter,
    pub address: Counter,
    /// An address that tries keys, tokens or hold ids.
    pub misses: Counter,
    /// A subject, an address or a customer that tries codes.
    pub wrong_codes: Counter,
}

/// Gauges that are set when the counts are read: name, help.
const SET_ON_READ: [(&str, &str); 31] = [
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
    ("store_fresh", "1 while the store answers and this node has what it has"),
    ("journal_log_bytes", "Bytes of the write-ahead log of the embedded journal"),
    ("journal_log_stuck", "1 while that log cannot be written into its file"),
    ("is_leader", "1 while this node leads"),
    ("leader_term", "Term of the leader this node sees; 0 without an election or a leader"),
    ("leaderless_seconds", "How long this node has seen nobody lead; 0 while somebody does"),
    (
        "election_store_silent_seconds",
        "How long the lock's store has not answered; 0 while it does",
    ),
    ("election_healthy", "1 while this node does its part in the election, or there is none"),
    ("settings_differing", "Settings in which live servers of the space differ from this one"),
    ("codes_to_suspend", "Imported codes that changed hands in a fork and are not suspended yet"),
    (
        "nodes_gone",
        "Servers that stopped without leaving in the last 24 hours and did not come back",
    ),
    ("durability_trouble", "1 while the store promises less than `durability` asks for"),
    ("tls_trouble", "1 while the files of TLS changed and cannot be used"),
    ("configuration_trouble", "1 while the configuration file changed and cannot be used"),
    ("ledger_trouble", "1 while this node leads and no results are settled"),
    ("durable_lag_entries", "Entries applied that are not known to be durable"),
];

impl Metrics {
    /// Makes the counts and registers them beside those that are in the registry already.
    ///
    /// `routes` are those whose requests are timed, as [`crate::paths_and_methods`] gives them.
    pub fn new(mut registry: Registry, routes: Vec<(String, Vec<&'static str>)>) -> Self {
        let by_outcome = ByLabel::default();
        let counted = |outcome| {
            let counter = by_outcome.get_or_create(&vec![("outcome", outcome)]).clone();
            (outcome, counter)
        };
        let of_nodes = ["ticked", "settled"];
        let yeses = Outcome::YES.into_iter().filter(|yes| !of_nodes.contains(yes));
        let yeses = yeses.chain(CodeOutcome::ALL).chain(["minted"]);
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
        let help = "Connections ended because they could not be secured with TLS";
        let connections_insecure = counter("connections_insecure", help);
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
            wrong_codes: limited("wrong_codes"),
        };
        registry.register("rate_limited", "Requests turned away as too many", by_limit);
        let wrong_codes = Family::<Vec<(&'static str, String)>, Counter>::default();
        drop(wrong_codes.get_or_create(&vec![("key", OF_TOKENS.to_owned())]));
        let help = "Codes tried that do not exist or were never issued, by the name of the key";
        registry.register("wrong_codes", help, Family::clone(&wrong_codes));
        let eligibility = CountsOfAll::default();
        eligibility.register(&mut registry);
        let webhooks = firstcome_webhooks::Counts::registered(&mut registry);
        let connections = Gauge::default();
        registry.register("connections", "Connections open", connections.clone());
        let latency = Latency::new(routes);
        let help = "Time from reading a request's head to having its answer's head";
        registry.register_with_unit("http_request_duration", help, Unit::Seconds, latency.clone());
        let about = [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("level", newest_level().to_string()),
        ];
        registry.register("build", "The program that runs", Info::new(about.to_vec()));
        let mut gauges = BTreeMap::new();
        for (name, help) in SET_ON_READ {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauges.insert(name, gauge);
        }
        Self {
            registry,
            process: process::registry(),
            latency,
            minute: Here::default(),
            last_refused: Mutex::default(),
            answers,
            connections_refused,
            connections_unreadable,
            connections_insecure,
            connections_too_slow,
            accept_failures,
            rate_limited,
            wrong_codes,
            eligibility,
            webhooks,
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

    /// Counts a code that was tried with a key, or with [`OF_TOKENS`], and does not exist.
    pub(crate) fn wrong_code(&self, key: &str) {
        self.wrong_codes.get_or_create(&vec![("key", key.to_owned())]).inc();
    }

    /// Counts what the rules said.
    pub fn decided(&self, outcome: &Outcome) {
        self.answered(outcome.as_str());
    }

    /// Sets a gauge.
    pub fn set(&self, name: &'static str, value: u64) {
        if let Some(gauge) = self.gauges.get(name) {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }

    /// Returns how many answers with this outcome were counted.
    pub(crate) fn answers(&self, outcome: &str) -> u64 {
        self.answers.get(outcome).map_or(0, Counter::get)
    }

    /// Notes where a request came from whose key was refused.
    pub(crate) fn key_refused(&self, peer: IpAddr, request: RequestId) {
        let mut last = self.last_refused.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((peer, request));
    }

    /// Returns where the last such request came from, and its id.
    pub(crate) fn last_refused(&self) -> Option<(IpAddr, RequestId)> {
        self.last_refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns everything in the OpenMetrics text format.
    pub(crate) fn text(&self, campaigns: &[Standing]) -> String {
        let mut text = String::new();
        for part in [&self.process, &by_campaign::registry(campaigns)] {
            encode_registry(&mut text, part).expect("writing to a string does not fail");
        }
        encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }
}
