//! What columns of a journal's tables mean, whatever the database.

use super::DatabaseOptions;
use crate::entry::Entry;
use crate::error::JournalError;
use crate::name::Name;
use crate::snapshots::manifest::Manifest;
use crate::transaction::cell::{Cell, Kind};
use firstcome_core::names::{PieceName, SpaceId};
use firstcome_core::{Timestamp, newest_level};
use std::sync::Arc;

/// The version of the tables that this build makes and knows.
pub(crate) const TABLES: i32 = 1;

/// The columns of an entry, without its body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryColumns<'a> {
    pub(crate) position: i64,
    pub(crate) at: i64,
    pub(crate) epoch: i64,
    pub(crate) before: &'a [u8],
}

impl EntryColumns<'_> {
    /// Returns the entry.
    pub(crate) fn entry(self, body: Arc<[u8]>) -> Result<Entry, JournalError> {
        let position = self.position.cast_unsigned();
        let damaged = |why: &str| JournalError::Damaged { position, why: why.to_owned() };
        Ok(Entry {
            position,
            at: Timestamp::from_micros(self.at),
            epoch: u32::try_from(self.epoch).map_err(|_| damaged("its epoch is none"))?,
            before: Name::from_bytes(self.before)
                .ok_or_else(|| damaged("the name before it is none"))?,
            body,
        })
    }
}

/// The columns of the head that say whose journal it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnerColumns<'a> {
    pub(crate) tables: i64,
    pub(crate) space: &'a [u8],
    pub(crate) level: i64,
}

impl OwnerColumns<'_> {
    /// Returns the identity of the space, if this build can use the journal and it is the one that is wanted.
    pub(crate) fn check(self, options: &DatabaseOptions) -> Result<SpaceId, JournalError> {
        if self.tables != i64::from(TABLES) {
            let tables = self.tables;
            return Err(JournalError::Unfit {
                why: format!(
                    "its tables are of version {tables}, this build knows version {TABLES}"
                ),
                fix: "start a build of firstcome that knows them".to_owned(),
            });
        }
        let level = u32::try_from(self.level).unwrap_or(u32::MAX);
        if level > newest_level() {
            return Err(JournalError::TooNew(level));
        }
        let found = space_of(self.space)?;
        if options.vacant {
            return Err(JournalError::HasSpace(found));
        }
        if let Some(wanted) = options.wanted.filter(|wanted| *wanted != found) {
            return Err(JournalError::OtherSpace { found, wanted });
        }
        Ok(found)
    }
}

/// Returns a manifest out of its columns.
pub(crate) fn manifest(position: i64, pieces: &[u8], bytes: Vec<u8>) -> Manifest {
    let (names, _) = pieces.as_chunks::<16>();
    Manifest {
        position: position.cast_unsigned(),
        pieces: names.iter().map(|name| PieceName(*name)).collect(),
        bytes,
    }
}

/// Returns a cell out of its columns; `None` for one of a kind that this build does not know.
pub(crate) fn cell_of(number: i64, key: Vec<u8>, value: Vec<u8>) -> Option<Cell> {
    let mut kinds = [Kind::Skip, Kind::Node, Kind::Report].into_iter();
    let kind = kinds.find(|kind| i64::from(number_of(*kind)) == number)?;
    Some(Cell { kind, key, value })
}

/// Returns the number under which cells of a kind are stored.
pub(crate) fn number_of(kind: Kind) -> i16 {
    match kind {
        Kind::Skip => 1,
        Kind::Node => 2,
        Kind::Report => 3,
    }
}

/// Reads the name of a piece.
pub(crate) fn piece_name(bytes: &[u8]) -> Result<PieceName, JournalError> {
    bytes
        .try_into()
        .map(PieceName)
        .map_err(|_| JournalError::Broken("a piece has no name".to_owned()))
}

/// Reads the identity of a space.
pub(crate) fn space_of(bytes: &[u8]) -> Result<SpaceId, JournalError> {
    let bytes = bytes.try_into();
    bytes
        .map(SpaceId)
        .map_err(|_| JournalError::Broken("the identity of its space is none".to_owned()))
}

/// Returns the term of a journal that begins again: terms go on from before. Where they were lost, they go on from the
/// clock: nobody's was ever that high.
pub(crate) fn term_after(before: Option<u64>, now: Timestamp) -> i64 {
    before.map_or(now.as_micros() / 1_000_000, u64::cast_signed)
}
