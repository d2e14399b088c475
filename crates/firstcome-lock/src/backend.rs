//! The stores that locks are kept in, behind one set of functions.

pub(crate) mod ask;
pub(crate) mod contact;
pub(crate) mod holder;
pub(crate) mod requests;
pub(crate) mod store_clock;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backend::contact::Contact;
use crate::backend::holder::Holder;
use crate::backend::requests::{
    AcquireAnswer, NotAfter, Record, ReleaseAnswer, ReleaseRequest, RenewalAnswer, RenewalRequest,
    TogetherAnswer, Topic, UndoAnswer,
};
use crate::error::Error;
use crate::event::teller::Teller;
use crate::keys::LockKeys;
use crate::memory::Memory;
#[cfg(feature = "redis")]
use crate::redis::RedisBackend;
#[cfg(feature = "sql")]
use crate::sql::SqlBackend;
use crate::wait::subscriber::Subscriber;

/// Where locks are stored.
#[derive(Debug)]
pub(crate) enum LockStore {
    #[cfg(feature = "redis")]
    Redis(Box<RedisBackend>),
    #[cfg(feature = "sql")]
    Sql(Box<SqlBackend>),
    Memory(Memory),
}

/// The store of one client, and when it answered last.
#[derive(Debug)]
pub(crate) struct Backend {
    store: LockStore,
    contact: Contact,
}

impl Backend {
    pub(crate) fn new(store: LockStore, teller: &Arc<Teller>) -> Self {
        Self { store, contact: Contact::new(teller) }
    }

    /// Returns when the store answered last.
    pub(crate) fn contact(&self) -> &Contact {
        &self.contact
    }

    /// Says whether the answer to a release has the number of notified subscribers.
    pub(crate) fn counts_receivers(&self) -> bool {
        match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(_) => true,
            #[cfg(feature = "sql")]
            LockStore::Sql(_) => false,
            LockStore::Memory(_) => false,
        }
    }
}

/// Calls the same function on whichever store it is.
macro_rules! on_either {
    ($self:ident, $store:ident => $call:expr) => {
        match &$self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis($store) => $call.await,
            #[cfg(feature = "sql")]
            LockStore::Sql($store) => $call.await,
            LockStore::Memory($store) => $call.await,
        }
    };
}

/// Asks whichever store it is, and notes whether it answered.
macro_rules! ask {
    ($self:ident, $store:ident => $call:expr) => {{
        let sent = Instant::now();
        let answer = on_either!($self, $store => $call);
        $self.contact.note(sent, answer.as_ref().err());
        answer
    }};
}

impl Backend {
    /// Waits until a request can be sent.
    pub(crate) async fn ready(&self) -> Result<(), Error> {
        on_either!(self, store => store.ready())
    }

