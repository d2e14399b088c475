//! A client of a store: it makes locks, owners and guards.

use std::sync::Arc;

use crate::error::Error;
use crate::fenced_value::FencedValue;
use crate::holder::Holder;
#[cfg(feature = "permits")]
use crate::keys::MOST_PERMITS;
use crate::keys::{Keys, Kind};
use crate::lock::Lock;
use crate::owner::Owner;
use crate::shared::Shared;

/// A client: one identity, one connection for requests, one for messages, one timer that renews.
///
/// Cheap to clone; all clones are the same client.
///
/// Must be made inside a tokio runtime, whose tasks hold its connections and renew its locks. It can be used from other
/// runtimes as long as that one lasts. When that one ends, so does the client: leases are renewed no more and are lost with
/// [`Loss::RanOut`](crate::Loss::RanOut), calls fail with [`Error::RuntimeEnded`]. So a client in a `static` belongs into a
/// runtime that lasts as long as the process; with a runtime for each test (`#[tokio::test]`), each needs a client of its own.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), firstcome_lock::Error> {
/// use firstcome_lock::Locks;
///
/// let locks = Locks::connect("redis://127.0.0.1:6379").await?;
/// let lease = locks.mutex("invoice:17")?.lock().await?;
/// // … only one process in the world is here …
/// lease.release().await?;
/// locks.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Locks {
    shared: Arc<Shared>,
}

impl Locks {
    pub(crate) fn of(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Gives the id of this client, the first part of each of its owners.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.shared.client
    }

    /// Gives the lock of this name: the same one as Redisson's `getLock`.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] for a name that is empty, longer than 4,096 bytes, or whose braces would split its keys over
    /// the slots of a cluster.
    pub fn mutex(&self, name: &str) -> Result<Lock, Error> {
        Lock::new(&self.shared, Kind::Plain, name)
    }

    /// Gives the fenced lock of this name: the same one as Redisson's `getFencedLock`.
    ///
    /// # Errors
    ///
    /// As [`Locks::mutex`].
    pub fn fenced(&self, name: &str) -> Result<Lock, Error> {
        Lock::new(&self.shared, Kind::Fenced, name)
    }

    /// Gives the token lock of this name: a string key as set by `SET NX PX`, as many languages use it.
    ///
    /// Nobody says when it is free, so those who wait ask again, see [`Lock::backoff`].
    ///
    /// # Errors
    ///
    /// As [`Locks::mutex`].
    pub fn token(&self, name: &str) -> Result<Lock, Error> {
        Lock::new(&self.shared, Kind::Token, name)
    }

    /// Gives the semaphore of this name, of which `permits` may be had together, 1 to 1,000: each is a [`Lease`](crate::Lease).
    ///
    /// A client that thinks of a smaller number waits until fewer are out; one that thinks of a larger one may take more.
    /// The fence of a permit tells in which order they were given; as several have one at a time, it is no use to a
    /// [`FencedValue`]. Semaphores are kept in databases only.
    ///
    /// # Errors
    ///
    /// As [`Locks::mutex`], and [`Error::Unfit`] for a number that is not possible, or where the store has none.
    #[cfg(feature = "permits")]
    pub fn semaphore(&self, name: &str, permits: u32) -> Result<Lock, Error> {
        if !(1..=MOST_PERMITS).contains(&permits) {
            return Err(Error::Unfit {
                what: "the number of permits",
                reason: format!("{permits} is not possible"),
                hint: "use 1 to 1000",
            });
        }
        self.permit(Kind::Semaphore { permits }, name)
    }

    /// Gives the place of a reader in the read/write lock of this name: up to 1,000 read together while nobody writes.
    ///
    /// Nobody who waits to write keeps readers out, so where they overlap without end, a writer waits without end; within a
    /// process it is served in its turn. A reader that asks to write waits for itself. Read/write locks are kept in
    /// databases only.
    ///
    /// # Errors
    ///
    /// As [`Locks::mutex`], and [`Error::Unfit`] where the store has none.
    #[cfg(feature = "permits")]
    pub fn read(&self, name: &str) -> Result<Lock, Error> {
        self.permit(Kind::Read, name)
    }

