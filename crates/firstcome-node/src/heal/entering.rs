//! When a server begins a space in a shared store that has none.

use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a server looks before it makes a space: servers that run notice within a second that their store was emptied.
const LOOK_FOR: Duration = Duration::from_secs(3);
/// The pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The time in which a server looks whether one that runs marks the store as emptied.
#[derive(Debug)]
pub struct Looking {
    begun: Instant,
}

impl Looking {
    /// Begins it, before the store is asked for the first time.
    pub fn begin() -> Self {
        Self { begun: Instant::now() }
    }

    /// Waits until the store is to be asked again; says whether a space may be made then, unless it is marked.
    pub async fn may_make(&self) -> bool {
        let is_over = self.begun.elapsed() >= LOOK_FOR;
        if !is_over {
            sleep(LOOK_EVERY).await;
        }
        is_over
    }
}