    /// Asks once for a lock; a caller that `waits` gets a message about its release, if that must be requested. With a failure of
    /// unknown effect comes the time until which it may still happen.
    pub(crate) async fn acquire(
        &self,
        keys: &LockKeys,
        owner: &str,
        lease: Duration,
        #[cfg_attr(
            not(any(feature = "redis", feature = "sql")),
            expect(unused, reason = "others tell everybody")
        )]
        waits: bool,
    ) -> Result<AcquireAnswer, (Error, NotAfter)> {
        let sent = Instant::now();
        let answer = match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(store) => store.acquire(keys, owner, lease, waits).await,
            #[cfg(feature = "sql")]
            LockStore::Sql(store) => store.acquire(keys, owner, lease, waits).await,
            LockStore::Memory(store) => store.acquire(keys, owner, lease).await,
        };
        self.contact.note(sent, answer.as_ref().err().map(|(failure, _)| failure));
        answer
    }

    /// Tells whether several locks can be taken in one step.
    pub(crate) fn takes_several_at_once(&self) -> bool {
        match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(_) => true,
            LockStore::Memory(_) => false,
            #[cfg(feature = "sql")]
            LockStore::Sql(_) => false,
        }
    }

    /// Tells whether there are fair locks.
    pub(crate) fn has_fair_locks(&self) -> bool {
        // They need one script for a step, too.
        self.takes_several_at_once()
    }

    /// Returns until when, on the store's clock, a request that is sent now may take effect; in a store that has fair locks.
    #[cfg(feature = "redis")]
    pub(crate) fn last_moment(&self, keys: &LockKeys) -> NotAfter {
        match &self.store {
            LockStore::Redis(store) => store.last_moment(keys),
            LockStore::Memory(_) => NotAfter(0),
            #[cfg(feature = "sql")]
            LockStore::Sql(_) => NotAfter(0),
        }
    }

    /// Tells holds apart that cannot be renewed with one request.
    pub(crate) fn slot_of(
        &self,
        #[cfg_attr(not(feature = "redis"), expect(unused, reason = "others have no slots"))]
        keys: &LockKeys,
    ) -> u16 {
        match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(store) => store.slot_of(keys),
            LockStore::Memory(_) => 0,
            #[cfg(feature = "sql")]
            LockStore::Sql(_) => 0,
        }
    }

    /// Asks once for several locks, of a store that takes them in one step.
    pub(crate) async fn acquire_together(
        &self,
        keys: &[&LockKeys],
        owner: &str,
        lease: Duration,
    ) -> Result<TogetherAnswer, (Error, NotAfter)> {
        match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(store) => {
                let sent = Instant::now();
                let answer = store.acquire_together(keys, owner, lease).await;
                self.contact.note(sent, answer.as_ref().err().map(|(failure, _)| failure));
                answer
            }
            LockStore::Memory(_) => {
                Err((Error::unexpected("a store that can do that"), NotAfter(0)))
            }
            #[cfg(feature = "sql")]
            LockStore::Sql(_) => Err((Error::unexpected("a store that can do that"), NotAfter(0))),
        }
    }

    /// Waits until a hold that was just confirmed is on as many replicas as were asked for.
    pub(crate) async fn wait_for_replicas(
        &self,
        keys: &LockKeys,
        owner: &str,
        lease: Duration,
    ) -> Result<(), Error> {
        match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(store) => store.wait_for_replicas(keys, owner, lease).await,
            LockStore::Memory(_) => Ok(()),
            #[cfg(feature = "sql")]
            LockStore::Sql(_) => Ok(()),
        }
    }

    /// Tells whether the store always recognises a release that is sent again.
    pub(crate) fn recognises_releases(&self) -> bool {
        match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(_) => true,
            LockStore::Memory(_) => true,
            // The next owner overwrites what shows it.
            #[cfg(feature = "sql")]
            LockStore::Sql(_) => false,
        }
    }

    /// Tells whether there are semaphores and read/write locks.
    #[cfg(feature = "permits")]
    pub(crate) fn has_permits(&self) -> bool {
        match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(_) => true,
            LockStore::Memory(_) => false,
            #[cfg(feature = "sql")]
            LockStore::Sql(store) => store.has_permits(),
        }
    }

    /// Takes back what an acquire without an answer may have taken, down to `keep` holds.
    pub(crate) async fn undo(
        &self,
        keys: &LockKeys,
        owner: &str,
        keep: u64,
        not_after: NotAfter,
    ) -> Result<UndoAnswer, Error> {
        ask!(self, store => store.undo(keys, owner, keep, not_after))
    }

    /// Gives back one hold.
    pub(crate) async fn release(&self, asked: ReleaseRequest<'_>) -> Result<ReleaseAnswer, Error> {
        ask!(self, store => store.release(asked))
    }

    /// Passes a lock held once to the next owner, with word of those who still wait, and gives the new fence; `None`
    /// where it was not held so.
    pub(crate) async fn pass(
        &self,
        owner: &str,
        next_keys: &LockKeys,
        next: &str,
        lease: Duration,
        #[cfg_attr(not(feature = "sql"), expect(unused, reason = "others tell everybody"))]
        more_wait: bool,
    ) -> Result<Option<u64>, Error> {
        let sent = Instant::now();
        let answer = match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(store) => store.pass(owner, next_keys, next, lease).await,
            #[cfg(feature = "sql")]
            LockStore::Sql(store) => store.pass(owner, next_keys, next, lease, more_wait).await,
            LockStore::Memory(store) => store.pass(owner, next_keys, next, lease).await,
        };
        self.contact.note(sent, answer.as_ref().err());
        answer
    }

    /// Says whether a release sends a message only if the store knows of a waiter.
    pub(crate) fn tells_only_who_waits(&self) -> bool {
        match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(_) => false,
            LockStore::Memory(_) => false,
            #[cfg(feature = "sql")]
            LockStore::Sql(_) => true,
        }
    }

    /// Renews, or with no lease only looks at, holds of one kind; gives for each whether it is still held.
    pub(crate) async fn renew(
        &self,
        holds: &[RenewalRequest<'_>],
        lease: Option<Duration>,
    ) -> Result<Vec<RenewalAnswer>, Error> {
        ask!(self, store => store.renew(holds, lease))
    }

    /// Returns the holder of a lock.
    pub(crate) async fn inspect(&self, keys: &LockKeys) -> Result<Option<Holder>, Error> {
        ask!(self, store => store.inspect(keys))
    }

    /// Lists what is held, where there is a list.
    pub(crate) async fn held(&self) -> Result<Option<Vec<(String, Holder)>>, Error> {
        match &self.store {
            #[cfg(feature = "sql")]
            LockStore::Sql(store) => store.held().await.map(Some),
            #[cfg(feature = "redis")]
            LockStore::Redis(_) => Ok(None),
            LockStore::Memory(_) => Ok(None),
        }
    }

    /// Tells whether nobody says when a lock is free.
    pub(crate) fn polls(&self) -> bool {
        match &self.store {
            #[cfg(feature = "sql")]
            LockStore::Sql(store) => store.polls(),
            #[cfg(feature = "redis")]
            LockStore::Redis(_) => false,
            LockStore::Memory(_) => false,
        }
    }

    /// Frees a lock, whoever holds it; gives whether it was held.
    pub(crate) async fn force(&self, keys: &LockKeys) -> Result<bool, Error> {
        ask!(self, store => store.force(keys))
    }

    /// Tells how long a key is taken for, without trying to take it; `None` where it is free.
    pub(crate) async fn taken_for(
        &self,
        keys: &LockKeys,
    ) -> Result<Option<Option<Duration>>, Error> {
        ask!(self, store => store.taken_for(keys))
    }

    /// Subscribes; confirmed when this returns.
    pub(crate) async fn subscribe(&self, topic: Topic<'_>) -> Result<Subscriber, Error> {
        Ok(match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(store) => Subscriber::Redis(store.listen(topic).await?),
            #[cfg(feature = "sql")]
            LockStore::Sql(store) => Subscriber::Sql(store.listen(topic).await?),
            LockStore::Memory(store) => Subscriber::Memory(store.listen(topic).await?),
        })
    }

    /// Removes release ids that nobody will send again, or what else nobody needs.
    pub(crate) async fn forget(&self, release_ids: Vec<String>) -> Result<(), Error> {
        on_either!(self, store => store.forget(release_ids))
    }

    /// Records the leader and its term, and notifies watchers.
    pub(crate) async fn announce(
        &self,
        name: &str,
        record: &Record,
        owner: &str,
    ) -> Result<(), Error> {
        ask!(self, store => store.announce(name, record, owner))
    }

    /// Returns the leader, and how long the lock still lasts without a renewal.
    pub(crate) async fn leader(
        &self,
        name: &str,
    ) -> Result<(Option<Record>, Option<Duration>), Error> {
        ask!(self, store => store.leader(name))
    }

    /// Writes a value under the protection of a fence; gives the fence in the way, if there is one.
    pub(crate) async fn guarded_write(
        &self,
        key: &str,
        fence: u64,
        owner: &str,
        value: &[u8],
    ) -> Result<Result<(), u64>, Error> {
        ask!(self, store => store.guarded_write(key, fence, owner, value))
    }

    /// Waits until requests go over a new connection, which may lead to a server that knows less.
    pub(crate) async fn reconnected(&self, seen: &mut u64) {
        match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(store) => store.reconnected(seen).await,
            // A database does not forget what it committed; where a failover does, a new connection is no sign of it: those
            // of a pool come and go, and one who is at rest makes none.
            #[cfg(feature = "sql")]
            LockStore::Sql(_) => std::future::pending().await,
            LockStore::Memory(_) => std::future::pending().await,
        }
    }

    /// Returns how long one request may take.
    pub(crate) fn answer_within(&self) -> Duration {
        match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(store) => store.answer_within(),
            #[cfg(feature = "sql")]
            LockStore::Sql(store) => store.answer_within(),
            LockStore::Memory(_) => Duration::from_secs(3),
        }
    }

    pub(crate) async fn close(&self) {
        match &self.store {
            #[cfg(feature = "redis")]
            LockStore::Redis(store) => store.close().await,
            #[cfg(feature = "sql")]
            LockStore::Sql(store) => store.close().await,
            LockStore::Memory(_) => {}
        }
    }
}
