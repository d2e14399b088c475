//! The seam between the locks and what they are stored in.

use std::borrow::Cow;
use std::time::Duration;

use tokio::time::Instant;

use crate::keys::{Keys, prefixed};
use crate::memory::{Memory, Way};
use crate::redis::RedisBackend;
#[cfg(feature = "sql")]
use crate::sql::SqlBackend;
use crate::{Failure, Holder};

/// Where locks are stored.
#[derive(Debug)]
pub(crate) enum Backend {
    Redis(RedisBackend),
    #[cfg(feature = "sql")]
    Sql(Box<SqlBackend>),
    Memory(Memory),
}

/// The answer to an acquire.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Held, `holds` times, under `fence`.
    Yes { holds: u64, fence: u64 },
    /// Somebody else holds it; without a time it has no expiry.
    Held { remaining: Option<Duration> },
    /// The store's clock says the request came too late; nothing changed.
    Late,
}

/// Until when, on the store's clock in µs, an acquire that got no answer may still take effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotAfter(pub(crate) i64);

/// A request to give back one hold. It may be sent again, as the same request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Return<'a> {
    pub(crate) keys: &'a Keys,
    pub(crate) owner: &'a str,
    /// The owner may hold it several times.
    pub(crate) reentrant: bool,
    /// How long the holds that remain last.
    pub(crate) lease: Duration,
    /// How long the lease still runs, at most.
    pub(crate) remaining: Duration,
    pub(crate) request: u128,
    /// It has been sent before, and nobody knows what became of that.
    pub(crate) again: bool,
}

/// The answer to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// The owner held nothing.
    Nothing,
    /// The owner still holds it so many times.
    Holds(u64),
    /// It is free.
    Free,
}

/// The answer to an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undone {
    /// Something was held, and is not any more.
    TakenBack,
    /// Nothing is held, and nothing can arrive any more.
    Nothing,
    /// The acquire may still arrive for this long.
    MayArrive(Duration),
}

#[cfg(feature = "sql")]
impl Undone {
    /// Says that there is nothing `now`, by the store's clock in µs, which may still come until `not_after`.
    pub(crate) fn nothing_by(now: i64, not_after: NotAfter) -> Self {
        let left = not_after.0.saturating_sub(now);
        match left < 0 {
            true => Self::Nothing,
            false => Self::MayArrive(Duration::from_micros(left.unsigned_abs() + 1)),
        }
    }
}

/// One hold to renew: the lock and its owner.
pub(crate) type Renewal<'a> = (&'a Keys, &'a str);

/// The answer to the renewal of one hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is held, and renewed where that was asked for.
    Yes,
    /// It is held no more.
    Gone,
    /// It is still held, but somebody was in the way of renewing it.
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only rows can be in use"))]
    NotRenewed,
}

impl From<bool> for Kept {
    fn from(held: bool) -> Self {
        if held { Self::Yes } else { Self::Gone }
    }
}

/// What can be listened to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Topic<'a> {
    /// The releases of a lock.
    Lock(&'a Keys),
    /// The changes of who leads in the election of this name.
    Leader(&'a str),
}

impl Topic<'_> {
    /// Gives the channel in a store that has channels.
    pub(crate) fn channel(&self) -> Cow<'_, str> {
        match self {
            Self::Lock(keys) => Cow::Borrowed(&keys.channel),
            Self::Leader(name) => Cow::Owned(prefixed("fc:leader", name)),
        }
    }
}

/// Who leads, as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) node: String,
    pub(crate) term: u64,
}

/// What an [`Ear`] hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Look again now.
    Wake,
    /// Look again now: something may have been missed, or will be.
    Missed,
    /// Nothing will follow.
    Closed,
}

/// A subscription to one lock's channel.
#[derive(Debug)]
pub(crate) enum Ear {
    Redis(firstcome_store::Subscription),
    #[cfg(feature = "postgres")]
    Postgres(crate::sql::PostgresEar),
    /// Nobody says anything there: whoever waits asks again.
    #[cfg(feature = "sql")]
    Deaf,
    Memory(tokio::sync::broadcast::Receiver<()>, Way),
}

impl Ear {
    /// Waits until there is reason to look again.
    pub(crate) async fn next(&mut self) -> Heard {
        match self {
            Self::Redis(subscription) => match subscription.next().await {
                firstcome_store::Event::Message(_) => Heard::Wake,
                firstcome_store::Event::Cut | firstcome_store::Event::Gap => Heard::Missed,
                firstcome_store::Event::Closed => Heard::Closed,
            },
            #[cfg(feature = "postgres")]
            Self::Postgres(ear) => ear.next().await,
            #[cfg(feature = "sql")]
            Self::Deaf => std::future::pending().await,
            Self::Memory(receiver, way) => match way.hears(receiver).await {
                Ok(()) | Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => Heard::Wake,
                Err(tokio::sync::broadcast::error::RecvError::Closed) => Heard::Closed,
            },
        }
    }

    /// Tells whether nothing is being missed now.
    pub(crate) fn is_live(&self) -> bool {
        match self {
            Self::Redis(subscription) => subscription.is_live(),
            #[cfg(feature = "postgres")]
            Self::Postgres(ear) => ear.is_live(),
            #[cfg(feature = "sql")]
            Self::Deaf => false,
            Self::Memory(..) => true,
        }
    }
}

/// Calls the same function on whichever store it is.
macro_rules! on_either {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            Backend::Redis($store) => $call.await,
            #[cfg(feature = "sql")]
            Backend::Sql($store) => $call.await,
            Backend::Memory($store) => $call.await,
        }
    };
}

