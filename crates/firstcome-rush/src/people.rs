//! The engine of the load tests in which people come one after the other.
//!
//! `run` lets them come when they are due, whether the server keeps up or not; each behaves as the kind of visit says
//! (`Visit`). Every answer is recorded. At the end the results are read, and everything is compared with the promises.
//! Nothing is trusted that the server says about itself.

mod answers;
mod connections;
mod record;
mod report;
mod results;
mod run;
#[cfg(test)]
pub(crate) mod tests;
mod visit;

pub(crate) use connections::{Answer, Connections};
use firstcome_api::key::Secret;
use firstcome_client::Server;
pub(crate) use record::{Record, Recorder};
pub use report::Report;
pub(crate) use results::{CampaignCounts, PersonResult, PoolCounts, all_results};
#[cfg(test)]
pub(crate) use run::come;
pub(crate) use run::run;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;
pub(crate) use visit::{Person, Visit, text};

/// How it is going.
#[derive(Debug, Clone)]
pub struct Progress<D> {
    /// Since the load test began.
    pub elapsed: Duration,
    /// How many people come.
    pub people: u32,
    /// How many have come.
    pub came: u32,
    /// How many have gone home.
    pub gone: u32,
    /// What they have got so far.
    pub done: D,
    /// How long no server could be reached by now, if none can.
    pub outage: Option<Duration>,
    /// Answers by their outcome; `looked` are looks at the map.
    pub answers: BTreeMap<String, u64>,
}

/// Called about ten times a second; after [`ControlFlow::Break`] nobody else comes.
pub type Observer<'a, D> = dyn FnMut(&Progress<D>) -> ControlFlow<()> + Send + 'a;

/// The promises of a kind of visit.
pub(crate) trait Promises: Copy + 'static {
    /// Those that a report shows, in its order.
    const SHOWN: &'static [Self];

    /// A stable name.
    fn name(self) -> &'static str;

    /// The name of the one under which a report shows it.
    fn shown_as(self) -> &'static str {
        self.name()
    }
}

/// A broken promise and what shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The name of the promise.
    pub(crate) promise: &'static str,
    /// The name of the one under which a report shows it.
    pub(crate) shown_as: &'static str,
    pub(crate) evidence: String,
}

impl Violation {
    pub(crate) fn new(promise: impl Promises, evidence: String) -> Self {
        Self { promise: promise.name(), shown_as: promise.shown_as(), evidence }
    }
}

/// Collects what is broken.
#[derive(Default)]
pub(crate) struct Found(pub(crate) Vec<Violation>);

impl Found {
    pub(crate) fn add(&mut self, promise: impl Promises, evidence: String) {
        self.0.push(Violation::new(promise, evidence));
    }
}

/// What a load test of people is to do; everything random in it follows from the seed.
#[derive(Debug)]
pub struct Plan<V> {
    /// The servers, all of one space; a connection that loses its server goes on to the next.
    pub servers: Vec<Server>,
    /// The key every request carries.
    pub key: Option<Secret>,
    pub campaign: String,
    pub pool: String,
    /// What people want and do there.
    pub visit: V,
    /// How many people come.
    pub people: u32,
    /// How many of them come in a second; all at once without.
    pub per_second: Option<f64>,
    /// How long they think before they pay, on average.
    pub think: Duration,
    /// The share of requests that are cut off right after sending, and sent again, 0 to 1.
    pub cut: f64,
    /// What every subject's name begins with.
    pub prefix: String,
    /// How many connections they share.
    pub connections: usize,
    pub seed: u64,
    /// How long one request is sent again before the load test gives up.
    pub patience: Duration,
    /// How much later than this side knows a hold or a reservation may end on the other: service time may stand still for
    /// a while.
    pub slack: Duration,
    /// Whether nobody else asks in this pool, and all of it is for sale: then every result belongs to an answer, and what
    /// is left, taken and blocked is all there is.
    pub alone: bool,
}
