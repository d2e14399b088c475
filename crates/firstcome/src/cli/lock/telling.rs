//! What happens to a lock or a term while its command runs, said on stderr.

use std::convert::Infallible;

use firstcome_lock::{Event, Events, Loss};

use super::super::terminal::out;

/// Prints events, as long as it is polled.
pub(super) async fn tell(events: &mut Events) -> Infallible {
    while let Some(event) = events.next().await {
        say(&event);
    }
    std::future::pending().await
}

/// Prints an event for the user: what was lost, what is late, and the state of the store.
pub(super) fn say(event: &Event) {
    match event {
        // By its own will, and not because the store was away.
        Event::TermLost { loss: Loss::GivenBack, silent, .. } if silent.is_zero() => {}
        Event::Lost { .. } | Event::TermLost { .. } => out::talk(format!("lost: {event}")),
        Event::RenewedLate { .. } => out::talk(format!("late: {event}")),
        Event::StoreSilent { .. } | Event::StoreBack { .. } | Event::Missed { .. } => {
            out::talk(format!("note: {event}"));
        }
        Event::Waiting { .. }
        | Event::Acquired { .. }
        | Event::Released { .. }
        | Event::TermWon { .. }
        | _ => {}
    }
}
