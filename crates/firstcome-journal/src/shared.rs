//! What several nodes on one journal need: news, heartbeats, backfill, reseeding.

pub use crate::cluster::{Membership, News, NodeStatus, Seed};

use crate::distant::Distant;
use crate::entry::{Entry, Head};
use crate::failure::Failure;
use crate::faulty::Faulty;
use crate::memory::Memory;
use crate::name::Name;
use firstcome_core::NodeId;
use std::time::Duration;
use tokio::sync::watch;

/// A journal that several nodes share.
///
/// Cheap to clone: clones are the same journal.
///
/// # Cancel safety
///
/// That of [`Journal`](crate::Journal).
#[derive(Clone, Debug)]
pub enum Shared {
    /// In memory.
    Memory(Memory),
    /// In Redis or Valkey.
    #[cfg(feature = "redis")]
    Redis(crate::redis::Redis),
    /// One of the others with faults.
    Faulty(Faulty),
    /// One in memory, over a simulated network.
    Distant(Distant),
}

macro_rules! each {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            Self::Memory($store) => $call.await,
            #[cfg(feature = "redis")]
            Self::Redis($store) => Box::pin($call).await,
            Self::Faulty($store) => Box::pin($call).await,
            Self::Distant($store) => Box::pin($call).await,
        }
    };
}

impl Shared {
    /// Watches a number that changes whenever the store may have lost what it had: at a new
    /// connection, a failover, a restart.
    pub fn incarnations(&self) -> watch::Receiver<u64> {
        match self {
            Self::Memory(memory) => memory.incarnations(),
            #[cfg(feature = "redis")]
            Self::Redis(redis) => redis.incarnations(),
            Self::Faulty(faulty) => faulty.shared().incarnations(),
            Self::Distant(distant) => distant.incarnations(),
        }
    }

    /// Says whether every entry that can be read is as durable as the store's setting has it, so
    /// that there is nothing to wait for: [`Confirm::AtOnce`](crate::Confirm::AtOnce) each time.
    pub fn confirms_at_once(&self) -> bool {
        match self {
            Self::Memory(memory) => memory.confirms_at_once(),
            #[cfg(feature = "redis")]
            Self::Redis(redis) => redis.confirms_at_once(),
            Self::Faulty(faulty) => faulty.shared().confirms_at_once(),
            Self::Distant(distant) => distant.confirms_at_once(),
        }
    }

    /// Reads up to 64 entries beyond a position, waiting for the first at most for `timeout`.
    ///
    /// # Errors
    ///
    /// Those of [`Journal::read`](crate::Journal::read). Where nothing at all is left after a position that was
    /// trimmed, [`Failure::Trimmed`] may come up to two seconds late.
    pub async fn follow(&self, after: u64, timeout: Duration) -> Result<News, Failure> {
        each!(self, store => store.follow(after, timeout))
    }

    /// Sends a heartbeat; gives which nodes sent one lately and where the journal stands. The level of the head follows
    /// that of the space, as of what the node applied, and never goes down.
    ///
    /// # Errors
    ///
    /// [`Failure::Gone`] and [`Failure::OtherSpace`] when the store no longer has this space; those
    /// of the store being out of reach.
    pub async fn announce(&self, me: NodeStatus, level: u32) -> Result<Membership, Failure> {
        each!(self, store => store.announce(me, level))
    }

    /// Takes a node out of the membership.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn leave(&self, node: NodeId) -> Result<(), Failure> {
        each!(self, store => store.leave(node))
    }

    /// Backfills entries whole, store part included, after the entry with this position and name,
    /// if that is the last one.
    ///
    /// The entries follow it and one another. They are stored together or not at all.
    ///
    /// # Errors
    ///
    /// [`Failure::Moved`] when the journal ends elsewhere; nothing was stored then.
    ///
    /// # Panics
    ///
    /// The first entry does not have the position after that one.
    pub async fn put_back(
        &self,
        head: u64,
        name: Name,
        entries: Vec<Entry>,
    ) -> Result<(), Failure> {
        let first = entries.first().map(|entry| entry.position);
        assert!(
            first.is_none_or(|first| first == head + 1),
            "entries are backfilled after the head"
        );
        each!(self, store => store.put_back(head, name, entries))
    }

    /// Raises the epoch by one, if the journal stands where the caller saw it; gives the new one.
    ///
    /// # Errors
    ///
    /// [`Failure::Moved`] when its head or its epoch changed since.
    pub async fn raise_epoch(&self, seen: Head) -> Result<u32, Failure> {
        each!(self, store => store.raise_epoch(seen))
    }

    /// Has the journal go on after a state, in the place of all entries and snapshots it has, if it
    /// stands where the caller saw it; `None` where the store was seen to have nothing of the space.
    ///
    /// # Errors
    ///
    /// [`Failure::Moved`] when it changed since; [`Failure::PieceMissing`]. Nothing was changed then.
    pub async fn reseed(&self, seen: Option<Head>, seed: Seed) -> Result<(), Failure> {
        each!(self, store => store.reseed(seen, seed))
    }

    /// Keeps what a node found out about a fork, for operators; at most 1 MiB.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach or full.
    pub async fn report(&self, epoch: u32, node: NodeId, text: String) -> Result<(), Failure> {
        each!(self, store => store.report(epoch, node, text))
    }

    /// Gives what nodes found out about forks: epoch, node, report.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn reports(&self) -> Result<Vec<(u32, NodeId, String)>, Failure> {
        each!(self, store => store.reports())
    }
}
