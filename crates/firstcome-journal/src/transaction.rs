//! What a store does in one atomic step beside appending: conditions, then changes, then reads.
//!
//! All rules of snapshots, trimming, repairs and membership are written above the stores, in terms of
//! this. They read what is there, decide, and change it on the condition that it is still there. A store
//! only has to evaluate a [`Transaction`] so that nobody else comes in between: under a lock, in a
//! transaction of a database, in a script. `docs/reference/stores.md` says what else a store has to do.

pub(crate) mod call;
pub(crate) mod cell;
pub(crate) mod conditions;

use crate::entry::{Entry, Head};
use crate::error::JournalError;
use crate::name::{Name, Tip};
use crate::snapshots::manifest::Manifest;
use crate::transaction::call::JournalCall;
use crate::transaction::cell::{Cell, Kind};
use firstcome_core::Timestamp;
use firstcome_core::names::PieceName;

/// One atomic step. If a condition does not hold, nothing is changed and its failure is the answer.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// What it is a part of: faults of tests and of the simulation are planned by this.
    pub(crate) call: JournalCall,
    /// Looked at in order, before anything changes.
    pub(crate) checks: Vec<Check>,
    /// Done in order: all of them or none.
    pub(crate) writes: Vec<Write>,
    /// Read after the changes.
    pub(crate) reads: Vec<Read>,
    /// Whether it is also done where there is no room for entries and pieces: it frees some, or is small.
    pub(crate) frees: bool,
}

/// A condition.
#[derive(Clone, Debug)]
pub(crate) enum Check {
    /// The store has the space: else [`JournalError::Gone`].
    There,
    /// The store has nothing of the space: else [`JournalError::Moved`].
    Nothing,
    /// No later term was minted: else [`JournalError::OldTerm`].
    Term(u64),
    /// The entry of this name is kept: else [`JournalError::Behind`], [`JournalError::Trimmed`] or [`JournalError::Forked`].
    Entry { position: u64, name: Name },
    /// The journal ends with this entry and, if one is given, is of this epoch: else [`JournalError::Moved`].
    End { position: u64, name: Name, epoch: Option<u32> },
    /// The kept manifests have these positions and pieces: else [`JournalError::Moved`].
    Manifests(Vec<Manifest>),
    /// The kept manifests have these positions, the newest first: else [`JournalError::Moved`].
    Positions(Vec<u64>),
    /// These pieces are stored: else [`JournalError::PieceMissing`].
    Pieces(Vec<PieceName>),
    /// No cell of a node says that it applied this position in the last ten seconds: else [`JournalError::Moved`].
    NotApplied(u64),
    /// This cell is there and as it was seen: else [`JournalError::Moved`].
    Same(Cell),
}

/// A change.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    /// Raises the term by one.
    Term,
    /// Raises the epoch by one.
    Epoch,
    /// Raises the level of the head, if it is lower.
    Level(u32),
    /// Appends entries whole, store part included: positions, times and epochs are theirs.
    Entries(Vec<Entry>),
    /// Forgets all entries, and has the journal go on after a state of this epoch and level. Where the
    /// space was lost, its term goes on from the store's clock in seconds; a mark that stands there is gone.
    Restart { tip: Tip, epoch: u32, level: u32 },
    /// Drops the entries up to a position.
    Trim(u64),
    /// Keeps these manifests, the newest first, and no others.
    Manifests(Vec<Manifest>),
    /// Stores a piece. One that no manifest names counts as idle from now on, whether it was there or not.
    Piece(PieceName, Vec<u8>),
    /// Notes that a manifest names these pieces: they are not idle.
    Named(Vec<PieceName>),
    /// Notes that no manifest names these pieces any more: they are idle from now on.
    Unnamed(Vec<PieceName>),
    /// Drops pieces that have been idle since a time or longer, at most [`IDLE_PIECES`] of them.
    DropIdle(Timestamp),
    /// Stores a cell.
    Put(Cell),
    /// Stores a cell with the store's time before its value: 8 bytes, µs, little-endian.
    Stamped(Cell),
    /// Removes a cell, if it is there.
    Delete(Kind, Vec<u8>),
    /// Leaves a mark where the head of a space would stand.
    Mark(Vec<u8>),
    /// Removes the mark.
    Unmark,
    /// Forgets the space and all entries, and leaves a mark where its head stood.
    Vacate(Vec<u8>),
}

/// How many pieces [`Write::DropIdle`] drops at most, so that appends go in between.
pub(crate) const IDLE_PIECES: usize = 16;
/// How many entries [`Read::Old`] names at most.
pub(crate) const OLD_ENTRIES: usize = 64;

/// What is read.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    /// The kept manifests, into [`Seen::manifests`].
    Manifests,
    /// All cells of a kind, into [`Seen::cells`].
    Cells(Kind),
    /// The keys of all cells of a kind, into [`Seen::cells`] with empty values.
    Keys(Kind),
    /// A piece, into [`Seen::piece`].
    Piece(PieceName),
    /// Up to where the first entries are no younger than `cutoff`, into [`Seen::old`]: not beyond `through`, and at
    /// most [`OLD_ENTRIES`] of them.
    Old { through: u64, cutoff: Timestamp },
}

/// What a [`Transaction`] found, after its changes.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Where the journal stands; `None` where the store has nothing of the space.
    pub(crate) head: Option<Head>,
    /// What an emptied store is marked with, in the place of the head.
    pub(crate) mark: Option<Vec<u8>>,
    /// The term that was minted last.
    pub(crate) term: u64,
    /// The store's clock.
    pub(crate) now: Timestamp,
    /// At most two, the newest first.
    pub(crate) manifests: Vec<Manifest>,
    /// In no order that counts.
    pub(crate) cells: Vec<Cell>,
    /// `None` where it is not stored.
    pub(crate) piece: Option<Vec<u8>>,
    /// The last position that may go; `None` where no entry may.
    pub(crate) old: Option<u64>,
    /// How many pieces [`Write::DropIdle`] dropped.
    pub(crate) dropped: usize,
}

impl Transaction {
    /// Begins one that does nothing yet.
    pub(crate) fn new(call: JournalCall) -> Self {
        let (checks, writes, reads) = (Vec::new(), Vec::new(), Vec::new());
        Self { call, checks, writes, reads, frees: false }
    }

    /// Returns what it is a part of.
    pub fn call(&self) -> JournalCall {
        self.call
    }

    /// Adds a condition.
    pub(crate) fn check(mut self, check: Check) -> Self {
        self.checks.push(check);
        self
    }

    /// Adds a change.
    pub(crate) fn write(mut self, write: Write) -> Self {
        self.writes.push(write);
        self
    }

    /// Adds something to read.
    pub(crate) fn read(mut self, read: Read) -> Self {
        self.reads.push(read);
        self
    }

    /// Has it done also where there is no room.
    pub(crate) fn frees(self) -> Self {
        Self { frees: true, ..self }
    }
}

impl Seen {
    /// Begins with what every transaction gives.
    pub(crate) fn new(head: Option<Head>, term: u64, now: Timestamp) -> Self {
        let (manifests, cells) = (Vec::new(), Vec::new());
        let mark = None;
        Self { head, mark, term, now, manifests, cells, piece: None, old: None, dropped: 0 }
    }

    /// Returns where the journal stands.
    ///
    /// # Errors
    ///
    /// [`JournalError::Broken`] where the store has nothing of the space.
    pub fn head(&self) -> Result<Head, JournalError> {
        self.head.ok_or_else(|| JournalError::Broken("its head cannot be read".to_owned()))
    }
}
