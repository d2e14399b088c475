//! Asking the team's own service whether a subject may, and how many units, before a command is written.
//!
//! A check is for a campaign or for several. Its answers, yes and no, are cached for a while; callers that ask
//! the same at the same time share one call; calls have a deadline and there are so many at most;
//! and when the service fails, a circuit breaker leaves it alone but for a probe now and then. Then, as the check
//! says, claims are refused until it is back, or let through.
//!
//! A limit that comes with a yes is written into the command. Nothing else of it is in the journal: a replay asks nobody.

mod breaker;
mod cache;
mod call;
mod counts;

pub use breaker::{Breaker, BreakerState, Pass};
pub use call::{Down, Question, Said};
pub use counts::{Counts, CountsOfAll};

use crate::guard::token::Scope;
use axum::http::{HeaderValue, Request, Uri};
use cache::Cache;
use call::Caller;
use firstcome_node::log;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use http_body_util::Full;
use hyper::body::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// The terms of a check.
#[derive(Clone, Debug)]
pub struct Terms {
    pub campaign: Scope,
    /// Where to ask.
    pub url: Uri,
    /// What is sent as `Authorization`.
    pub authorization: Option<HeaderValue>,
    /// PEM of the authorities that an `https` service is trusted by; the system's, if none.
    pub ca: Option<Arc<[u8]>>,
    /// How long a call may take.
    pub timeout: Duration,
    /// Calls that may be under way.
    pub concurrent: usize,
    /// How long a yes is kept.
    pub keep_yes: Duration,
    /// How long a no is kept.
    pub keep_no: Duration,
    /// Answers that are kept.
    pub entries: usize,
    /// Failures in a row after which the service is left alone; never, if zero.
    pub failures: u32,
    /// The time between two probes of a service that is left alone.
    pub probe_every: Duration,
    /// Whether claims are let through while the answer cannot be known.
    pub admits_when_down: bool,
}

/// What a claim may do after a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on to the rules, with the limit that the service gave, if it gave one.
    Admitted(Option<u32>),
    /// Nothing: the service says no, for this reason.
    NotEligible(Option<Arc<str>>),
    /// Nothing for now: the answer is not known.
    Unknown(Down),
}

type CallResult = Result<Said, Down>;
type Flight = Shared<BoxFuture<'static, CallResult>>;
type WeakFlight = WeakShared<BoxFuture<'static, CallResult>>;

/// One check.
#[derive(Debug)]
pub struct Check {
    terms: Terms,
    caller: Caller,
    counts: Counts,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    breaker: Breaker,
    cache: Cache<Said>,
    /// Calls under way by what they ask, with a number of their own.
    flights: HashMap<Arc<str>, (u64, WeakFlight)>,
    under_way: usize,
    number: u64,
}

impl Check {
    /// Begins with nothing known and nothing asked.
    ///
    /// # Errors
    ///
    /// What is wrong with the authorities.
    pub fn new(terms: Terms, counts: Counts) -> Result<Arc<Self>, String> {
        let (url, authorization) = (terms.url.clone(), terms.authorization.clone());
        let caller = Caller::new(url, authorization, terms.ca.as_deref(), terms.concurrent)?;
        let state = State {
            breaker: Breaker::new(terms.failures, terms.probe_every),
            cache: Cache::new(terms.entries),
            flights: HashMap::new(),
            under_way: 0,
            number: 0,
        };
        Ok(Arc::new(Self { terms, caller, counts, state: Mutex::new(state) }))
    }

    /// Says whether a claim may go on, which most often takes no call.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe. A call that others wait for goes on; one that nobody waits for any more is given up.
    pub async fn decide(self: &Arc<Self>, question: Question<'_>) -> Verdict {
        let answer = match self.begin(&question, Instant::now()) {
            Ok(flight) => flight.await,
            Err(known) => known,
        };
        match answer {
            Ok(Said::Yes(limit)) => Verdict::Admitted(limit),
            Ok(Said::No(reason)) => Verdict::NotEligible(reason),
            Err(_) if self.terms.admits_when_down => {
                self.counts.admitted.inc();
                Verdict::Admitted(None)
            }
            Err(down) => Verdict::Unknown(down),
        }
    }

