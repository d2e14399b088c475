//! What the journals in databases share: what a transaction needs to be loaded before Rust code looks at its conditions.

mod columns;
mod options;
mod pace;
mod read_only;
mod run;
mod trouble;

pub(crate) use columns::{
    EntryColumns, OwnerColumns, TABLES, cell_of, manifest, number_of, piece_name, space_of,
    term_after,
};
pub use options::{DatabaseOptions, Durability};
pub(crate) use pace::PollPace;
pub use read_only::ReadOnly;
pub(crate) use read_only::Source;
pub(crate) use run::Run;
pub(crate) use trouble::is_missing;
pub(crate) use trouble::{
    DatabaseError, looked, makes_the_space, refused, strange, trouble, unchanged,
};

use crate::entry::{Chain, Entry, EntryRun, Head};
use crate::error::JournalError;
use crate::name::{Name, Tip};
use crate::snapshots::manifest::Manifest;
use crate::transaction::cell::{Cell, Kind};
use crate::transaction::conditions::Stored;
use crate::transaction::{Check, Read};
use firstcome_core::Timestamp;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::{PieceName, SpaceId};
use std::collections::BTreeSet;

/// The data that conditions or reads of a transaction rest on, beside the head.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    pub(crate) manifests: bool,
    /// Pieces that only have to be there.
    pub(crate) pieces: Vec<PieceName>,
    /// A piece whose bytes are wanted.
    pub(crate) piece: Option<PieceName>,
    pub(crate) kinds: BTreeSet<Kind>,
    /// Positions of entries.
    pub(crate) entries: Vec<u64>,
    /// Up to where entries are old: a position not to go beyond, and a time.
    pub(crate) old: Option<(u64, Timestamp)>,
}

impl Needs {
    /// Says whether nothing is needed but the head.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { manifests, pieces, piece, kinds, entries, old } = self;
        let lists = pieces.is_empty() && kinds.is_empty() && entries.is_empty();
        lists && !manifests && piece.is_none() && old.is_none()
    }

    pub(crate) fn add_checks(&mut self, checks: &[Check]) {
        for check in checks {
            match check {
                Check::There | Check::Nothing | Check::Term(_) | Check::End { .. } => {}
                Check::Entry { position, .. } => self.entries.push(*position),
                Check::Manifests(_) | Check::Positions(_) => self.manifests = true,
                Check::Pieces(names) => self.pieces.extend(names),
                Check::NotApplied(_) => {
                    self.kinds.insert(Kind::Node);
                }
                Check::Same(cell) => {
                    self.kinds.insert(cell.kind);
                }
            }
        }
    }

    pub(crate) fn add_reads(&mut self, reads: &[Read]) {
        for read in reads {
            match read {
                Read::Manifests => self.manifests = true,
                Read::Cells(kind) | Read::Keys(kind) => {
                    self.kinds.insert(*kind);
                }
                Read::Piece(name) => self.piece = Some(*name),
                Read::Old { through, cutoff } => self.old = Some((*through, *cutoff)),
            }
        }
    }
}

/// The row about a journal, and the end of its entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadRow {
    pub(crate) space: SpaceId,
    pub(crate) level: u32,
    pub(crate) epoch: u32,
    pub(crate) term: u64,
    /// What stands before the first entry that is kept; no time before the first of all.
    pub(crate) base: (u64, Name, Option<Timestamp>),
    /// The last entry, if there is one.
    pub(crate) last: Option<Tip>,
    pub(crate) skips: u32,
}

impl HeadRow {
    /// Returns where the journal stands.
    pub(crate) fn head(&self, now: Timestamp) -> Head {
        let (position, name, at) = match self.last {
            Some(Tip { position, name, at }) => (position, name, at),
            None => (self.base.0, self.base.1, self.base.2.unwrap_or(now)),
        };
        Head {
            space: self.space,
            level: self.level,
            position,
            name,
            at,
            epoch: self.epoch,
            first: self.base.0 + 1,
            skips: self.skips,
            now,
        }
    }
}

