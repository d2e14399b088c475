//! Reading what is told of the locks of a client.

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::event::Event;
use crate::locks::Locks;
use crate::teller::{Teller, Told};

/// What happens to the locks of one client, from when this was made: see [`Locks::events`].
///
/// Dropping it ends it.
#[derive(Debug)]
pub struct Events {
    told: Receiver<Told>,
    /// Only what is about the lock of this name, and about the store.
    only: Option<String>,
    ended: bool,
}

impl Events {
    /// Listens from now on to everything, or to what is about the lock of one name, and about the store.
    pub(crate) fn of(teller: &Teller, only: Option<String>) -> Self {
        // Asked after it listens: an end in between is in the channel.
        Self { told: teller.listen(), only, ended: teller.has_ended() }
    }

    /// Waits for the next event; `None` once the client is closed, or nobody has it any more.
    ///
    /// A reader that is more than 256 events behind is given [`Event::Missed`] with how many there were, and goes on with the
    /// oldest that is kept. Nobody ever waits for a reader.
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
    /// Gives what happens from now on to the locks and the elections of this client, in the order it is told.
    ///
    /// Any number may listen; each is given everything. It costs a lock one look at an atomic number where nobody has ever
    /// listened, and nothing is kept. Events are kept for the slowest reader, 256 at most.
    ///
    /// With the feature `tracing` the same is told as events of `tracing` with the target `firstcome_lock`.
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