impl Backend {
    /// Waits until a request can be sent.
    pub(crate) async fn ready(&self) -> Result<(), Failure> {
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
    ) -> Result<Answer, (Failure, NotAfter)> {
        match self {
            Self::Redis(store) => store.acquire(keys, owner, lease).await,
            #[cfg(feature = "sql")]
            Self::Sql(store) => store.acquire(keys, owner, lease, waits).await,
            Self::Memory(store) => store.acquire(keys, owner, lease).await,
        }
    }

    /// Tells whether the store always recognises a release that is sent again.
    pub(crate) fn has_latches(&self) -> bool {
        match self {
            Self::Redis(_) | Self::Memory(_) => true,
            // The next owner overwrites what shows it.
            #[cfg(feature = "sql")]
            Self::Sql(_) => false,
        }
    }

    /// Tells whether there are semaphores and read/write locks.
    pub(crate) fn has_permits(&self) -> bool {
        match self {
            Self::Redis(_) | Self::Memory(_) => false,
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
    ) -> Result<Undone, Failure> {
        on_either!(self, store => store.undo(keys, owner, keep, not_after))
    }

    /// Gives back one hold.
    pub(crate) async fn release(&self, asked: Return<'_>) -> Result<Left, Failure> {
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
    ) -> Result<Option<u64>, Failure> {
        match self {
            Self::Redis(store) => store.pass(owner, next_keys, next, lease).await,
            #[cfg(feature = "sql")]
            Self::Sql(store) => store.pass(owner, next_keys, next, lease, more_wait).await,
            Self::Memory(store) => store.pass(owner, next_keys, next, lease).await,
        }
    }

    /// Tells whether a release is said only where the store knows that somebody waits.
    pub(crate) fn tells_only_who_waits(&self) -> bool {
        match self {
            Self::Redis(_) | Self::Memory(_) => false,
            #[cfg(feature = "sql")]
            Self::Sql(_) => true,
        }
    }

    /// Renews, or with no lease only looks at, holds of one kind; tells for each whether it is still held.
    pub(crate) async fn renew(
        &self,
        holds: &[Renewal<'_>],
        lease: Option<Duration>,
    ) -> Result<Vec<Kept>, Failure> {
        on_either!(self, store => store.renew(holds, lease))
    }

    /// Tells who holds a lock.
    pub(crate) async fn inspect(&self, keys: &Keys) -> Result<Option<Holder>, Failure> {
        on_either!(self, store => store.inspect(keys))
    }

    /// Lists what is held, where there is a list.
    pub(crate) async fn held(&self) -> Result<Option<Vec<(String, Holder)>>, Failure> {
        match self {
            #[cfg(feature = "sql")]
            Self::Sql(store) => store.held().await.map(Some),
            Self::Redis(_) | Self::Memory(_) => Ok(None),
        }
    }

    /// Tells whether nobody says when a lock is free.
    pub(crate) fn polls(&self) -> bool {
        match self {
            #[cfg(feature = "sql")]
            Self::Sql(store) => store.polls(),
            Self::Redis(_) | Self::Memory(_) => false,
        }
    }

    /// Frees a lock whoever holds it; tells whether anybody did.
    pub(crate) async fn force(&self, keys: &Keys) -> Result<bool, Failure> {
        on_either!(self, store => store.force(keys))
    }

    /// Tells how long a key is taken for, without trying to take it; `None` where it is free.
    pub(crate) async fn taken_for(&self, keys: &Keys) -> Result<Option<Option<Duration>>, Failure> {
        on_either!(self, store => store.taken_for(keys))
    }

    /// Subscribes; confirmed when this returns.
    pub(crate) async fn listen(&self, topic: Topic<'_>) -> Result<Ear, Failure> {
        on_either!(self, store => store.listen(topic))
    }

    /// Removes latches that nobody will ask for any more, or what else nobody needs.
    pub(crate) async fn forget(&self, latches: Vec<String>) -> Result<(), Failure> {
        on_either!(self, store => store.forget(latches))
    }

    /// Records who leads under which term, and tells those who watch.
    pub(crate) async fn announce(
        &self,
        name: &str,
        record: &Record,
        owner: &str,
    ) -> Result<(), Failure> {
        on_either!(self, store => store.announce(name, record, owner))
    }

    /// Gives who leads, and how long whoever holds the lock has left without renewing.
    pub(crate) async fn leader(
        &self,
        name: &str,
    ) -> Result<(Option<Record>, Option<Duration>), Failure> {
        on_either!(self, store => store.leader(name))
    }

    /// Writes a value under the protection of a fence; gives the fence in the way, if there is one.
    pub(crate) async fn guarded_write(
        &self,
        key: &str,
        fence: u64,
        owner: &str,
        value: &[u8],
    ) -> Result<Result<(), u64>, Failure> {
        on_either!(self, store => store.guarded_write(key, fence, owner, value))
    }

    /// Waits until requests go over a new connection, which may lead to a server that knows less.
    pub(crate) async fn reconnected(&self, seen: &mut u64) {
        match self {
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
            Self::Redis(store) => store.answer_within(),
            #[cfg(feature = "sql")]
            Self::Sql(store) => store.answer_within(),
            Self::Memory(_) => Duration::from_secs(3),
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Redis(store) => store.close().await,
            #[cfg(feature = "sql")]
            Self::Sql(store) => store.close().await,
            Self::Memory(_) => {}
        }
    }
}

/// Says that somebody else's transaction was in the way, and nothing changed.
pub(crate) fn in_use(name: &str) -> Failure {
    let detail = format!("another transaction has the row of the lock {name}");
    firstcome_store::Failure::Held { place: "the database".to_owned(), detail }.into()
}

/// Adds without overflow; a time too far away is a century away.
pub(crate) fn later(from: Instant, by: Duration) -> Instant {
    from.checked_add(by).unwrap_or_else(|| from + Duration::from_secs(3_155_760_000))
}
