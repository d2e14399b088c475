//! The stores that locks are kept in, behind one set of functions.

use std::time::Duration;

use crate::error::Error;
use crate::holder::Holder;
use crate::keys::Keys;
use crate::memory::Memory;
#[cfg(feature = "redis")]
use crate::redis::RedisBackend;
use crate::requests::{
    AcquireAnswer, NotAfter, Record, ReleaseAnswer, ReleaseRequest, RenewalAnswer, RenewalRequest,
    TogetherAnswer, Topic, UndoAnswer,
};
#[cfg(feature = "sql")]
use crate::sql::SqlBackend;
use crate::subscriber::Subscriber;

/// Where locks are stored.
#[derive(Debug)]
pub(crate) enum Backend {
    #[cfg(feature = "redis")]
    Redis(Box<RedisBackend>),
    #[cfg(feature = "sql")]
    Sql(Box<SqlBackend>),
    Memory(Memory),
}

impl Backend {
    /// Tells whether a release answers how many were told of it.
    pub(crate) fn counts_receivers(&self) -> bool {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(_) => true,
            #[cfg(feature = "sql")]
            Self::Sql(_) => false,
            Self::Memory(_) => false,
        }
    }
}

/// Calls the same function on whichever store it is.
macro_rules! on_either {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            #[cfg(feature = "redis")]
            Backend::Redis($store) => $call.await,
            #[cfg(feature = "sql")]
            Backend::Sql($store) => $call.await,
            Backend::Memory($store) => $call.await,
        }
    };
}

impl Backend {
    /// Waits until a request can be sent.
    pub(crate) async fn ready(&self) -> Result<(), Error> {
        on_either!(self, store => store.ready())
    }

