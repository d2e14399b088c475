//! Numbers as columns hold them: request ids, microseconds, and fences.

use std::time::Duration;

/// Makes the id of a request: even, so that a store may write the next one for a second hold.
pub(super) fn request_id() -> i64 {
    fastrand::i64(1..i64::MAX / 4) * 2
}

/// Shortens the id of a request that may be sent again.
pub(super) fn short_id(request: u128) -> i64 {
    let low = i64::try_from(request % (1 << 61)).unwrap_or(1);
    low.max(1) * 2
}

pub(super) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX / 4).min(i64::MAX / 4)
}

/// Writes a number into a column; none of those that are minted is as large as the largest.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
