//! A record of every answer, with when it was asked for and when it came.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::answers::AnswerCounts;

/// Every answer so far.
#[derive(Debug, Default)]
pub(crate) struct Record<A> {
    /// The answers of this kind of visit.
    pub(crate) answers: A,
    /// Requests that were answered otherwise when they were repeated.
    pub(crate) changed: Vec<String>,
    pub(crate) repeats: u64,
    /// Whether something may have happened that is not recorded: the load test was cut short, or an answer came when it
    /// was over and nothing is known of it any more.
    pub(crate) incomplete: bool,
    pub(crate) gone: u32,
}

/// Records every answer.
pub(crate) struct Recorder<A> {
    record: Mutex<Record<A>>,
    counted: Arc<AnswerCounts>,
}

impl<A: Default> Recorder<A> {
    pub(super) fn new(counted: Arc<AnswerCounts>) -> Self {
        Self { record: Mutex::default(), counted }
    }

    /// Since the load test began.
    pub(crate) fn now(&self) -> Duration {
        self.counted.now()
    }

    /// The moment so long after the load test began.
    pub(crate) fn moment(&self, after: Duration) -> Instant {
        self.counted.began() + after
    }

    pub(crate) fn record(&self) -> MutexGuard<'_, Record<A>> {
        self.record.lock().expect("nothing panics under this lock")
    }

    pub(crate) fn repeated(&self, difference: Option<String>) {
        let mut record = self.record();
        record.repeats += 1;
        record.changed.extend(difference);
    }

    /// Takes the record out.
    pub(super) fn end(&self) -> Record<A> {
        std::mem::take(&mut *self.record())
    }
}
