//! How often a database is asked for entries where nobody is notified.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The pause between two looks where nobody is notified: the shortest, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));

/// When there were entries last, where nobody is notified: looks are more seldom the longer there were none.
#[derive(Debug)]
pub(crate) struct PollPace(Mutex<Instant>);

impl PollPace {
    /// Begins as if there had been entries just now.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    /// Notes that there were entries just now.
    pub(crate) fn note_entries(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns the pause before the next look.
    pub(crate) fn pause(&self) -> Duration {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (last.elapsed() / 4).clamp(PAUSES.0, PAUSES.1)
    }
}
