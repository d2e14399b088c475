//! A client of a store: it creates locks, owners and guarded values.

use std::sync::Arc;

use crate::backend::holder::Holder;
use crate::error::Error;
use crate::fence::value::FencedValue;
#[cfg(feature = "permits")]
use crate::keys::MOST_PERMITS;
use crate::keys::{Kind, LockKeys};
use crate::lock::Lock;
use crate::owner::Owner;
use crate::shared::Shared;

/// A client: one identity, one connection for requests, one for messages, and one timer for renewals.
///
/// Cheap to clone; all clones are the same client.
///
/// Create it inside a tokio runtime: tasks of this runtime hold its connections and renew its locks. Other runtimes can use
/// it as long as this one lasts. When this runtime ends, the client ends too: leases are not renewed any more and are lost with
/// [`Loss::RanOut`](crate::Loss::RanOut), and calls fail with [`Error::RuntimeEnded`]. So create a client in a `static` in a
/// runtime that lasts as long as the process. If each test has its own runtime (`#[tokio::test]`), each needs its own client.
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

    /// Returns the id of this client, the first part of each of its owners.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.shared.client
    }

    /// Returns the lock of this name: the same one as Redisson's `getLock`.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] for a name that is empty, longer than 4,096 bytes, or whose braces would split its keys over
    /// the slots of a cluster.
    pub fn mutex(&self, name: &str) -> Result<Lock, Error> {
        Lock::new(&self.shared, Kind::Plain, name)
    }

    /// Returns the fenced lock of this name: the same one as Redisson's `getFencedLock`.
    ///
    /// # Errors
    ///
    /// As [`Locks::mutex`].
    pub fn fenced(&self, name: &str) -> Result<Lock, Error> {
        Lock::new(&self.shared, Kind::Fenced, name)
    }

    /// Returns the fair lock of this name, in Redis: who asks first gets it first, whatever the process, with Redisson's
    /// `getFairLock` as well.
    ///
    /// A waiter says every 5 s that it is there; a free lock waits up to 15 s for one that died, and up to 5 minutes for one of
    /// Redisson's. [`Lock::try_lock`] does not stand in line, and does not get a free lock that others wait for.
    ///
    /// # Errors
    ///
    /// As [`Locks::mutex`], and [`Error::Unfit`] if the store is not Redis.
    pub fn fair(&self, name: &str) -> Result<Lock, Error> {
        if !self.shared.backend.has_fair_locks() {
            return Err(Error::Unfit {
                what: "this store",
                reason: "it has no fair locks".to_owned(),
                hint: "use Redis for them, or a plain lock",
            });
        }
        Lock::new(&self.shared, Kind::Fair, name)
    }

    /// Returns the token lock of this name: a string key as set by `SET NX PX`, as many languages use it.
    ///
    /// It sends no message when it is free, so waiters poll: see [`Lock::backoff`].
    ///
    /// # Errors
    ///
    /// As [`Locks::mutex`].
    pub fn token(&self, name: &str) -> Result<Lock, Error> {
        Lock::new(&self.shared, Kind::Token, name)
    }

    /// Returns the semaphore of this name with `permits` permits, 1 to 1,000: each permit is a [`Lease`](crate::Lease).
    ///
    /// In Redis it is the same one as Redisson's `getSemaphore`. The number counts only where nobody has set another one before,
    /// as `trySetPermits` does. A permit of this client has an end, and comes back when its process dies; one of Redisson's does
    /// not.
    ///
    /// In a database all clients should use the same number: one with a smaller number waits until fewer permits are taken, and
    /// one with a larger number may take more.
    ///
    /// The fence of a permit shows the order in which permits were given. A [`FencedValue`] cannot use it, because there are
    /// several holders. Memory and NATS have no semaphores.
    ///
    /// # Errors
    ///
    /// As [`Locks::mutex`], and [`Error::Unfit`] for an impossible number, or if the store has no semaphores.
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

    /// Returns the read lock of this name: up to 1,000 readers at the same time, if there is no writer.
    ///
    /// A waiting writer does not stop new readers. If readers overlap without end, a writer of another process waits without
    /// end; in its own process it gets its turn. A reader that asks for the write lock waits for itself.
    ///
    /// In Redis it is the same one as Redisson's `getReadWriteLock`, and the name must not be that of another kind of lock. Memory
    /// and NATS have no read/write locks.
    ///
    /// # Errors
    ///
    /// As [`Locks::mutex`], and [`Error::Unfit`] if the store has no read/write locks.
    #[cfg(feature = "permits")]
    pub fn read(&self, name: &str) -> Result<Lock, Error> {
        self.permit(Kind::Read, name)
    }

    /// Returns the write lock of this name, for one writer alone: see [`Locks::read`].
    ///
    /// Its fence is higher than that of every earlier reader and writer.
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
                hint: "use Redis, PostgreSQL, MariaDB or a SQLite file for them",
            });
        }
        Lock::new(&self.shared, kind, name)
    }

    /// Creates a new owner, which may hold the same lock several times.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner::new(&self.shared.client, self.shared.fresh_owner())
    }

    /// Returns a value in the store that only the newest owner of a lock can write.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] as for [`Locks::mutex`].
    pub fn fenced_value(&self, key: &str) -> Result<FencedValue, Error> {
        LockKeys::new(Kind::Plain, key)?;
        Ok(FencedValue::new(&self.shared, key))
    }

    /// Returns the holder of the lock of this name: plain, fenced, or a token lock of this library; `None` if it is free.
    ///
    /// For token locks of other libraries use [`Lock::inspect`].
    ///
    /// # Errors
    ///
    /// [`Error::Name`], [`Error::Store`]; [`WrongKind`](crate::StoreError::WrongKind) in it for a key in Redis that is no
    /// lock.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn inspect(&self, name: &str) -> Result<Option<Holder>, Error> {
        self.shared.backend.inspect(&LockKeys::new(Kind::Plain, name)?).await
    }

    /// Frees the lock of this name, whoever holds it: plain, fenced, or a token lock of this library. Gives whether it was held.
    ///
    /// A key in Redis that is no lock is not changed. For token locks of other libraries use [`Lock::force_release`]. The
    /// holder gets [`Loss::Taken`](crate::Loss::Taken) at its next renewal at the latest; with a fixed lease not before its
    /// end. So there may be two owners: use this only if you know that the holder is gone.
    ///
    /// # Errors
    ///
    /// As [`Locks::inspect`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: it may have happened.
    pub async fn force_release(&self, name: &str) -> Result<bool, Error> {
        self.shared.backend.force(&LockKeys::new(Kind::Plain, name)?).await
    }

    /// Lists the held locks with their holders, by name; `None` if the store has no list.
    ///
    /// A database has one. A name longer than 190 bytes is shortened, with its SHA-256.
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

    /// Returns how many tasks of this client wait for the lock of this name; for this crate's own tests.
    #[cfg(feature = "inject")]
    #[doc(hidden)]
    #[must_use]
    pub fn local_waiters(&self, name: &str) -> usize {
        LockKeys::new(Kind::Plain, name)
            .map_or(0, |keys| self.shared.local_waiters.count(&keys.queue))
    }

    /// Says whether waiters poll, because the store sends no message when a lock is free.
    #[must_use]
    pub fn polls(&self) -> bool {
        self.shared.backend.polls()
    }

    /// Releases everything that this client holds, and ends the client, for all clones.
    ///
    /// Waiters get [`Error::Closed`]. Leases are lost with [`Loss::Closed`](crate::Loss::Closed) before their locks are
    /// released. Open requests and background work are awaited, but not longer than the time of two requests. If the store does
    /// not answer, the remaining locks end with their leases. Only this promises a clean end: a client that is just dropped
    /// finishes in the background, as long as the runtime lasts.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the client still ends, but nothing waits for it.
    pub async fn close(&self) {
        self.shared.close().await;
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}
