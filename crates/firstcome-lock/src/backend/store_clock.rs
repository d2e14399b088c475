//! An estimate of the store's clock, from its answers.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The store's clock as answers gave it.
#[derive(Debug, Default)]
pub(crate) struct StoreClock(Mutex<Option<Seen>>);

/// The clock as an answer gave it, and when that answer was asked for.
#[derive(Debug, Clone, Copy)]
struct Seen {
    store_us: i64,
    asked: Instant,
}

impl StoreClock {
    pub(crate) fn is_known(&self) -> bool {
        self.seen().is_some()
    }

    pub(crate) fn note(&self, store_us: i64, asked: Instant) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.is_none_or(|seen| seen.asked <= asked) {
            *seen = Some(Seen { store_us, asked });
        }
    }

    /// Returns the time on the store's clock, in µs, after which nobody waits for an answer to what is sent now; 0 where
    /// nothing is known of it.
    pub(crate) fn not_after(&self, answer_within: Duration) -> i64 {
        let Some(seen) = self.seen() else { return 0 };
        // The store's clock was read after the question was asked, so this is never too early; a hundredth makes
        // up for clocks that do not run at the same rate.
        let since = seen.asked.elapsed();
        let ahead = since + since / 100 + answer_within;
        seen.store_us.saturating_add(i64::try_from(ahead.as_micros()).unwrap_or(i64::MAX))
    }

    fn seen(&self) -> Option<Seen> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
