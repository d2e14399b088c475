//! The clock of stores that have none of their own.

use firstcome_core::Timestamp;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where a store without a clock of its own takes the time from: microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    /// Takes the time from the operating system.
    pub fn system() -> Self {
        Self::of(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
        })
    }

    /// Takes the time from a function, which tests set back and forward.
    pub fn of(micros: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(micros))
    }

    /// Returns the time now.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_micros((self.0)())
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}
