//! Read-only access to a journal, whether other processes write it or not.

mod entries;

pub use entries::Entries;

use crate::archive;
use crate::entry::Head;
use crate::error::JournalError;
use crate::space_file::SpaceFile;
use crate::sqlite;
use firstcome_core::names::PieceName;
use firstcome_core::snapshot::Manifest;
use firstcome_core::state::Skip;

use crate::database;
use crate::redis;

/// A journal and its archive, for reading only. All of it blocks, so that it is not for asynchronous code.
#[derive(Debug)]
pub enum Reading {
    /// In the SQLite file of a data folder.
    Sqlite(sqlite::ReadOnly),
    /// In a file of an exported space.
    File(SpaceFile),
    /// In Redis or Valkey.
    Redis(redis::ReadOnly),
    /// In PostgreSQL or MariaDB.
    Database(database::ReadOnly),
}

macro_rules! each {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            Self::Sqlite($store) => $call,
            Self::File($store) => $call,
            Self::Redis($store) => $call,
            Self::Database($store) => $call,
        }
    };
}

impl Reading {
    /// Returns where the journal stands now.
    ///
    /// # Errors
    ///
    /// Those of the store; [`JournalError::Damaged`] when its last entry is not what was written.
    pub fn head(&self) -> Result<Head, JournalError> {
        each!(self, store => store.head())
    }

    /// Returns the first position there is, in the archive or in the journal.
    ///
    /// # Errors
    ///
    /// Those of the store and of the archive's folder.
    pub fn first(&self) -> Result<u64, JournalError> {
        each!(self, store => store.first())
    }

    /// Returns the entries from a position on, those in the archive first, each checked.
    ///
    /// It ends at the head of the moment it gets there, or after the first failure.
    pub fn entries(&self, from: u64) -> Entries<'_> {
        each!(self, store => store.entries(from))
    }

    /// Returns the skipped entries, those named in the archive too, by position.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] when a record is torn or altered; those of the store and of the archive's folder.
    pub fn skips(&self) -> Result<Vec<Skip>, JournalError> {
        let (mut skips, archives) = each!(self, store => (store.skips()?, store.archives()));
        for folder in archives {
            let more = archive::skips(folder)?;
            skips.extend(more);
        }
        skips.sort_by_key(|skip| (skip.position, skip.node, skip.number));
        skips.dedup();
        Ok(skips)
    }

    /// Returns the manifest of the newest snapshot.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, JournalError> {
        each!(self, store => store.newest_snapshot())
    }

    /// Returns the manifest of the snapshot that the entries go on from, where they do not begin with the first.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub fn start(&self) -> Result<Option<Vec<u8>>, JournalError> {
        if let Self::File(file) = self {
            return Ok(file.start().map(Manifest::encode));
        }
        if self.first()? > 1 { self.newest_snapshot() } else { Ok(None) }
    }

    /// Returns a piece of a snapshot.
    ///
    /// # Errors
    ///
    /// [`JournalError::Broken`] when its bytes are not what was written; those of the store.
    pub fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, JournalError> {
        each!(self, store => store.piece(name))
    }

    /// Returns the names of the pieces that the kept snapshots consist of.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub fn pieces(&self) -> Result<Vec<PieceName>, JournalError> {
        each!(self, store => store.pieces())
    }
}
