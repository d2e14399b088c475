//! The same events as events of `tracing`, with the target `firstcome_lock`.

use std::time::Duration;

use tracing::{debug, info, warn};

use crate::event::Event;

/// What they are filtered by.
const TARGET: &str = "firstcome_lock";

/// Tells an event.
///
/// Each has the field `event`, its stable name; times are whole milliseconds.
pub(crate) fn trace(event: &Event) {
    let kind = event.as_str();
    match event {
        Event::Waiting { name } => debug!(target: TARGET, event = kind, name, "{event}"),
        Event::Acquired { name, fence, waited } => {
            let (fence, waited_ms) = (fence.get(), millis(*waited));
            debug!(target: TARGET, event = kind, name, fence, waited_ms, "{event}");
        }
        Event::RenewedLate { name, fence, late, silent } => {
            let (fence, late_ms, silent_ms) = (fence.get(), millis(*late), millis(*silent));
            warn!(target: TARGET, event = kind, name, fence, late_ms, silent_ms, "{event}");
        }
        Event::Lost { name, fence, loss, silent } => {
            let (fence, loss, silent_ms) = (fence.get(), loss.as_str(), millis(*silent));
            warn!(target: TARGET, event = kind, name, fence, loss, silent_ms, "{event}");
        }
        Event::Released { name, fence, released } => {
            let released = released.map_or("unknown", |released| released.as_str());
            debug!(target: TARGET, event = kind, name, fence = fence.get(), released, "{event}");
        }
        Event::TermWon { election, node, term } => {
            info!(target: TARGET, event = kind, election, node, term = term.get(), "{event}");
        }
        Event::TermLost { election, node, term, loss, silent } => {
            let (term, loss, silent_ms) = (term.get(), loss.as_str(), millis(*silent));
            info!(target: TARGET, event = kind, election, node, term, loss, silent_ms, "{event}");
        }
        Event::StoreSilent { silent } => {
            warn!(target: TARGET, event = kind, silent_ms = millis(*silent), "{event}");
        }
        Event::StoreBack { silent } => {
            info!(target: TARGET, event = kind, silent_ms = millis(*silent), "{event}");
        }
        // It is about one reader, and told to nobody else.
        Event::Missed { .. } => {}
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
