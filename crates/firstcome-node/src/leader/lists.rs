//! Waitlists are gone on with at once.
//!
//! What one entry does not get done is left for the next ones, and until then nobody else gets what may be for those who wait.
//! So whoever leads appends such entries one after the other. Where nobody leads the ticks of all nodes do it, more slowly.

use crate::Intake;
use crate::task::{stopped, stopped_within};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The pause after an entry that could not be appended.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Appends an entry whenever the one before left work on waitlists.
pub(super) async fn run(intake: Arc<Intake>, mut stop: watch::Receiver<bool>) {
    let mut work = intake.replica.watch_list_work();
    while !*stop.borrow() {
        if *work.borrow_and_update() {
            let appended = tokio::select! {
                appended = intake.tick() => appended.is_ok(),
                () = stopped(&mut stop) => return,
            };
            if !appended && stopped_within(&mut stop, AFTER_FAILURE).await {
                return;
            }
            continue;
        }
        tokio::select! {
            changed = work.changed() => if changed.is_err() { return },
            () = stopped(&mut stop) => return,
        }
    }
}
