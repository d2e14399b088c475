//! What every handle of one ShedLock client shares.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use firstcome_store::client::{BackgroundTask, later, pause};
use tokio::time::{Instant, sleep};

use crate::ask::Ask;
use crate::store::Store;

/// What every handle of one client shares.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) background: BackgroundTask,
    pub(crate) closed: AtomicBool,
}

impl Shared {
    /// Frees what a request may have taken for nobody, until it was found or can hardly arrive any more.
    pub(crate) async fn undo(self: Arc<Self>, ask: Ask, arrived: bool) {
        let hardly_after = later(ask.at, 2 * self.store.answer_within());
        let over_at = ask.over_at();
        for tries in 0.. {
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
            sleep(pause(tries)).await;
        }
    }
}
