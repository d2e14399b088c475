//! What happens to a lock or a term while its command runs, said on stderr.

use std::convert::Infallible;

use firstcome_lock::{Event, Events};

use super::super::out;

/// Says what is told, for as long as it is polled.
pub(super) async fn tell(events: &mut Events) -> Infallible {
    while let Some(event) = events.next().await {
        say(&event);
    }
    std::future::pending().await
}

/// Says an event, where it is no news to whoever started this.
pub(super) fn say(event: &Event) {
    match event {
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
