use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

use crate::Failure;
use crate::hold::Hold;
use crate::keys::Keys;
use crate::shared::Shared;

/// Somebody who may hold the same lock several times.
///
/// Made by [`Locks::owner`](crate::Locks::owner) and given to [`Lock::owner`](crate::Lock::owner). Every lease taken
/// with it must be released before the lock is free. Without an owner of its own each acquire is somebody new, so a
/// task that takes a lock it already holds waits for itself.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), firstcome_lock::Failure> {
/// let locks = firstcome_lock::Locks::memory();
/// let me = locks.owner();
/// let outer = locks.lock("ledger")?.owner(&me).lock().await?;
/// let inner = locks.lock("ledger")?.owner(&me).lock().await?;
/// assert_eq!(outer.fence(), inner.fence());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Owner {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    id: String,
    client: String,
    seats: Mutex<HashMap<String, SharedSeat>>,
}

/// What an owner has of one lock; one request at a time.
pub(crate) type SharedSeat = Arc<tokio::sync::Mutex<Held>>;

#[derive(Debug, Default)]
pub(crate) struct Held {
    hold: Option<Arc<Hold>>,
    holds: u64,
}

impl Owner {
    pub(crate) fn new(client: &str, id: String) -> Self {
        let inner = Inner { id, client: client.to_owned(), seats: Mutex::default() };
        Self { inner: Arc::new(inner) }
    }

    /// Gives the owner as it stands in the store: the client's id, a colon, a number.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    /// Waits until no other request of this owner about this lock is under way, as long as one request may take.
    pub(crate) async fn sit_down(&self, shared: &Shared, keys: &Keys) -> Result<Seat, Failure> {
        if self.inner.client != shared.client {
            return Err(Failure::ForeignOwner);
        }
        let seat = {
            let mut seats = self.inner.seats.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(seats.entry(keys.name.clone()).or_default())
        };
        // An acquire of it without an answer is undone first, which may take as long as its lease.
        let pending = |_| Failure::Pending { name: keys.name.clone() };
        tokio::time::timeout(shared.backend.answer_within(), Seat::of(seat)).await.map_err(pending)
    }
}

/// The right to ask about one lock for one owner.
#[derive(Debug)]
pub(crate) struct Seat {
    shared: SharedSeat,
    held: OwnedMutexGuard<Held>,
}

impl Seat {
    pub(crate) async fn of(shared: SharedSeat) -> Self {
        let held = Arc::clone(&shared).lock_owned().await;
        Self { shared, held }
    }

    pub(crate) fn share(&self) -> SharedSeat {
        Arc::clone(&self.shared)
    }

    /// Gives the hold there is, if it can still be relied on.
    pub(crate) fn standing(&self) -> Option<Arc<Hold>> {
        self.held.hold.clone().filter(|hold| hold.is_valid())
    }

    /// Gives how many holds are known.
    pub(crate) fn holds(&self) -> u64 {
        if self.standing().is_some() { self.held.holds } else { 0 }
    }

    pub(crate) fn took(&mut self, hold: &Arc<Hold>, holds: u64) {
        if let Some(old) = self.held.hold.replace(Arc::clone(hold))
            && !Arc::ptr_eq(&old, hold)
        {
            // It was gone at the store, or this would have been the same one.
            old.lose(crate::Loss::Taken);
        }
        self.held.holds = holds;
    }

    pub(crate) fn gave_back(&mut self, left: u64) {
        self.held.holds = left;
        if left == 0 {
            self.held.hold = None;
        }
    }
}
