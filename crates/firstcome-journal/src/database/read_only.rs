//! Read-only access to a journal in a database, while nodes write to it or not.

use super::{DatabaseError, HeadRow, Loaded, Needs, follow_on, unchanged};
use crate::archive;
use crate::entry::{Entry, EntryRun, Head, Sealer};
use crate::error::JournalError;
use crate::snapshots::manifest::{check_piece, names};
use crate::transaction::cell as cells;
use crate::transaction::cell::Kind;
use firstcome_core::names::{PieceName, SpaceId};
use firstcome_core::newest_level;
use firstcome_core::state::Skip;
use std::fmt;
use std::path::PathBuf;
use tokio::runtime::{Builder, Runtime};

/// The tables of a journal as a reader sees them; it blocks.
pub(crate) trait Source: fmt::Debug + Send + Sync {
    /// Reads at one moment.
    fn load(
        &self,
        runtime: &Runtime,
        space: SpaceId,
        needs: &Needs,
    ) -> Result<Loaded, DatabaseError>;

    /// Returns up to 64 entries from a position on.
    fn entries(&self, runtime: &Runtime, next: u64) -> Result<Vec<Entry>, JournalError>;

    /// Ends its connections.
    fn close(&self, runtime: &Runtime);
}

/// A journal in a database and folders of what was trimmed from it, for reading. It changes nothing there.
///
/// All of it blocks, so that it is not for asynchronous code.
#[derive(Debug)]
pub struct ReadOnly {
    /// What the connections' tasks run on, also while nobody asks.
    runtime: Runtime,
    source: Box<dyn Source>,
    sealer: Sealer,
    archives: Vec<PathBuf>,
    name: String,
}

impl ReadOnly {
    pub(crate) fn open<F>(
        connect: F,
        space_name: &str,
        archives: Vec<PathBuf>,
    ) -> Result<Self, JournalError>
    where
        F: Future<Output = Result<Box<dyn Source>, JournalError>>,
    {
        let cannot = |error: std::io::Error| JournalError::Unavailable(error.to_string());
        let runtime =
            Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(cannot)?;
        let source = runtime.block_on(connect).map_err(unchanged)?;
        let (space, name) = (SpaceId([0; 16]), space_name.to_owned());
        let mut journal = Self { runtime, source, sealer: Sealer { space }, archives, name };
        journal.sealer.space = journal.load(&Needs::default())?.1.space;
        Ok(journal)
    }

    /// Returns where the journal stands now.
    ///
    /// # Errors
    ///
    /// [`JournalError::NoSpace`] and [`JournalError::OtherSpace`] when the store was emptied or replaced meanwhile; those of the
    /// store being out of reach.
    pub fn head(&self) -> Result<Head, JournalError> {
        let (_, head) = self.load(&Needs::default())?;
        if head.space != self.sealer.space {
            return Err(JournalError::OtherSpace { found: head.space, wanted: self.sealer.space });
        }
        Ok(head)
    }

    /// Returns the first position there is, in the archives or in the store.
    ///
    /// # Errors
    ///
    /// Those of the store and of the folders.
    pub fn first(&self) -> Result<u64, JournalError> {
        let mut first = self.head()?.first;
        for folder in &self.archives {
            if let Some(part) = archive::parts(folder)?.first() {
                first = first.min(part.first);
            }
        }
        Ok(first)
    }

    /// Returns the manifest of the newest snapshot.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(self.manifests()?.manifests.into_iter().next().map(|newest| newest.bytes))
    }

    /// Returns a piece of a snapshot.
    ///
    /// # Errors
    ///
    /// [`JournalError::Broken`] when its bytes are not what was written; those of the store being out of reach.
    pub fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, JournalError> {
        let needs = Needs { piece: Some(name), ..Needs::default() };
        check_piece(name, self.load(&needs)?.0.piece)
    }

    /// Returns the names of the pieces that the kept snapshots consist of.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub fn pieces(&self) -> Result<Vec<PieceName>, JournalError> {
        Ok(names(&self.manifests()?.manifests).into_iter().collect())
    }

    /// Returns the skipped entries that the store names, by position.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] when a record is torn or altered; those of the store being out of reach.
    pub fn skips(&self) -> Result<Vec<Skip>, JournalError> {
        let needs = Needs { kinds: [Kind::Skip].into(), ..Needs::default() };
        cells::skips(&self.load(&needs)?.0.cells)
    }

    fn manifests(&self) -> Result<Loaded, JournalError> {
        let needs = Needs { manifests: true, ..Needs::default() };
        self.load(&needs).map(|(loaded, _)| loaded)
    }

    /// Reads at one moment.
    fn load(&self, needs: &Needs) -> Result<(Loaded, Head), JournalError> {
        let loaded = self.source.load(&self.runtime, self.sealer.space, needs);
        let no_space = || JournalError::NoSpace { name: self.name.clone() };
        let loaded = loaded.map_err(|broken| match broken {
            missing if missing.is_missing() => no_space(),
            DatabaseError::Store(failure) => unchanged(super::refused(failure)),
            DatabaseError::Own(failure) => unchanged(failure),
        })?;
        let row: HeadRow = loaded.row.ok_or_else(no_space)?;
        // A newer build may have written the rest of it otherwise.
        if row.level > newest_level() {
            return Err(JournalError::TooNew(row.level));
        }
        let head = row.head(loaded.now);
        Ok((loaded, head))
    }

    pub(crate) fn sealer(&self) -> Sealer {
        self.sealer
    }

    pub(crate) fn archives(&self) -> &[PathBuf] {
        &self.archives
    }

    /// Returns the next entries out of the table, and why there are no more where one is not good.
    pub(crate) fn stored(&self, next: u64) -> Result<EntryRun, JournalError> {
        let entries = self.source.entries(&self.runtime, next).map_err(unchanged)?;
        // Not there because it was trimmed is for the reader to see.
        if entries.first().is_some_and(|entry| entry.position != next) {
            return Ok(EntryRun::default());
        }
        Ok(follow_on(next - 1, entries))
    }

    pub(crate) fn last_position(&self) -> Result<u64, JournalError> {
        self.head().map(|head| head.position)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        self.source.close(&self.runtime);
    }
}
