//! A checked request for one lock.

use std::time::Duration;

use tokio::time::Instant;

#[cfg(any(feature = "postgres", feature = "mysql"))]
use super::time::client_now;
use super::time::millis;
use crate::durations::{LEAST_LEASE, LONGEST, later, within};
use crate::failure::Failure;

/// The least that trust ends before the lock can be anybody's.
const LEAST_MARGIN: Duration = Duration::from_millis(20);

/// One lock of one holder, for how long, and since when.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) name: String,
    /// What stands in the store for this holder and for no other.
    pub(super) locked_by: String,
    pub(super) at_most: Duration,
    pub(super) at_least: Duration,
    /// When it was asked for, on the clock that nobody sets.
    pub(super) at: Instant,
    /// The same by this machine's clock, in milliseconds since 1970.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) client_ms: i64,
}

impl Ask {
    /// Asks now.
    ///
    /// The first of these that is wrong is said: *at most*, *at least*.
    pub(super) fn new(
        name: &str,
        locked_by: String,
        at_most: Duration,
        at_least: Duration,
    ) -> Result<Self, Failure> {
        within("lock_at_most_for", at_most, LEAST_LEASE, LONGEST)?;
        within("lock_at_least_for", at_least, Duration::ZERO, at_most)?;
        Ok(Self {
            name: name.to_owned(),
            locked_by,
            at_most,
            at_least,
            at: Instant::now(),
            #[cfg(any(feature = "postgres", feature = "mysql"))]
            client_ms: client_now(),
        })
    }

    /// Gives until when nobody else can have it, if the clock that counts runs as this one does.
    pub(super) fn trusted_until(&self) -> Instant {
        let margin = (self.at_most / 10).max(LEAST_MARGIN);
        later(self.at, self.at_most.saturating_sub(margin))
    }

    /// Gives when it has certainly ended by itself, if it was carried out by now.
    pub(super) fn over_at(&self) -> Instant {
        later(Instant::now(), self.at_most)
    }

    /// Gives for how many milliseconds it stays taken when it is given back now.
    pub(super) fn keep_ms(&self) -> i64 {
        millis(self.at_least).saturating_sub(millis(self.at.elapsed()))
    }
}
