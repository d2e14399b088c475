//! What every handle of one ShedLock client shares.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::ask::Ask;
use super::store::Store;
use crate::background_task::BackgroundTask;
use crate::backoff::Backoff;
use crate::durations::later;

/// The base of the pauses between looks for what a request whose answer was lost may have taken.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What every handle of one client shares.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) background: BackgroundTask,
    pub(super) closed: AtomicBool,
}

impl Shared {
    /// Frees what a request may have taken for nobody, until it was found or can hardly arrive any more.
    pub(super) async fn undo(self: Arc<Self>, ask: Ask, arrived: bool) {
        let hardly_after = later(ask.at, 2 * self.store.answer_within());
        let over_at = ask.over_at();
        for pause in Backoff::new(LOOK_AGAIN).pauses() {
            let looked_at = Instant::now();
            match self.store.undo(&ask).await {
                Ok(found) if found || arrived || looked_at >= hardly_after => return,
                Err(failure) if !failure.passes_by_itself() => return,
                Ok(_) | Err(_) => {}
            }
            if Instant::now() >= over_at {
                // It has ended by itself.
                return;
            }
            sleep(pause).await;
        }
    }
}
