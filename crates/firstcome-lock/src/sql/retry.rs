//! How a step comes again that was in the way of another one.

use std::time::Duration;

/// How often a step is sent again after a conflict with another step.
pub(super) const TRIES: u32 = 20;

/// Waits for a moment, so that another step about the same row is over.
pub(super) async fn pause() {
    tokio::time::sleep(Duration::from_micros(fastrand::u64(200..3000))).await;
}
