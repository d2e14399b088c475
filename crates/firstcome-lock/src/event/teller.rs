//! Reporting the events of the locks of a client, if there is a reader.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{Notify, broadcast};
use tokio::time::Instant;

use crate::event::Event;

/// How many events are kept for a reader that is behind.
pub(crate) const BEHIND: usize = 256;

/// What goes through the channel.
#[derive(Debug, Clone)]
pub(crate) enum Told {
    Event(Event),
    /// The client is closed, and nothing follows.
    End,
}

/// Reports events to readers.
///
/// A lease that runs out does so by the clock, and nobody may be looking: while somebody listens, [`crate::lease::watchdog`] looks when
/// the next one ends.
#[derive(Debug, Default)]
pub(crate) struct Teller {
    /// Created for the first reader.
    channel: OnceLock<broadcast::Sender<Told>>,
    ended: AtomicBool,
    /// When the next lease ends, as far as is known.
    look_at: Mutex<Option<Instant>>,
    /// Told when that became sooner.
    sooner: Notify,
}

impl Teller {
    /// Returns all events from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Told> {
        let channel = self.channel.get_or_init(|| broadcast::Sender::new(BEHIND));
        let told = channel.subscribe();
        // What is held already is looked at, too.
        self.ends_at(Instant::now());
        told
    }

    /// Says whether the client is closed: then there are no more events.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Tells whether anybody listens.
    fn is_heard(&self) -> bool {
        traced() || self.channel.get().is_some_and(|channel| channel.receiver_count() > 0)
    }

    /// Reports an event, which is built only if there is a reader.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if !self.is_heard() {
            return;
        }
        let event = event();
        #[cfg(feature = "tracing")]
        crate::event::trace::trace(&event);
        self.send(Told::Event(event));
    }

    /// Ends it for all readers.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.send(Told::End);
    }

    fn send(&self, told: Told) {
        if let Some(channel) = self.channel.get() {
            // It fails where nobody listens.
            channel.send(told).ok();
        }
    }

    fn look_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.look_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes leases checked when one ends at that time, if there is a reader.
    pub(crate) fn ends_at(&self, end: Instant) {
        if !self.is_heard() {
            return;
        }
        let mut look_at = self.look_at();
        if look_at.is_none_or(|known| end < known) {
            *look_at = Some(end);
            self.sooner.notify_one();
        }
    }

    /// Waits until a lease may have ended. Whoever looks then says with [`Teller::ends_at`] when the next one ends.
    ///
    /// Cancel safe.
    pub(crate) async fn look_due(&self) {
        loop {
            let look_at = *self.look_at();
            let due = async {
                match look_at {
                    Some(time) => tokio::time::sleep_until(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.sooner.notified() => {}
                () = due => {
                    *self.look_at() = None;
                    return;
                }
            }
        }
    }
}

/// Tells whether this process has any use for events of `tracing`.
#[cfg(feature = "tracing")]
fn traced() -> bool {
    tracing::level_filters::LevelFilter::current() != tracing::level_filters::LevelFilter::OFF
}

#[cfg(not(feature = "tracing"))]
const fn traced() -> bool {
    false
}
