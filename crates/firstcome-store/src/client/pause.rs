//! The pause between tries.

use std::time::Duration;

/// How long to pause after so many failed tries: growing to a second, and never the same for two clients.
#[must_use]
pub fn pause(tries: u32) -> Duration {
    let longest = 20_u64 << tries.min(6);
    Duration::from_millis(fastrand::u64(longest / 2..=longest.min(1000)))
}
