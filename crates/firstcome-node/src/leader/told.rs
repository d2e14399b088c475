//! What this node's own election tells: counted, and said in the log where an operator should see it.

use crate::event::Event;
use crate::metrics::Metrics;
use crate::says::Speaker;
use firstcome_lock::{Event as Told, Events, Loss};
use std::sync::Arc;

/// Counts and says what is told, until the lock client is closed.
///
/// What is missed is not counted: that would need hundreds of events between two turns of this task.
pub(super) async fn tell(mut events: Events, metrics: Arc<Metrics>, speaker: Speaker) {
    while let Some(told) = events.next().await {
        let event = match &told {
            Told::TermWon { .. } => {
                metrics.terms_won.inc();
                continue;
            }
            Told::TermLost { loss, .. } => {
                metrics.term_lost(loss.as_str());
                if *loss == Loss::GivenBack {
                    continue;
                }
                Event::TermLost
            }
            Told::RenewedLate { .. } => {
                metrics.renewals_late.inc();
                Event::RenewalLate
            }
            Told::StoreSilent { .. } => Event::LockStoreSilent,
            Told::StoreBack { .. } => Event::LockStoreBack,
            // Of the lock itself the term says everything.
            Told::Waiting { .. }
            | Told::Acquired { .. }
            | Told::Lost { .. }
            | Told::Released { .. }
            | Told::Missed { .. }
            | _ => continue,
        };
        speaker.say(event, &format!("the leader's lock: {told}"));
    }
}
