//! What all people of a load test were answered: counts by outcome, how long it took, and the newest position.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use firstcome_core::names::Position;

use crate::latency::Latency;
use crate::outage::Outages;

/// Why a request was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhyAgain {
    Unknown,
    Busy,
    Unreachable,
    Cut,
}

impl WhyAgain {
    fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Busy => "busy",
            Self::Unreachable => "away",
            Self::Cut => "cut",
        }
    }
}

/// Counts answers.
pub(crate) struct AnswerCounts {
    began: Instant,
    counts: Mutex<Counts>,
    latency: Mutex<Latency>,
    /// How long no server could be reached.
    pub(crate) outages: Outages,
    newest: Mutex<Option<Position>>,
}

/// Answers by their outcome, and requests that were sent again by why.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) answers: BTreeMap<String, u64>,
    pub(crate) again: BTreeMap<&'static str, u64>,
}

impl AnswerCounts {
    pub(crate) fn new(began: Instant) -> Self {
        Self {
            began,
            counts: Mutex::default(),
            latency: Mutex::default(),
            outages: Outages::default(),
            newest: Mutex::default(),
        }
    }

    /// When the load test began.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// Since the load test began.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn answered(&self, outcome: &str, due: Instant) {
        self.latency.lock().expect("nothing panics under this lock").record(due.elapsed());
        let mut counts = self.counts.lock().expect("nothing panics under this lock");
        match counts.answers.get_mut(outcome) {
            Some(count) => *count += 1,
            None => drop(counts.answers.insert(outcome.to_owned(), 1)),
        }
    }

    pub(crate) fn again(&self, why: WhyAgain) {
        let mut counts = self.counts.lock().expect("nothing panics under this lock");
        *counts.again.entry(why.as_str()).or_default() += 1;
    }

    pub(crate) fn as_of(&self, at: Position) {
        let mut newest = self.newest.lock().expect("nothing panics under this lock");
        let newer =
            newest.is_none_or(|known| (known.epoch, known.position) < (at.epoch, at.position));
        if newer {
            *newest = Some(at);
        }
    }

    pub(crate) fn newest(&self) -> Option<Position> {
        *self.newest.lock().expect("nothing panics under this lock")
    }

    /// Returns the counts so far.
    pub(crate) fn counts(&self) -> Counts {
        self.counts.lock().expect("nothing panics under this lock").clone()
    }

    /// Returns how long answers took so far.
    pub(crate) fn latency(&self) -> Latency {
        self.latency.lock().expect("nothing panics under this lock").clone()
    }
}
