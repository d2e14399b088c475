//! Owners, which may hold the same lock several times.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use crate::error::Error;
use crate::keys::LockKeys;
use crate::lease::held_lock::HeldLock;
use crate::lease::loss::Loss;

/// An owner that may hold the same lock several times.
///
/// Create it with [`Locks::owner`](crate::Locks::owner) and pass it to [`Lock::owner`](crate::Lock::owner). Every lease taken
/// with it must be released before the lock is free. Without an `Owner` each acquire is a new owner, so a task that takes a
/// lock which it already holds waits for itself.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), firstcome_lock::Error> {
/// let locks = firstcome_lock::Locks::memory();
/// let me = locks.owner();
/// let outer = locks.mutex("ledger")?.owner(&me).lock().await?;
/// let inner = locks.mutex("ledger")?.owner(&me).lock().await?;
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
    entries: Mutex<HeldEntries>,
}

/// What an owner has of each lock.
#[derive(Debug, Default)]
struct HeldEntries {
    by_name: HashMap<String, SharedEntry>,
    /// How many were left when those of no use were forgotten last.
    left: usize,
}

/// How many entries of no use are kept at least.
const SPARE: usize = 16;

impl HeldEntries {
    /// Returns the entry of a lock. Where there are many, those of locks that it neither holds nor asks for are forgotten.
    fn of(&mut self, name: &str) -> SharedEntry {
        if self.by_name.len() > 2 * self.left + SPARE {
            self.by_name.retain(|_, entry| Arc::strong_count(entry) > 1 || may_hold(entry));
            self.left = self.by_name.len();
        }
        Arc::clone(self.by_name.entry(name.to_owned()).or_default())
    }
}

/// Says whether the lock of this entry is held, as far as is known, or is being requested.
fn may_hold(entry: &SharedEntry) -> bool {
    match entry.try_lock() {
        Ok(entry) => entry.held.as_ref().is_some_and(|held| held.is_valid()),
        Err(_) => true,
    }
}

/// What an owner has of one lock; one request at a time.
pub(crate) type SharedEntry = Arc<tokio::sync::Mutex<Entry>>;

#[derive(Debug, Default)]
pub(crate) struct Entry {
    held: Option<Arc<HeldLock>>,
    holds: u64,
}

impl Owner {
    pub(crate) fn new(client: &str, id: String) -> Self {
        let inner = Inner { id, client: client.to_owned(), entries: Mutex::default() };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the owner as stored: the client's id, a colon, a number.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    /// Says whether this owner holds the lock, as far as is known, or has an open request for it.
    pub(crate) fn may_hold(&self, keys: &LockKeys) -> bool {
        let entries = self.inner.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.by_name.get(&keys.name).is_some_and(may_hold)
    }

    /// Waits until no other request of this owner about this lock is under way, as long as one request may take.
    pub(crate) async fn lock_entry(
        &self,
        client: &str,
        keys: &LockKeys,
        within: Duration,
    ) -> Result<EntryGuard, Error> {
        if self.inner.client != client {
            return Err(Error::ForeignOwner);
        }
        let entry = {
            let mut entries = self.inner.entries.lock().unwrap_or_else(PoisonError::into_inner);
            entries.of(&keys.name)
        };
        // An acquire of it without an answer is undone first, which may take as long as its lease.
        let pending = |_| Error::Pending { name: keys.name.clone() };
        tokio::time::timeout(within, EntryGuard::of(entry)).await.map_err(pending)
    }
}

/// Exclusive access to an owner's entry of one lock; needed for each request about it.
#[derive(Debug)]
pub(crate) struct EntryGuard {
    shared: SharedEntry,
    entry: OwnedMutexGuard<Entry>,
}

impl EntryGuard {
    pub(crate) async fn of(shared: SharedEntry) -> Self {
        let entry = Arc::clone(&shared).lock_owned().await;
        Self { shared, entry }
    }

    pub(crate) fn share(&self) -> SharedEntry {
        Arc::clone(&self.shared)
    }

    /// Returns the lock that is held, if it can still be relied on.
    pub(crate) fn valid_lock(&self) -> Option<Arc<HeldLock>> {
        self.entry.held.clone().filter(|held| held.is_valid())
    }

    /// Returns how many holds are known.
    pub(crate) fn holds(&self) -> u64 {
        if self.valid_lock().is_some() { self.entry.holds } else { 0 }
    }

    /// Records what was taken, and how many times it is held.
    pub(crate) fn set(&mut self, held: &Arc<HeldLock>, holds: u64) {
        if let Some(old) = self.entry.held.replace(Arc::clone(held))
            && !Arc::ptr_eq(&old, held)
        {
            // It was gone at the store, or this would have been the same one.
            old.lose(Loss::Taken);
        }
        self.entry.holds = holds;
    }

    /// Records how many times it is held after a release.
    pub(crate) fn set_left(&mut self, left: u64) {
        self.entry.holds = left;
        if left == 0 {
            self.entry.held = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Locks;

    #[tokio::test]
    async fn locks_that_were_given_back_are_forgotten() {
        let locks = Locks::memory();
        let me = locks.owner();
        let take = async |name: &str| {
            let lock = locks.mutex(name).unwrap().owner(&me);
            lock.try_lock().await.unwrap().acquired().expect("it is free")
        };
        let kept = take("kept").await;
        take("leaked").await.leak();
        for number in 0..1000 {
            take(&format!("n{number}")).await.release().await.unwrap();
        }
        let left = me.inner.entries.lock().unwrap().by_name.len();
        assert!(left < 64, "{left}");
        let again = take("kept").await;
        assert_eq!(again.fence(), kept.fence());
        take("leaked").await.release().await.unwrap();
        assert_eq!(locks.inspect("leaked").await.unwrap().unwrap().holds, 1);
    }
}