/// What a database had at the moment of an atomic step, as far as it was asked for.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Whose journal it should be.
    pub(crate) space: SpaceId,
    pub(crate) row: Option<HeadRow>,
    /// What stands in the place of the row in an emptied store.
    pub(crate) mark: Option<Vec<u8>>,
    pub(crate) now: Timestamp,
    pub(crate) manifests: Vec<Manifest>,
    pub(crate) pieces: BTreeSet<PieceName>,
    pub(crate) piece: Option<Vec<u8>>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) old: Option<u64>,
}

impl Loaded {
    /// Begins with where the journal stands.
    pub(crate) fn new(space: SpaceId, row: Option<HeadRow>, now: Timestamp) -> Self {
        Self {
            space,
            row,
            mark: None,
            now,
            manifests: Vec::new(),
            pieces: BTreeSet::new(),
            piece: None,
            cells: Vec::new(),
            entries: Vec::new(),
            old: None,
        }
    }

    /// Refuses a journal of another space.
    pub(crate) fn check_space(&self) -> Result<(), JournalError> {
        match &self.row {
            Some(row) if row.space != self.space => {
                Err(JournalError::OtherSpace { found: row.space, wanted: self.space })
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Stored for Loaded {
    fn head(&self) -> Result<Head, JournalError> {
        let row = self.row.as_ref().ok_or(JournalError::Gone(self.space))?;
        Ok(row.head(self.now))
    }

    fn mark(&self) -> Option<Vec<u8>> {
        self.mark.clone()
    }

    fn term(&self) -> u64 {
        self.row.as_ref().map_or(0, |row| row.term)
    }

    fn now(&self) -> Timestamp {
        self.now
    }

    fn entries(&self, from: u64, limit: usize) -> Result<Vec<Entry>, JournalError> {
        let entries = self.entries.iter().skip_while(|entry| entry.position != from);
        Ok(entries.take(limit).cloned().collect())
    }

    fn manifests(&self) -> Result<Vec<Manifest>, JournalError> {
        Ok(self.manifests.clone())
    }

    fn has_piece(&self, name: PieceName) -> Result<bool, JournalError> {
        Ok(self.pieces.contains(&name))
    }

    fn piece(&self, _: PieceName) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(self.piece.clone())
    }

    fn cells(&self, kind: Kind) -> Result<Vec<Cell>, JournalError> {
        Ok(self.cells.iter().filter(|cell| cell.kind == kind).cloned().collect())
    }

    fn old(&self, _: u64, _: Timestamp) -> Result<Option<u64>, JournalError> {
        Ok(self.old)
    }
}

/// Returns entries that were read after a position, up to the first that is not good.
pub(crate) fn follow_on(after: u64, entries: Vec<Entry>) -> EntryRun {
    let mut run = EntryRun::default();
    let (mut chain, mut wanted) = (Chain::default(), after + 1);
    for entry in entries {
        let checked = if entry.position == wanted {
            entry.name().and_then(|name| chain.follow(&entry, name).map(|()| name))
        } else {
            let why = format!("it is missing, entry {} stands there", entry.position);
            Err(JournalError::Damaged { position: wanted, why })
        };
        match checked {
            Ok(name) => run.good.push_back((entry, name)),
            Err(failure) => {
                run.bad = Some(failure);
                break;
            }
        }
        wanted += 1;
    }
    run
}

/// Returns the position at which a journal ends of which these rows were read behind a position, 64 at most; the largest
/// number if there may be more.
pub(crate) fn end_of(after: u64, rows: &[Entry]) -> u64 {
    match rows.last() {
        Some(_) if rows.len() >= READ_ENTRIES => u64::MAX,
        last => last.map_or(after, |last| last.position),
    }
}

/// Returns the good entries in front, or why there is not even one.
pub(crate) fn front(run: EntryRun) -> Result<Vec<Entry>, JournalError> {
    match run.bad {
        Some(failure) if run.good.is_empty() => Err(failure),
        Some(_) | None => Ok(run.good.into_iter().map(|(entry, _)| entry).collect()),
    }
}