    /// Asks once for a lock; one who `waits` is told of its release where that has to be asked for. With a failure of
    /// unknown effect comes the time until which it may still happen.
    pub(crate) async fn acquire(
        &self,
        keys: &Keys,
        owner: &str,
        lease: Duration,
        #[cfg_attr(not(feature = "sql"), expect(unused, reason = "others tell everybody"))]
        waits: bool,
    ) -> Result<AcquireAnswer, (Error, NotAfter)> {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.acquire(keys, owner, lease).await,
            #[cfg(feature = "sql")]
            Self::Sql(store) => store.acquire(keys, owner, lease, waits).await,
            Self::Memory(store) => store.acquire(keys, owner, lease).await,
        }
    }

    /// Tells whether several locks can be taken in one step.
    pub(crate) fn takes_several_at_once(&self) -> bool {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(_) => true,
            Self::Memory(_) => false,
            #[cfg(feature = "sql")]
            Self::Sql(_) => false,
        }
    }

    /// Asks once for several locks, of a store that takes them in one step.
    pub(crate) async fn acquire_together(
        &self,
        keys: &[&Keys],
        owner: &str,
        lease: Duration,
    ) -> Result<TogetherAnswer, (Error, NotAfter)> {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.acquire_together(keys, owner, lease).await,
            Self::Memory(_) => Err((Error::unexpected("a store that can do that"), NotAfter(0))),
            #[cfg(feature = "sql")]
            Self::Sql(_) => Err((Error::unexpected("a store that can do that"), NotAfter(0))),
        }
    }

    /// Waits until a hold that was just confirmed is on as many replicas as were asked for.
    pub(crate) async fn wait_for_replicas(
        &self,
        keys: &Keys,
        owner: &str,
        lease: Duration,
    ) -> Result<(), Error> {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.wait_for_replicas(keys, owner, lease).await,
            Self::Memory(_) => Ok(()),
            #[cfg(feature = "sql")]
            Self::Sql(_) => Ok(()),
        }
    }

    /// Tells whether the store always recognises a release that is sent again.
    pub(crate) fn recognises_releases(&self) -> bool {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(_) => true,
            Self::Memory(_) => true,
            // The next owner overwrites what shows it.
            #[cfg(feature = "sql")]
            Self::Sql(_) => false,
        }
    }

    /// Tells whether there are semaphores and read/write locks.
    #[cfg(feature = "permits")]
    pub(crate) fn has_permits(&self) -> bool {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(_) => false,
            Self::Memory(_) => false,
            #[cfg(feature = "sql")]
            Self::Sql(_) => true,
        }
    }

    /// Takes back what an acquire without an answer may have taken, down to `keep` holds.
    pub(crate) async fn undo(
        &self,
        keys: &Keys,
        owner: &str,
        keep: u64,
        not_after: NotAfter,
    ) -> Result<UndoAnswer, Error> {
        on_either!(self, store => store.undo(keys, owner, keep, not_after))
    }

    /// Gives back one hold.
    pub(crate) async fn release(&self, asked: ReleaseRequest<'_>) -> Result<ReleaseAnswer, Error> {
        on_either!(self, store => store.release(asked))
    }

    /// Passes a lock held once to the next owner, with word of those who still wait, and gives the new fence; `None`
    /// where it was not held so.
    pub(crate) async fn pass(
        &self,
        owner: &str,
        next_keys: &Keys,
        next: &str,
        lease: Duration,
        #[cfg_attr(not(feature = "sql"), expect(unused, reason = "others tell everybody"))]
        more_wait: bool,
    ) -> Result<Option<u64>, Error> {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.pass(owner, next_keys, next, lease).await,
            #[cfg(feature = "sql")]
            Self::Sql(store) => store.pass(owner, next_keys, next, lease, more_wait).await,
            Self::Memory(store) => store.pass(owner, next_keys, next, lease).await,
        }
    }

    /// Tells whether a release is said only where the store knows that somebody waits.
    pub(crate) fn tells_only_who_waits(&self) -> bool {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(_) => false,
            Self::Memory(_) => false,
            #[cfg(feature = "sql")]
            Self::Sql(_) => true,
        }
    }

    /// Renews, or with no lease only looks at, holds of one kind; tells for each whether it is still held.
    pub(crate) async fn renew(
        &self,
        holds: &[RenewalRequest<'_>],
        lease: Option<Duration>,
    ) -> Result<Vec<RenewalAnswer>, Error> {
        on_either!(self, store => store.renew(holds, lease))
    }

    /// Tells who holds a lock.
    pub(crate) async fn inspect(&self, keys: &Keys) -> Result<Option<Holder>, Error> {
        on_either!(self, store => store.inspect(keys))
    }

    /// Lists what is held, where there is a list.
    pub(crate) async fn held(&self) -> Result<Option<Vec<(String, Holder)>>, Error> {
        match self {
            #[cfg(feature = "sql")]
            Self::Sql(store) => store.held().await.map(Some),
            #[cfg(feature = "redis")]
            Self::Redis(_) => Ok(None),
            Self::Memory(_) => Ok(None),
        }
    }

    /// Tells whether nobody says when a lock is free.
    pub(crate) fn polls(&self) -> bool {
        match self {
            #[cfg(feature = "sql")]
            Self::Sql(store) => store.polls(),
            #[cfg(feature = "redis")]
            Self::Redis(_) => false,
            Self::Memory(_) => false,
        }
    }

    /// Frees a lock whoever holds it; tells whether anybody did.
    pub(crate) async fn force(&self, keys: &Keys) -> Result<bool, Error> {
        on_either!(self, store => store.force(keys))
    }

    /// Tells how long a key is taken for, without trying to take it; `None` where it is free.
    pub(crate) async fn taken_for(&self, keys: &Keys) -> Result<Option<Option<Duration>>, Error> {
        on_either!(self, store => store.taken_for(keys))
    }

    /// Subscribes; confirmed when this returns.
    pub(crate) async fn subscribe(&self, topic: Topic<'_>) -> Result<Subscriber, Error> {
        Ok(match self {
            #[cfg(feature = "redis")]
            Self::Redis(store) => Subscriber::Redis(store.listen(topic).await?),
            #[cfg(feature = "sql")]
            Self::Sql(store) => Subscriber::Sql(store.listen(topic).await?),
            Self::Memory(store) => Subscriber::Memory(store.listen(topic).await?),
        })
    }

    /// Removes release ids that nobody will send again, or what else nobody needs.
    pub(crate) async fn forget(&self, release_ids: Vec<String>) -> Result<(), Error> {
        on_either!(self, store => store.forget(release_ids))
    }

    /// Records who leads under which term, and tells those who watch.
    pub(crate) async fn announce(
        &self,
        name: &str,
        record: &Record,
        owner: &str,
    ) -> Result<(), Error> {
        on_either!(self, store => store.announce(name, record, owner))
    }

    /// Gives who leads, and how long whoever holds the lock has left without renewing.
    pub(crate) async fn leader(
        &self,
        name: &str,
    ) -> Result<(Option<Record>, Option<Duration>), Error> {
        on_either!(self, store => store.leader(name))
    }

    /// Writes a value under the protection of a fence; gives the fence in the way, if there is one.
    pub(crate) async fn guarded_write(
        &self,
        key: &str,
        fence: u64,
        owner: &str,
        value: &[u8],
    ) -> Result<Result<(), u64>, Error> {
        on_either!(self, store => store.guarded_write(key, fence, owner, value))
    }

    /// Waits until requests go over a new connection, which may lead to a server that knows less.
    pub(crate) async fn reconnected(&self, seen: &mut u64) {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.reconnected(seen).await,
            // A database does not forget what it committed; where a failover does, a new connection is no sign of it: those
            // of a pool come and go, and one who is at rest makes none.
            #[cfg(feature = "sql")]
            Self::Sql(_) => std::future::pending().await,
            Self::Memory(_) => std::future::pending().await,
        }
    }

    /// Gives how long one request may take.
    pub(crate) fn answer_within(&self) -> Duration {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.answer_within(),
            #[cfg(feature = "sql")]
            Self::Sql(store) => store.answer_within(),
            Self::Memory(_) => Duration::from_secs(3),
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.close().await,
            #[cfg(feature = "sql")]
            Self::Sql(store) => store.close().await,
            Self::Memory(_) => {}
        }
    }
}
