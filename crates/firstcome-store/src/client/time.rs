//! Adding durations to a time, and how much of a grant is not relied on.

use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between the end of trust in a grant and a grant of the store to another owner.
const LEAST_MARGIN: Duration = Duration::from_millis(20);

/// Adds without overflow; a time too far away is a century away.
#[must_use]
pub fn later(from: Instant, by: Duration) -> Instant {
    from.checked_add(by).unwrap_or_else(|| from + Duration::from_secs(3_155_760_000))
}

/// Returns how much of a grant of this length is not relied on: a tenth, at least 20 ms.
#[must_use]
pub fn safety_margin(length: Duration) -> Duration {
    (length / 10).max(LEAST_MARGIN)
}