    /// Gives the place of the writer in the read/write lock of this name, who is alone: see [`Locks::read`].
    ///
    /// Its fence is higher than that of every reader and writer before.
    ///
    /// # Errors
    ///
    /// As [`Locks::read`].
    #[cfg(feature = "permits")]
    pub fn write(&self, name: &str) -> Result<Lock, Error> {
        self.permit(Kind::Write, name)
    }

    #[cfg(feature = "permits")]
    fn permit(&self, kind: Kind, name: &str) -> Result<Lock, Error> {
        if !self.shared.backend.has_permits() {
            return Err(Error::Unfit {
                what: "this store",
                reason: "it has neither semaphores nor read/write locks".to_owned(),
                hint: "use PostgreSQL, MariaDB or a SQLite file for them",
            });
        }
        Lock::new(&self.shared, kind, name)
    }

    /// Makes a new owner, who may hold the same lock several times.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner::new(&self.shared.client, self.shared.fresh_owner())
    }

    /// Gives a value in the store that only the newest owner of a lock can write.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] as for [`Locks::mutex`].
    pub fn fenced_value(&self, key: &str) -> Result<FencedValue, Error> {
        Keys::new(Kind::Plain, key)?;
        Ok(FencedValue::new(&self.shared, key))
    }

    /// Tells who holds the lock of this name, plain or fenced, or a token lock of this library; `None` where it is free.
    ///
    /// Token locks of others are asked for with [`Lock::inspect`].
    ///
    /// # Errors
    ///
    /// [`Error::Name`], [`Error::Store`]; there [`WrongKind`](crate::StoreError::WrongKind) for a key in Redis
    /// that is no lock.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn inspect(&self, name: &str) -> Result<Option<Holder>, Error> {
        self.shared.backend.inspect(&Keys::new(Kind::Plain, name)?).await
    }

    /// Frees the lock of this name whoever holds it, plain or fenced, or a token lock of this library; tells whether
    /// anybody did.
    ///
    /// A key in Redis that is no lock is left alone. Token locks of others are freed with [`Lock::force_release`].
    /// Its holder learns of it at its next renewal at the latest, with [`Loss::Taken`](crate::Loss::Taken); one with a
    /// fixed lease does not learn of it before that is used up. So this can make two of them: it is for operators
    /// who know that the holder is gone.
    ///
    /// # Errors
    ///
    /// As [`Locks::inspect`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: it may have happened.
    pub async fn force_release(&self, name: &str) -> Result<bool, Error> {
        self.shared.backend.force(&Keys::new(Kind::Plain, name)?).await
    }

    /// Lists the locks that are held, with who holds them, by name; `None` where the store keeps no list.
    ///
    /// A database does. A name longer than 190 bytes is listed shortened, with its SHA-256.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn held(&self) -> Result<Option<Vec<(String, Holder)>>, Error> {
        self.shared.backend.held().await
    }

    /// Gives how many tasks of this client wait for the lock of this name; for this crate's own tests.
    #[cfg(firstcome_lock_inject)]
    #[doc(hidden)]
    #[must_use]
    pub fn local_waiters(&self, name: &str) -> usize {
        Keys::new(Kind::Plain, name).map_or(0, |keys| self.shared.local_waiters.count(&keys.queue))
    }

    /// Tells whether whoever waits here asks again and again, because nobody says when a lock is free.
    #[must_use]
    pub fn polls(&self) -> bool {
        self.shared.backend.polls()
    }

    /// Gives back everything this client holds and ends it, for all clones.
    ///
    /// Those who wait get [`Error::Closed`], leases are lost with [`Loss::Closed`](crate::Loss::Closed) before their
    /// locks are given back, and what is under way or goes on in the background is waited for, but not longer than two
    /// requests may take: what a store that does not answer still has then ends with its lease. This is the only
    /// promise of a clean end: a client that is merely dropped finishes in the background, as long as the runtime
    /// lasts.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the end goes on, but nobody waits for it.
    pub async fn close(&self) {
        self.shared.close().await;
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}
