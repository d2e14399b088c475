//! Read-only access to a journal in a SQLite file, while another process writes it or not.

use super::durable::open_read_only;
use super::rows;
use super::stored;
use super::writer::{FORM, HeadRow};
use crate::archive;
use crate::clock::Clock;
use crate::entry::{EntryRun, Head, Sealer};
use crate::error::JournalError;
use crate::folder;
use crate::name::{Name, Tip};
use crate::snapshots::manifest::names;
use crate::transaction::cell;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::PieceName;
use firstcome_core::names::SpaceId;
use firstcome_core::state::Skip;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// A journal and its archive, for reading.
///
/// Each read is short, so that the process that writes is not held up. All of it blocks.
#[derive(Debug)]
pub struct ReadOnly {
    connection: Connection,
    archive: [PathBuf; 1],
    row: HeadRow,
}

impl ReadOnly {
    /// Opens the journal in a data folder.
    ///
    /// # Errors
    ///
    /// There is none, it cannot be read, or it is of a level above this build's.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let connection = open_read_only(&folder::journal_file(folder), FORM)?;
        let row = HeadRow::read(&connection)?;
        Ok(Self { connection, archive: [folder::archive_folder(folder)], row })
    }

    /// Returns the space the journal is of.
    pub fn space(&self) -> SpaceId {
        self.row.sealer.space
    }

    /// Returns where the journal stands now.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] when the last entry is not what was written; the file cannot be read.
    pub fn head(&self) -> Result<Head, JournalError> {
        let row = HeadRow::read(&self.connection)?;
        let now = Clock::system().now();
        let tip = rows::tip(&self.connection, &row.sealer)?;
        let first = rows::first_kept(&self.connection, &row.sealer)?;
        let Tip { position, name, at } =
            tip.unwrap_or(Tip { position: 0, name: Name::default(), at: now });
        Ok(Head {
            space: row.sealer.space,
            level: row.level,
            position,
            name,
            at,
            epoch: row.epoch,
            first,
            skips: stored::count_skips(&self.connection)?,
            now,
        })
    }

    /// Returns the first position there is, in the archive or in the journal.
    ///
    /// # Errors
    ///
    /// The archive's folder or the file cannot be read.
    pub fn first(&self) -> Result<u64, JournalError> {
        let archived = archive::parts(&self.archive[0])?.first().map(|part| part.first);
        let kept = rows::first_kept(&self.connection, &self.row.sealer)?;
        Ok(archived.unwrap_or(kept).min(kept))
    }

    /// Returns the manifest of the newest snapshot.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, JournalError> {
        let manifests = stored::manifests(&self.connection)?;
        Ok(manifests.into_iter().next().map(|newest| newest.bytes))
    }

    /// Returns a piece of a snapshot.
    ///
    /// # Errors
    ///
    /// [`JournalError::Broken`] when its bytes are not what was written; the file cannot be read.
    pub fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, JournalError> {
        stored::piece(&self.connection, name)
    }

    /// Returns the names of the pieces that the kept snapshots consist of.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn pieces(&self) -> Result<Vec<PieceName>, JournalError> {
        Ok(names(&stored::manifests(&self.connection)?).into_iter().collect())
    }

    /// Returns the skipped entries that the file names, by position.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] when a record is torn or altered; the file cannot be read.
    pub fn skips(&self) -> Result<Vec<Skip>, JournalError> {
        cell::skips(&stored::skips(&self.connection)?)
    }

    pub(crate) fn sealer(&self) -> Sealer {
        self.row.sealer
    }

    pub(crate) fn archives(&self) -> &[PathBuf] {
        &self.archive
    }

    /// Returns the next entries out of the file itself, and why there are no more where one is not good.
    pub(crate) fn stored(&self, next: u64) -> Result<EntryRun, JournalError> {
        let rows = rows::read(&self.connection, &self.row.sealer, next - 1, READ_ENTRIES);
        // Not there because it was trimmed meanwhile is for the reader to see.
        let trimmed = rows.good.is_empty()
            && rows::first(&self.connection)?.is_some_and(|first| first > next);
        Ok(EntryRun { good: rows.good.into(), bad: rows.bad.filter(|_| !trimmed) })
    }

    pub(crate) fn last_position(&self) -> Result<u64, JournalError> {
        match rows::last_position(&self.connection)? {
            Some(last) => Ok(last),
            None => Ok(self.head()?.position),
        }
    }
}
