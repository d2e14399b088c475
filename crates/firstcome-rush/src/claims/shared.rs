//! What all connections of a load test on claims share.

use std::sync::Mutex;

use super::checker::Checker;
use super::plan::Plan;
use super::sequence::Sequence;
use crate::error::LoadError;
use crate::latency::Latency;
use crate::outage::Outages;

/// What all connections share.
pub(super) struct Shared {
    pub(super) plan: Plan,
    pub(super) sequence: Mutex<Sequence>,
    pub(super) checker: Checker,
    pub(super) outages: Outages,
    pub(super) latencies: Vec<Mutex<Latencies>>,
    pub(super) stop: Mutex<Option<LoadError>>,
}

/// How long answers took from when each request was due.
#[derive(Default)]
pub(super) struct Latencies {
    pub(super) all: Latency,
    pub(super) won: Latency,
}

/// Latencies are kept in so many parts, so that connections rarely wait for each other to record one.
pub(super) const LATENCY_PARTS: usize = 8;

impl Shared {
    /// Ends the load test early; the first reason is kept.
    pub(super) fn end(&self, reason: LoadError) {
        let mut stop = self.stop.lock().expect("a connection does not panic while it holds this");
        stop.get_or_insert(reason);
        self.plan.pace.finish();
    }
}
