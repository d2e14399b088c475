//! Reading a journal beside the process that writes it, or without one.

use super::durable::open_read_only;
use super::rows;
use super::snapshots;
use super::writer::{FORM, HeadRow};
use crate::archive::{self, Frames};
use crate::entry::{Chain, Sealer};
use crate::{Clock, Entry, Failure, Head, Name, folder};
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::SpaceId;
use firstcome_core::snapshot::PieceName;
use rusqlite::Connection;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// How often the journal and the archive are looked into for one entry: a trim may move it meanwhile.
const LOOKS: u32 = 4;

/// A journal and its archive, for reading.
///
/// Each read is short, so that the process that writes is not held up. All of it blocks.
#[derive(Debug)]
pub struct ReadOnly {
    connection: Connection,
    archive: PathBuf,
    row: HeadRow,
}

impl ReadOnly {
    /// Opens the journal in a data folder.
    ///
    /// # Errors
    ///
    /// There is none, it cannot be read, or it is of a level above this build's.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let connection = open_read_only(&folder::journal_file(folder), FORM)?;
        let row = HeadRow::read(&connection)?;
        Ok(Self { connection, archive: folder::archive_folder(folder), row })
    }

    /// Gives the space the journal is of.
    pub fn space(&self) -> SpaceId {
        self.row.sealer.space
    }

    /// Gives the number of the journal in its space.
    pub fn shard(&self) -> u32 {
        self.row.sealer.shard
    }

    /// Gives where the journal stands now.
    ///
    /// # Errors
    ///
    /// [`Failure::Damaged`] when the last entry is not what was written; the file cannot be read.
    pub fn head(&self) -> Result<Head, Failure> {
        let row = HeadRow::read(&self.connection)?;
        let now = Clock::system().now();
        let last = rows::last(&self.connection, &row.sealer)?;
        let (position, name, at) = match &last {
            Some((entry, name)) => (entry.position, *name, entry.at),
            None => (0, Name::default(), now),
        };
        let first = rows::first(&self.connection)?.unwrap_or(1);
        let (space, shard) = (row.sealer.space, row.sealer.shard);
        Ok(Head {
            space,
            shard,
            level: row.level,
            position,
            name,
            at,
            epoch: row.epoch,
            first,
            now,
        })
    }

    /// Gives the first position there is, in the archive or in the journal.
    ///
    /// # Errors
    ///
    /// The archive's folder or the file cannot be read.
    pub fn first(&self) -> Result<u64, Failure> {
        let archived = archive::parts(&self.archive)?.first().map(|part| part.first);
        let kept = rows::first(&self.connection)?.unwrap_or(1);
        Ok(archived.unwrap_or(kept).min(kept))
    }

    /// Gives the entries from a position on, those in the archive first, each checked.
    ///
    /// It ends at the head of the moment it gets there, or after the first failure.
    pub fn entries(&self, from: u64) -> Entries<'_> {
        Entries {
            journal: self,
            next: from.max(1),
            chain: Chain::default(),
            frames: None,
            read: VecDeque::new(),
            bad: None,
            ended: false,
        }
    }

    /// Gives the manifest of the newest snapshot.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, Failure> {
        Ok(snapshots::newest(&self.connection)?)
    }

    /// Gives a piece of a snapshot.
    ///
    /// # Errors
    ///
    /// [`Failure::Broken`] when its bytes are not what was written; the file cannot be read.
    pub fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, Failure> {
        snapshots::piece(&self.connection, name)
    }

    /// Gives the names of the pieces that the kept snapshots consist of.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn pieces(&self) -> Result<Vec<PieceName>, Failure> {
        Ok(snapshots::named(&self.connection)?.into_iter().collect())
    }

    fn sealer(&self) -> Sealer {
        self.row.sealer
    }
}

/// Entries in order, out of the archive and then out of the journal.
pub struct Entries<'a> {
    journal: &'a ReadOnly,
    next: u64,
    chain: Chain,
    frames: Option<Frames>,
    read: VecDeque<(Entry, Name)>,
    bad: Option<Failure>,
    ended: bool,
}

impl Entries<'_> {
    /// Finds the next entry, wherever it is by now.
    fn find(&mut self) -> Result<Option<(Entry, Name)>, Failure> {
        let mut damaged = None;
        for _ in 0..LOOKS {
            match self.out_of_the_archive() {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                // A trim that was cut short leaves a torn end there, and the entry in the journal.
                Err(failure @ Failure::Damaged { .. }) => {
                    self.frames = None;
                    damaged = Some(failure);
                }
                Err(other) => return Err(other),
            }
            if let Some(found) = self.out_of_the_journal()? {
                return Ok(Some(found));
            }
            let head = rows::last_position(&self.journal.connection)?.unwrap_or(0);
            if self.next > head {
                return Ok(None);
            }
            if let Some(failure) = damaged.take() {
                return Err(failure);
            }
            self.frames = Frames::holding(&self.journal.archive, self.next, self.journal.sealer())?;
        }
        let first = self.journal.first()?;
        if self.next < first {
            return Err(Failure::Trimmed { wanted: self.next, first });
        }
        let why = "it is neither in the journal nor in the archive".into();
        Err(Failure::Damaged { position: self.next, why })
    }

    fn out_of_the_archive(&mut self) -> Result<Option<(Entry, Name)>, Failure> {
        while let Some(frames) = &mut self.frames {
            match frames.next_entry()? {
                Some(found) if found.0.position == self.next => return Ok(Some(found)),
                Some(_) => {}
                None => self.frames = None,
            }
        }
        Ok(None)
    }

    fn out_of_the_journal(&mut self) -> Result<Option<(Entry, Name)>, Failure> {
        if self.read.is_empty() && self.bad.is_none() {
            let ReadOnly { connection, .. } = self.journal;
            let sealer = self.journal.sealer();
            let rows = rows::read(connection, &sealer, self.next - 1, READ_ENTRIES);
            self.read = rows.good.into();
            // Not there because it was trimmed meanwhile is for `find` to see.
            let trimmed = self.read.is_empty()
                && rows::first(connection)?.is_some_and(|first| first > self.next);
            self.bad = rows.bad.filter(|_| !trimmed);
        }
        match self.read.pop_front() {
            Some(found) => Ok(Some(found)),
            None => self.bad.take().map_or(Ok(None), Err),
        }
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<(Entry, Name), Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.find().and_then(|found| match found {
            Some((entry, name)) => self.chain.follow(&entry, name).map(|()| Some((entry, name))),
            None => Ok(None),
        });
        self.next += 1;
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}
