//! A node in this process: its routes are called without a socket, its journal has faults, and its
//! clock stands where the test puts it.
//!
//! Tests run with the runtime's own time paused: waiting for something that only time brings is done
//! at once.

use crate::documented;
use crate::process::KEY;
use crate::wire::Answer;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use firstcome_api::key::Role;
use firstcome_core::SpaceId;
use firstcome_faults::faulty::Faulty;
use firstcome_http::guard::Guards;
use firstcome_http::guard::rate::RequestPace;
use firstcome_http::metrics::Metrics;
use firstcome_http::{
    App, BulkRequests, Durability, HttpOptions, Key, KeyTable, MissingKey, RareOptions, SeatMaps,
};
use firstcome_journal::memory::Memory;
use firstcome_journal::{Clock, Journal};
use firstcome_node::codes::CodeKeys;
use firstcome_node::intake::QUEUE_BYTES;
use firstcome_node::leader::{self, Election, Leadership};
use firstcome_node::{Core, Given, Limits, Node, OnEmptied};
use http_body_util::BodyExt;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

/// 2027-03-01T00:00:00Z, where every clock here begins.
pub(crate) const BEGIN: i64 = 1_803_859_200_000_000;
/// Keys with less than every right: text, role, campaigns. They are named by their roles.
const KEYS: [(&str, Role, Option<&str>); 6] = [
    ("an-operator-key-", Role::Operator, None),
    ("a-backend-key---", Role::Backend, None),
    ("a-reading-key---", Role::Read, None),
    ("a-redeeming-key-", Role::Redeem, None),
    ("a-key-for-spring", Role::Operator, Some("spring")),
    // It has no rate, whichever the other one has.
    ("a-backend-key-2-", Role::Backend, None),
];

/// A node, its routes, and what it is made to stand on.
pub(crate) struct Inside {
    router: Router,
    pub(crate) app: Arc<App>,
    pub(crate) journal: Faulty,
    micros: Arc<AtomicI64>,
}

/// How a node is set up, where a test wants it otherwise.
pub(crate) struct Setup {
    pub(crate) queue: usize,
    pub(crate) wait: Duration,
    pub(crate) memory: u64,
    pub(crate) outbox: Option<usize>,
    pub(crate) keep_for: Option<Duration>,
    pub(crate) guards: Guards,
    /// The keys of codes.
    pub(crate) code_keys: &'static [(&'static str, [u8; 32])],
    /// How often the back end's key may ask.
    pub(crate) key_rate: Option<&'static str>,
    /// A bug in the task that lets time pass: it panics once this is set.
    pub(crate) ticker_bug: Arc<AtomicBool>,
    /// The runtime of the journal's work, if it is another one.
    pub(crate) core: Option<Core>,
    /// Whether hyper reads every request.
    pub(crate) hyper_only: bool,
}

impl Default for Setup {
    fn default() -> Self {
        let (queue, wait) = (16_384, Duration::from_secs(5));
        let (memory, guards) = (1 << 30, Guards::default());
        let ticker_bug = Arc::default();
        Self {
            queue,
            wait,
            memory,
            outbox: None,
            keep_for: None,
            guards,
            code_keys: &[("k1", [1; 32])],
            key_rate: None,
            ticker_bug,
            core: None,
            hyper_only: false,
        }
    }
}

/// A clock that stands where the test puts it.
fn stopped_clock() -> (Arc<AtomicI64>, Clock) {
    let micros = Arc::new(AtomicI64::new(BEGIN));
    let seen = Arc::clone(&micros);
    (micros, Clock::of(move || seen.load(Ordering::SeqCst)))
}

