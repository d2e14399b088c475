//! The pause between tries to connect again.

use std::time::Duration;

/// How long to pause after so many failed tries: growing to a second, and never the same for two clients.
pub(crate) fn pause(tries: u32) -> Duration {
    let longest = 20_u64 << tries.min(6);
    Duration::from_millis(fastrand::u64(longest / 2..=longest.min(1000)))
}
