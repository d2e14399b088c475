//! A checked request for one lock.

use std::time::Duration;

use firstcome_store::client::{later, safety_margin};
use tokio::time::Instant;

use crate::error::Error;
#[cfg(any(feature = "postgres", feature = "mysql"))]
use crate::time::client_now;
#[cfg(feature = "redis")]
use crate::time::millis;

/// The shortest *at most*: what is left of it after the margin must be worth something.
const LEAST: Duration = Duration::from_millis(50);

/// The longest: a hundred years.
const LONGEST: Duration = Duration::from_secs(3_155_760_000);

/// One lock of one holder, for how long, and since when.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) name: String,
    /// What stands in the store for this holder and for no other.
    pub(crate) locked_by: String,
    pub(crate) at_most: Duration,
    pub(crate) at_least: Duration,
    /// When it was asked for, on the clock that nobody sets.
    pub(crate) at: Instant,
    /// The same by this machine's clock, in milliseconds since 1970.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) client_ms: i64,
}

impl Ask {
    /// Asks now.
    ///
    /// The first of these that is wrong is said: *at most*, *at least*.
    pub(crate) fn new(
        name: &str,
        locked_by: String,
        at_most: Duration,
        at_least: Duration,
    ) -> Result<Self, Error> {
        within("lock_at_most_for", at_most, LEAST, LONGEST)?;
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

    /// Returns until when nobody else can have it, if the clock that counts runs as this one does.
    pub(crate) fn trusted_until(&self) -> Instant {
        later(self.at, self.at_most.saturating_sub(safety_margin(self.at_most)))
    }

    /// Returns when it has certainly ended by itself, if it was carried out by now.
    pub(crate) fn over_at(&self) -> Instant {
        later(Instant::now(), self.at_most)
    }

    /// Returns for how many milliseconds it stays taken when it is given back now.
    #[cfg(feature = "redis")]
    pub(crate) fn keep_ms(&self) -> i64 {
        millis(self.at_least).saturating_sub(millis(self.at.elapsed()))
    }
}

/// Checks that a duration is within what is possible.
fn within(
    what: &'static str,
    given: Duration,
    least: Duration,
    most: Duration,
) -> Result<(), Error> {
    if (least..=most).contains(&given) {
        Ok(())
    } else {
        Err(Error::OutOfRange { what, given, least, most })
    }
}