    /// Joins or begins a call, or gives what is known without one.
    fn begin(
        self: &Arc<Self>,
        question: &Question<'_>,
        now: Instant,
    ) -> Result<Flight, CallResult> {
        let Question { campaign, pool, subject } = question;
        // No name has a zero byte in it.
        let asked = format!("{campaign}\0{}\0{subject}", pool.unwrap_or_default());
        let mut state = self.state();
        if let Some(said) = state.cache.get(&asked, now) {
            match said {
                Said::Yes(_) => self.counts.kept_yes.inc(),
                Said::No(_) => self.counts.kept_no.inc(),
            };
            return Err(Ok(said.clone()));
        }
        if let Some(flight) = state.flights.get(&*asked).and_then(|(_, flight)| flight.upgrade()) {
            self.counts.joined.inc();
            return Ok(flight);
        }
        if state.under_way >= self.terms.concurrent {
            self.counts.full.inc();
            return Err(Err(Down::Full));
        }
        let before = state.breaker.state();
        let admitted = state.breaker.admit(now);
        self.counts.went(before, state.breaker.state());
        let pass = admitted.map_err(|wait| {
            self.counts.open.inc();
            Err(Down::Open(wait))
        })?;
        state.under_way += 1;
        state.number += 1;
        self.counts.under_way.inc();
        let (asked, number): (Arc<str>, _) = (asked.into(), state.number);
        let begun = UnderWay {
            check: Arc::clone(self),
            asked: Arc::clone(&asked),
            number,
            pass: Some(pass),
        };
        let flight = begun.fly(self.caller.request(question)).boxed().shared();
        if let Some(weak) = flight.downgrade() {
            state.flights.insert(asked, (number, weak));
        }
        Ok(flight)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that was let through, until it is over or given up.
struct UnderWay {
    check: Arc<Check>,
    asked: Arc<str>,
    number: u64,
    /// Taken back by the breaker when it is known how the call ended.
    pass: Option<Pass>,
}

impl UnderWay {
    async fn fly(mut self, request: Request<Full<Bytes>>) -> CallResult {
        let check = Arc::clone(&self.check);
        let answer = timeout(check.terms.timeout, check.caller.call(request)).await;
        let answer = answer.unwrap_or(Err(Down::Slow));
        self.ended(&answer, Instant::now());
        answer
    }

    fn ended(&mut self, answer: &CallResult, now: Instant) {
        let Some(pass) = self.pass.take() else { return };
        let (terms, counts) = (&self.check.terms, &self.check.counts);
        let mut state = self.check.state();
        let before = state.breaker.state();
        match answer {
            Ok(said) => {
                let (count, keep) = match said {
                    Said::Yes(_) => (&counts.yes, terms.keep_yes),
                    Said::No(_) => (&counts.no, terms.keep_no),
                };
                count.inc();
                state.breaker.succeeded(pass);
                state.cache.keep(Arc::clone(&self.asked), said.clone(), now + keep, now);
            }
            Err(down) => {
                match down {
                    Down::Slow => counts.slow.inc(),
                    Down::Unreachable(_) => counts.unreachable.inc(),
                    Down::Wrong(_) => counts.wrong.inc(),
                    // Said before a call, never after one.
                    Down::Open(_) | Down::Full => 0,
                };
                state.breaker.failed(pass, now);
            }
        }
        let after = state.breaker.state();
        drop(state);
        counts.went(before, after);
        if before != after {
            self.check.says(after, answer);
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.check.state();
        state.under_way -= 1;
        self.check.counts.under_way.dec();
        if state.flights.get(&self.asked).is_some_and(|(number, _)| *number == self.number) {
            state.flights.remove(&self.asked);
        }
        if let Some(pass) = self.pass.take() {
            let before = state.breaker.state();
            state.breaker.gone(pass, Instant::now());
            self.check.counts.went(before, state.breaker.state());
        }
    }
}

impl Check {
    /// Writes to the log that the service went away, and why, or is back.
    fn says(&self, state: BreakerState, answer: &CallResult) {
        let campaign = &self.terms.campaign;
        match (state, answer) {
            (BreakerState::Open, Err(Down::Unreachable(why) | Down::Wrong(why))) => {
                log!(EligibilityUnknown, %campaign, "it is not known for now who may claim: {why}");
            }
            (BreakerState::Open, _) => {
                log!(EligibilityUnknown, %campaign, "it is not known for now who may claim: no answer in time");
            }
            (BreakerState::Closed | BreakerState::HalfOpen, _) => {
                log!(EligibilityKnown, %campaign, "it is known again who may claim");
            }
        }
    }
}

/// The checks of a server.
#[derive(Clone, Debug, Default)]
pub struct Checks(Vec<Arc<Check>>);

impl Checks {
    /// Takes checks.
    pub fn new(checks: Vec<Arc<Check>>) -> Self {
        Self(checks)
    }

    /// Returns the check of a campaign: its own, else the one with the longest beginning of its name.
    pub fn of(&self, campaign: &str) -> Option<&Arc<Check>> {
        let fits = self.0.iter().filter(|check| check.terms.campaign.has(campaign));
        fits.max_by_key(|check| match &check.terms.campaign {
            Scope::Campaign(_) => usize::MAX,
            Scope::Prefix(prefix) => prefix.len(),
        })
    }
}