impl Inside {
    pub(crate) async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let (micros, clock) = stopped_clock();
        let memory = Memory::new(SpaceId([7; 16]), clock.clone());
        let journal = Faulty::new(Journal::Memory(memory));
        Self::over(journal, clock, micros, setup).await
    }

    /// Two nodes that share a journal, each with faults of its own between it and the journal.
    pub(crate) async fn two() -> (Self, Self) {
        let (micros, clock) = stopped_clock();
        let memory = Memory::new(SpaceId([7; 16]), clock.clone()).for_several();
        let node = async || {
            let journal = Faulty::new(Journal::Memory(memory.clone()));
            Self::over(journal, clock.clone(), Arc::clone(&micros), Setup::default()).await
        };
        (node().await, node().await)
    }

    /// A node over a store that says later that an entry is durable: see [`Faulty::hold_confirms`].
    pub(crate) async fn confirmed_later() -> Self {
        let (micros, clock) = stopped_clock();
        let memory = Memory::new(SpaceId([7; 16]), clock.clone()).for_several();
        let journal = Faulty::new(Journal::Memory(memory)).confirming_later();
        Self::over(journal, clock, micros, Setup::default()).await
    }

    async fn over(journal: Faulty, clock: Clock, micros: Arc<AtomicI64>, setup: Setup) -> Self {
        let mut registry = Registry::with_prefix("firstcome");
        let counts = Arc::new(firstcome_node::Metrics::new(&mut registry));
        let metrics = Arc::new(Metrics::new(registry, firstcome_http::paths_and_methods()));
        static DRAWN: AtomicU64 = AtomicU64::new(1);
        let Setup {
            queue,
            wait,
            memory,
            outbox,
            keep_for,
            guards,
            key_rate,
            ticker_bug,
            code_keys,
            core,
            hyper_only,
        } = setup;
        let given = Given {
            journal: journal.journal(),
            clock: Some(clock),
            address: "".into(),
            random: Box::new(move || {
                assert!(!ticker_bug.load(Ordering::SeqCst), "a bug");
                DRAWN.fetch_add(1, Ordering::SeqCst)
            }),
            limits: Limits { queue, queue_bytes: QUEUE_BYTES, wait, memory, outbox },
            metrics: Arc::clone(&counts),
            says: firstcome_node::in_log(),
            core,
            settings: BTreeMap::new(),
            on_emptied: OnEmptied::default(),
            codes: Arc::new(CodeKeys::new(code_keys).unwrap()),
        };
        let node = Node::start(given, |_, _| {}).await.unwrap();
        let pace = leader::LeaderPace {
            settle_interval: Duration::from_millis(200),
            settle_delay: leader::SettleDelay::default(),
            keep_for,
            snapshot_bytes: u64::MAX,
            snapshot_every: Duration::MAX,
        };
        let leader = Leadership::start(&node, None, pace, Election::Alone, &counts);
        let mut keys = KeyTable::default();
        keys.add_text(KEY, Key::new("admin", Role::Admin, None));
        for (text, role, campaigns) in KEYS {
            let campaigns = campaigns.map(Into::into);
            keys.add_text(text, Key::new(role.as_str(), role, campaigns));
        }
        if let Some(rate) = key_rate {
            let pace = RequestPace::new(rate.parse().unwrap(), metrics.rate_limited.key.clone());
            keys.pace(Sha256::digest(KEYS[1].0).into(), pace);
        }
        let second = Duration::from_secs(1);
        let options = HttpOptions {
            connections: 100,
            body_bytes: 65_536,
            header_time: second,
            body_time: second,
            idle_time: second,
            hold_wait: Duration::from_secs(3),
            stream_time: Duration::from_secs(600),
            pages: None,
            strict_subjects: false,
            rare: RareOptions { hyper_only, ..RareOptions::default() },
            durability: Durability::fixed("for a test".into()),
        };
        let app = App {
            node,
            leader,
            ledger: None,
            webhooks: None,
            keys: keys.into(),
            guards,
            bulk: BulkRequests::default(),
            missing_key: MissingKey::default(),
            seat_maps: SeatMaps::default(),
            metrics,
            options,
            openapi: firstcome_http::openapi(),
            draining: CancellationToken::new(),
        };
        let app = Arc::new(app);
        Self { router: firstcome_http::router(Arc::clone(&app)), app, journal, micros }
    }

    /// Sends a request as it is.
    ///
    /// The answer must be one that the description of the routes has for it.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let mut router = self.router.clone();
        let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
        let response = router.call(request).await.unwrap();
        let (head, body) = response.into_parts();
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let answer = Answer {
            status: head.status.as_u16(),
            headers: head
                .headers
                .iter()
                .map(|(name, value)| (name.to_string(), text(value.as_bytes())))
                .collect(),
            body: body.collect().await.unwrap().to_bytes().to_vec(),
        };
        documented::check(&method, &path, &answer);
        answer
    }

    /// Returns the routes.
    pub(crate) fn router(&self) -> Router {
        self.router.clone()
    }

    /// Follows a stream of events: gives its body.
    pub(crate) async fn follow(&self, path: &str) -> Body {
        let mut router = self.router.clone();
        let request = Request::builder().uri(path).header("authorization", format!("Bearer {KEY}"));
        let response = router.call(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        response.into_body()
    }

    /// Asks with headers, which come instead of those that are there by default.
    pub(crate) async fn ask_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        let defaults =
            [("authorization", &*format!("Bearer {KEY}")), ("content-type", "application/json")];
        let given = |name| headers.iter().any(|(known, _)| *known == name);
        for (name, value) in defaults.iter().filter(|(name, _)| !given(*name)).chain(headers) {
            if !value.is_empty() {
                request = request.header(*name, *value);
            }
        }
        self.send(request.body(body.into()).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask_with("GET", path, &[("content-type", "")], "").await
    }

    pub(crate) async fn post(&self, path: &str) -> Answer {
        self.ask_with("POST", path, &[("content-type", "")], "").await
    }

    pub(crate) async fn put(&self, campaign: &str, settings: &Value) -> Answer {
        let path = format!("/v1/campaigns/{campaign}");
        self.ask_with("PUT", &path, &[], settings.to_string()).await
    }

    /// Puts a campaign of one pool.
    pub(crate) async fn open(&self, campaign: &str, places: u32) -> Answer {
        self.put(campaign, &one_pool("now", places)).await
    }

    pub(crate) async fn claim(&self, campaign: &str, subject: &str) -> Answer {
        self.claim_at(campaign, subject, "").await
    }

    /// Claims with a query.
    pub(crate) async fn claim_at(&self, campaign: &str, subject: &str, query: &str) -> Answer {
        let path = format!("/v1/campaigns/{campaign}/claims{query}");
        self.ask_with("POST", &path, &[], json!({ "subject": subject }).to_string()).await
    }

    pub(crate) async fn cancel(&self, campaign: &str, subject: &str, query: &str) -> Answer {
        let path = format!("/v1/campaigns/{campaign}/claims/{subject}?{query}");
        self.ask_with("DELETE", &path, &[("content-type", "")], "").await
    }

    /// Looks at a campaign.
    pub(crate) async fn show(&self, campaign: &str) -> Value {
        self.get(&format!("/v1/campaigns/{campaign}")).await.json()
    }

    /// Tells the node to stop and waits until it has.
    pub(crate) async fn stop(self) {
        drop(self.router);
        let app = Arc::try_unwrap(self.app).unwrap_or_else(|_| panic!("the node is in use"));
        app.leader.stop().await;
        app.node.stop().await.unwrap();
    }

    /// Returns where this node's state stands.
    pub(crate) fn position(&self) -> u64 {
        self.app.node.replica.look(|state| state.position())
    }

    /// Sets the clock, in microseconds since [`BEGIN`].
    pub(crate) fn clock(&self, micros: i64) {
        self.micros.store(BEGIN + micros, Ordering::SeqCst);
    }

    /// Waits until the entry behind a position is applied.
    pub(crate) async fn beyond(&self, position: u64) {
        self.app.node.replica.reach(position + 1).await;
    }
}

/// Returns the settings of a campaign of one pool.
pub(crate) fn one_pool(opens_at: &str, places: u32) -> Value {
    json!({"opens_at": opens_at, "pools": [{"name": "main", "capacity": places}]})
}
