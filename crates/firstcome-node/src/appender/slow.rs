//! The log line about batches that took long, once a minute at most.

use crate::event::log;
use std::time::Duration;
use tokio::time::Instant;

/// How long a batch may take, from the moment it is gathered until its entry is applied here.
const SLOW: Duration = Duration::from_millis(500);
/// The least time between two lines.
const EVERY: Duration = Duration::from_secs(60);

/// The slow batches that no line told of yet.
#[derive(Debug, Default)]
pub(crate) struct SlowBatches {
    said: Option<Instant>,
    untold: u64,
}

impl SlowBatches {
    /// Notes how long a batch took; says so if it is slow and nothing was said for a minute.
    pub(crate) fn saw(&mut self, commands: usize, took: Duration) {
        if took < SLOW {
            return;
        }
        self.untold += 1;
        let now = Instant::now();
        if self.said.is_some_and(|said| now - said < EVERY) {
            return;
        }
        let (slow, took_ms) = (self.untold, took.as_millis() as u64);
        log!(SlowBatch, commands, took_ms, slow, "a batch took long to be in the journal");
        (self.said, self.untold) = (Some(now), 0);
    }
}
