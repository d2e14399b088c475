//! What a client of locks is made of, whatever its store: a background task, an id, pauses and margins.

mod background_task;

pub use self::background_task::{BackgroundTask, RunToEnd};
use std::time::Duration;
use tokio::time::Instant;

/// How long to pause after so many failed tries: growing to a second, and never the same for two clients.
#[must_use]
pub fn pause(tries: u32) -> Duration {
    let longest = 20_u64 << tries.min(6);
    Duration::from_millis(fastrand::u64(longest / 2..=longest.min(1000)))
}

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

/// Returns the host's name as the operating system has it; `None` where it says none.
#[must_use]
pub fn host_name() -> Option<String> {
    let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = named.or_else(|| std::env::var("HOSTNAME").ok());
    named.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Makes a random UUID, version 4, of the operating system's random numbers.
///
/// What a process computes by itself would be the same in its copies, as a server that forks for each worker makes them.
///
/// # Panics
///
/// Panics where the operating system has no random numbers.
#[must_use]
pub fn random_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}
