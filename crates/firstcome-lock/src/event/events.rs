//! Reading the events of the locks of a client.

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::event::Event;
use crate::event::teller::{Teller, Told};
use crate::locks::Locks;

/// The events of the locks of one client, from its creation on: see [`Locks::events`].
///
/// Drop it to stop reading.
#[derive(Debug)]
pub struct Events {
    told: Receiver<Told>,
    /// Only events of the lock of this name, and of the store.
    only: Option<String>,
    ended: bool,
}

impl Events {
    /// Reads all events from now on, or those of the lock of one name and of the store.
    pub(crate) fn of(teller: &Teller, only: Option<String>) -> Self {
        // Asked after it listens: an end in between is in the channel.
        Self { told: teller.listen(), only, ended: teller.has_ended() }
    }

    /// Waits for the next event; `None` after the client was closed or dropped.
    ///
    /// A reader that is more than 256 events behind gets [`Event::Missed`] with their number, and continues with the oldest
    /// kept event. A slow reader never delays the client.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing is lost.
    pub async fn next(&mut self) -> Option<Event> {
        while !self.ended {
            match self.told.recv().await {
                Ok(Told::Event(event)) if self.wants(&event) => return Some(event),
                Ok(Told::Event(_)) => {}
                Err(RecvError::Lagged(events)) => return Some(Event::Missed { events }),
                Ok(Told::End) | Err(RecvError::Closed) => self.ended = true,
            }
        }
        None
    }

    fn wants(&self, event: &Event) -> bool {
        match (&self.only, event.name()) {
            (Some(only), Some(name)) => only == name,
            (Some(_), None) | (None, _) => true,
        }
    }
}

impl Locks {
    /// Returns the events of the locks and the elections of this client from now on, in order.
    ///
    /// There may be any number of readers; each gets all events. Without any reader, a lock costs one more read of an atomic
    /// number, and no event is kept. With readers, at most 256 events are kept for the slowest one.
    ///
    /// With the feature `tracing` the same events go to `tracing` with the target `firstcome_lock`.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), firstcome_lock::Error> {
    /// use firstcome_lock::{Event, Locks};
    ///
    /// let locks = Locks::memory();
    /// let mut events = locks.events();
    /// let reader = tokio::spawn(async move {
    ///     let mut lost = 0;
    ///     while let Some(event) = events.next().await {
    ///         match event {
    ///             Event::Lost { .. } => lost += 1,
    ///             Event::Acquired { name, waited, .. } => println!("{name} was had after {waited:?}"),
    ///             other => println!("{other}"),
    ///         }
    ///     }
    ///     lost
    /// });
    /// locks.mutex("stock")?.lock().await?.release().await?;
    /// locks.close().await;
    /// assert_eq!(reader.await.unwrap(), 0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn events(&self) -> Events {
        Events::of(&self.shared().teller, None)
    }
}
