//! The durations that are possible, and adding them to a time.

use std::time::Duration;

use tokio::time::Instant;

use crate::failure::Failure;

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
) -> Result<Duration, Failure> {
    if (least..=most).contains(&given) {
        Ok(given)
    } else {
        Err(Failure::OutOfRange { what, given, least, most })
    }
}

/// Adds without overflow; a time too far away is a century away.
pub(crate) fn later(from: Instant, by: Duration) -> Instant {
    from.checked_add(by).unwrap_or_else(|| from + Duration::from_secs(3_155_760_000))
}
