//! Telling what happens to the locks of a client, where somebody listens.

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

/// Tells events to those who listen.
///
/// A lease that runs out does so by the clock, and nobody may be looking: while somebody listens, [`crate::watchdog`] looks when
/// the next one ends.
#[derive(Debug, Default)]
pub(crate) struct Teller {
    /// Made for the first who listens.
    channel: OnceLock<broadcast::Sender<Told>>,
    ended: AtomicBool,
    /// When the next lease ends, as far as is known.
    look_at: Mutex<Option<Instant>>,
    /// Told when that became sooner.
    sooner: Notify,
}

impl Teller {
    /// Gives everything that is told from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Told> {
        let channel = self.channel.get_or_init(|| broadcast::Sender::new(BEHIND));
        let told = channel.subscribe();
        // What is held already is looked at, too.
        self.ends_at(Instant::now());
        told
    }

    /// Tells whether the client is closed, so that nothing is told any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Tells whether anybody listens.
    fn is_heard(&self) -> bool {
        traced() || self.channel.get().is_some_and(|channel| channel.receiver_count() > 0)
    }

    /// Tells an event, which is put together only where somebody listens.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if !self.is_heard() {
            return;
        }
        let event = event();
        #[cfg(feature = "tracing")]
        crate::trace::trace(&event);
        self.send(Told::Event(event));
    }

    /// Ends it for everybody who listens.
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

    /// Has leases looked at when one ends then, where somebody listens.
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
