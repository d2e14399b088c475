//! Undoing an acquire whose answer was lost.

use std::sync::Arc;

use firstcome_store::StoreError;
use tokio::time::Instant;

use crate::backend::Backend;
use crate::backend::requests::{NotAfter, UndoAnswer};
use crate::error::Error;
use crate::keys::LockKeys;
use crate::owner::EntryGuard;
use firstcome_store::client::later;
use firstcome_store::client::pause;

/// Takes back what an acquire without an answer may have taken, until nothing of it can arrive any more; tells whether
/// there was something.
pub(crate) async fn undo(
    backend: Arc<Backend>,
    keys: Arc<LockKeys>,
    owner: String,
    keep: u64,
    not_after: NotAfter,
    give_up: Instant,
    // Nobody else may use the owner meanwhile: the holds to keep would be others.
    entry: Option<EntryGuard>,
) -> bool {
    let mut tries = 0;
    let mut taken_back = false;
    while Instant::now() < give_up {
        let wait = match backend.undo(&keys, &owner, keep, not_after).await {
            Ok(UndoAnswer::TakenBack) => {
                taken_back = true;
                break;
            }
            Ok(UndoAnswer::Nothing) => break,
            Ok(UndoAnswer::MayArrive(time)) => time,
            // Nothing that is asked again will be answered otherwise.
            Err(Error::Store(
                StoreError::Closed | StoreError::Denied { .. } | StoreError::WrongKind { .. },
            )) => {
                break;
            }
            Err(_) => pause(tries),
        };
        // By a store's clock that was set back it may arrive for a long time: nobody waits for that.
        tokio::time::sleep_until(later(Instant::now(), wait).min(give_up)).await;
        tries += 1;
    }
    drop(entry);
    taken_back
}
