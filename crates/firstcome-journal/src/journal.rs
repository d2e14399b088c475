//! A journal, whichever store it is in.

use crate::entry::{Append, Entry, Exchange, Head};
use crate::failure::Failure;
use crate::name::Tip;
#[cfg(feature = "redis")]
use crate::redis;
use crate::shared::Shared;
use crate::{distant, faulty, memory, sqlite};
use firstcome_core::names::PieceName;
use firstcome_core::state::Skip;

/// A journal in one of the stores.
///
/// Cheap to clone: clones are the same journal.
///
/// # Cancel safety
///
/// A future dropped before it is done leaves the call to finish on its own: whether it happened is
/// then unknown, as after [`Failure::Unknown`].
#[derive(Clone, Debug)]
pub enum Journal {
    /// In memory.
    Memory(memory::Memory),
    /// In a SQLite file.
    Sqlite(sqlite::Sqlite),
    /// In Redis or Valkey.
    #[cfg(feature = "redis")]
    Redis(redis::Redis),
    /// One of the others with faults.
    Faulty(faulty::Faulty),
    /// One in memory, over a simulated network.
    Distant(distant::Distant),
}

macro_rules! each {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            Self::Memory($store) => $call.await,
            Self::Sqlite($store) => $call.await,
            #[cfg(feature = "redis")]
            Self::Redis($store) => Box::pin($call).await,
            Self::Faulty($store) => Box::pin($call).await,
            Self::Distant($store) => Box::pin($call).await,
        }
    };
}

impl Journal {
    /// Gives what several nodes need, where several may share this journal.
    pub fn shared(&self) -> Option<Shared> {
        match self {
            Self::Memory(memory) => memory.several.then(|| Shared::Memory(memory.clone())),
            Self::Sqlite(_) => None,
            #[cfg(feature = "redis")]
            Self::Redis(redis) => Some(Shared::Redis(redis.clone())),
            Self::Faulty(faulty) => faulty.truth().shared().map(|_| Shared::Faulty(faulty.clone())),
            Self::Distant(distant) => Some(Shared::Distant(distant.clone())),
        }
    }

    /// Appends a batch and reads everything stored since what the caller applied, the batch included.
    ///
    /// At most 64 entries come back: if more lie between, the batch's own entry is among those that
    /// a later [`Journal::read`] gives. [`Exchange::confirm`] tells when the entry, and every one
    /// before it, is durable as the store's setting has it.
    ///
    /// # Errors
    ///
    /// [`Failure::Behind`] and [`Failure::Forked`] when the store does not have what the caller
    /// applied; nothing was appended then. [`Failure::Unknown`] when the answer was lost: send the
    /// same body again until it comes back, since the first copy may still arrive.
    pub async fn append(&self, append: Append) -> Result<Exchange, Failure> {
        each!(self, store => store.append(append))
    }

    /// Reads up to 64 entries beyond a position, in order.
    ///
    /// # Errors
    ///
    /// [`Failure::Trimmed`] when the next entry is no longer kept; [`Failure::Damaged`] with the
    /// position of an entry that is torn, altered or not the one its successor names.
    pub async fn read(&self, after: u64) -> Result<Vec<Entry>, Failure> {
        each!(self, store => store.read(after))
    }

    /// Gives where the journal stands.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn head(&self) -> Result<Head, Failure> {
        each!(self, store => store.head())
    }

    /// Mints the next term for snapshots and trimming; the terms before it are refused from then on.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn mint_term(&self) -> Result<u64, Failure> {
        each!(self, store => store.mint_term())
    }

    /// Stores a piece of a snapshot. Storing it twice changes nothing.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach or full.
    pub async fn put_piece(&self, name: PieceName, bytes: Vec<u8>) -> Result<(), Failure> {
        each!(self, store => store.put_piece(name, bytes))
    }

    /// Gives a piece of a snapshot.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, Failure> {
        each!(self, store => store.piece(name))
    }

    /// Makes a manifest, of the state after the entry that `tip` names, the newest snapshot.
    ///
    /// # Errors
    ///
    /// [`Failure::PieceMissing`] when it names a piece the store does not have;
    /// [`Failure::OldTerm`] when a later term was minted; [`Failure::Behind`], and where several nodes
    /// share the journal [`Failure::Forked`], when it is not of this journal's history. Nothing was
    /// changed then.
    pub async fn install(
        &self,
        tip: Tip,
        manifest: Vec<u8>,
        pieces: Vec<PieceName>,
        term: u64,
    ) -> Result<(), Failure> {
        each!(self, store => store.install(tip, manifest, pieces, term))
    }

    /// Gives the manifest of the newest snapshot.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, Failure> {
        each!(self, store => store.newest_snapshot())
    }

    /// Has everybody skip an entry: its commands never run. To be told again what is there already changes nothing.
    ///
    /// # Errors
    ///
    /// [`Failure::Applied`] where a node that is there or a snapshot is at or past it; [`Failure::Behind`],
    /// [`Failure::Trimmed`] and [`Failure::Forked`] where the entry is not there under that name. Nothing was changed
    /// then.
    pub async fn skip(&self, skip: Skip) -> Result<(), Failure> {
        each!(self, store => store.skip(skip))
    }

    /// Gives the entries that are skipped. [`Head::skips`] says how many there are.
    ///
    /// # Errors
    ///
    /// [`Failure::Damaged`] when a record is torn or altered; those of the store being out of reach.
    pub async fn skips(&self) -> Result<Vec<Skip>, Failure> {
        each!(self, store => store.skips())
    }

    /// Drops entries and pieces that no reader needs any more; gives the first position still kept.
    ///
    /// Entries are kept back to the snapshot before the newest and for at least ten minutes, pieces
    /// until no kept manifest has named them for ten minutes. Where there is an archive, what goes is
    /// in it first.
    ///
    /// # Errors
    ///
    /// [`Failure::OldTerm`] when a later term was minted.
    pub async fn trim(&self, term: u64) -> Result<u64, Failure> {
        each!(self, store => store.trim(term))
    }
}
