//! The durations that are possible.

use std::time::Duration;

use crate::error::Error;

/// The shortest lease: what is left of it after the margin must be worth something.
pub(crate) const LEAST_LEASE: Duration = Duration::from_millis(50);

/// The longest lease and the longest wait: a hundred years.
pub(crate) const LONGEST: Duration = Duration::from_secs(3_155_760_000);

/// Checks that a duration is within what is possible.
pub(crate) fn within(
    what: &'static str,
    given: Duration,
    least: Duration,
    most: Duration,
) -> Result<Duration, Error> {
    if (least..=most).contains(&given) {
        Ok(given)
    } else {
        Err(Error::OutOfRange { what, given, least, most })
    }
}

/// For how long a waiter for a fair lock is waited for that does not ask again: so long one that died may keep the others from a free
/// lock.
#[cfg(feature = "redis")]
pub(crate) const WAITED_FOR: Duration = Duration::from_secs(15);
