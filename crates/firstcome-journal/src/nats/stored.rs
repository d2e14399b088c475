//! The bytes of messages in the table: the head, the index of snapshots, and cells. Numbers are little-endian.

use crate::ancestry::{Message, Place};
use crate::bytes::Reader;
use crate::database::HeadRow;
use crate::error::JournalError;
use crate::snapshots::manifest::Manifest;
use firstcome_core::Timestamp;
use firstcome_core::names::{PieceName, SpaceId};
use std::collections::BTreeMap;

/// The version of these bytes that this build writes and knows.
const VERSION: u8 = 1;
/// What follows in a head: a row, or the mark of an emptied store.
const ROW: u8 = 1;
const MARK: u8 = 2;
/// Bytes that a message has beside its content at most: its headers.
pub(super) const HEADERS: usize = 4 << 10;
/// Bytes that a message must be able to have: an entry is in two at most.
pub(super) const LEAST_PAYLOAD: usize = 1 << 20;

/// What the head of a journal has: about the entries, and behind which message of the log there are any.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadRecord {
    /// Nothing where the space was lost and is being made again.
    pub(super) row: Option<HeadRow>,
    /// What an emptied store is marked with; not where there is a row.
    pub(super) mark: Option<Vec<u8>>,
    /// Messages up to this one are no entries any more, though they may still be there.
    pub(super) floor: Place,
    /// The epoch there.
    pub(super) floor_epoch: u32,
    /// Where the journal began, or was begun again after a state: messages before this one are nobody's ancestors.
    pub(super) origin: Place,
}

impl PartialEq for HeadRecord {
    fn eq(&self, other: &Self) -> bool {
        self.write() == other.write()
    }
}

impl Eq for HeadRecord {}

impl HeadRecord {
    /// Returns the head after the journal was begun again by a message of the log.
    pub(super) fn begun_again(&self, again: Self, at: Place) -> Self {
        let row = again.row.map(|row| HeadRow {
            term: row.term.max(self.row.map_or(0, |row| row.term)),
            skips: self.row.map_or(row.skips, |row| row.skips),
            ..row
        });
        let floor_epoch = row.map_or(0, |row| row.epoch);
        Self { row, mark: None, floor: at, floor_epoch, origin: at }
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        let Self { floor, origin, .. } = self;
        for number in [floor.sequence, floor.mark, origin.sequence, origin.mark] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.floor_epoch.to_le_bytes());
        let Some(row) = &self.row else {
            if let Some(mark) = &self.mark {
                bytes.push(MARK);
                bytes.extend_from_slice(mark);
            }
            return bytes;
        };
        bytes.push(ROW);
        bytes.extend_from_slice(&row.space.0);
        for number in [row.level, row.epoch, row.skips] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&row.term.to_le_bytes());
        let (position, name, at) = row.base;
        bytes.extend_from_slice(&position.to_le_bytes());
        bytes.extend_from_slice(&name.to_bytes());
        if let Some(at) = at {
            bytes.extend_from_slice(&at.as_micros().to_le_bytes());
        }
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, JournalError> {
        let broken = || JournalError::Broken("its head cannot be read".to_owned());
        let mut reader = Reader(bytes);
        reader.version()?;
        let mut head = reader.floor().ok_or_else(broken)?;
        match reader.byte() {
            None => {}
            Some(ROW) => head.row = Some(reader.row().ok_or_else(broken)?),
            Some(MARK) => head.mark = Some(reader.0.to_vec()),
            Some(_) => return Err(broken()),
        }
        Ok(head)
    }
}

/// The snapshots that are kept, and the pieces that are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    /// The newest first.
    pub(super) manifests: Vec<Manifest>,
    /// Each with the time since which no kept manifest names it.
    pub(super) pieces: BTreeMap<PieceName, Option<Timestamp>>,
}

impl Index {
    /// Keeps these manifests and no others; pieces that none of them names are idle from now on.
    pub(super) fn keep_only(&mut self, manifests: &[Manifest], now: Timestamp) {
        self.manifests = manifests.to_vec();
        for (name, idle) in &mut self.pieces {
            let named = manifests.iter().any(|manifest| manifest.pieces.contains(name));
            *idle = if named { None } else { idle.or(Some(now)) };
        }
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        write_manifests(&self.manifests, &mut bytes);
        for (name, idle) in &self.pieces {
            bytes.extend_from_slice(&name.0);
            let idle = idle.map_or(i64::MIN, Timestamp::as_micros);
            bytes.extend_from_slice(&idle.to_le_bytes());
        }
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, JournalError> {
        let mut reader = Reader(bytes);
        reader.version()?;
        let broken = || JournalError::Broken("its index of snapshots cannot be read".to_owned());
        reader.index().ok_or_else(broken)
    }
}

/// What a message of the log that begins the journal again says of the state.
#[derive(Clone, Debug)]
pub(super) struct Restart {
    pub(super) head: HeadRecord,
    pub(super) manifests: Vec<Manifest>,
}

impl Restart {
    pub(super) fn write(&self) -> Vec<u8> {
        let (head, mut bytes) = (self.head.write(), Vec::new());
        bytes.extend_from_slice(&u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(&head);
        write_manifests(&self.manifests, &mut bytes);
        bytes
    }

    /// Reads it from a message of the log.
    pub(super) fn read(message: &[u8]) -> Result<Self, JournalError> {
        let broken = || JournalError::Broken("its log cannot be read".to_owned());
        let Message::Restart(bytes) = Message::read(message, 0)? else { return Err(broken()) };
        let mut reader = Reader(bytes);
        let length = reader.length().ok_or_else(broken)?;
        let head = reader.bytes(length).ok_or_else(broken)?;
        let manifests = reader.manifests().ok_or_else(broken)?;
        Ok(Self { head: HeadRecord::read(&head)?, manifests })
    }
}

fn write_manifests(manifests: &[Manifest], bytes: &mut Vec<u8>) {
    let length = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes();
    bytes.extend_from_slice(&length(manifests.len()));
    for manifest in manifests {
        bytes.extend_from_slice(&manifest.position.to_le_bytes());
        bytes.extend_from_slice(&length(manifest.pieces.len()));
        manifest.pieces.iter().for_each(|name| bytes.extend_from_slice(&name.0));
        bytes.extend_from_slice(&length(manifest.bytes.len()));
        bytes.extend_from_slice(&manifest.bytes);
    }
}

/// A part of a cell.
#[derive(Debug)]
pub(super) struct CellPart<'a> {
    /// How many parts the cell has.
    pub(super) parts: usize,
    /// Whether the time when it was stored stands before the value.
    pub(super) stamped: bool,
    pub(super) value: &'a [u8],
}

impl<'a> CellPart<'a> {
    pub(super) fn write(&self) -> Vec<u8> {
        let parts = u8::try_from(self.parts).unwrap_or(u8::MAX);
        [&[VERSION, u8::from(self.stamped), parts], self.value].concat()
    }

    /// Reads a part; `None` for what this build does not know.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let ([version, stamped, parts], value) = bytes.split_first_chunk::<3>()?;
        let stamped = *stamped == 1;
        (*version == VERSION).then_some(Self { parts: usize::from(*parts), stamped, value })
    }
}

/// Reads what is in messages of the table from the front of bytes.
trait ReadStored {
    fn version(&mut self) -> Result<(), JournalError>;
    fn floor(&mut self) -> Option<HeadRecord>;
    fn row(&mut self) -> Option<HeadRow>;
    fn manifests(&mut self) -> Option<Vec<Manifest>>;
    fn index(&mut self) -> Option<Index>;
}

impl ReadStored for Reader<'_> {
    fn version(&mut self) -> Result<(), JournalError> {
        match self.byte() {
            Some(VERSION) => Ok(()),
            other => Err(JournalError::Unfit {
                why: format!(
                    "its messages are of version {other:?}, this build knows version {VERSION}"
                ),
                fix: "start a build of firstcome that knows them".to_owned(),
            }),
        }
    }

    fn floor(&mut self) -> Option<HeadRecord> {
        let floor = Place { sequence: self.u64()?, mark: self.u64()? };
        let origin = Place { sequence: self.u64()?, mark: self.u64()? };
        let floor_epoch = self.u32()?;
        Some(HeadRecord { row: None, mark: None, floor, floor_epoch, origin })
    }

    fn row(&mut self) -> Option<HeadRow> {
        let space = SpaceId(self.take()?);
        let (level, epoch, skips) = (self.u32()?, self.u32()?, self.u32()?);
        let term = self.u64()?;
        let (position, name) = (self.u64()?, self.name()?);
        let base = (position, name, self.i64().map(Timestamp::from_micros));
        Some(HeadRow { space, level, epoch, term, base, last: None, skips })
    }

    fn manifests(&mut self) -> Option<Vec<Manifest>> {
        let mut manifests = Vec::new();
        for _ in 0..self.u32()? {
            let position = self.u64()?;
            let count = self.length()?;
            let (names, _) = self.0.split_at_checked(count.checked_mul(16)?)?;
            let pieces = names.as_chunks::<16>().0.iter().map(|name| PieceName(*name)).collect();
            self.0 = self.0.get(count * 16..)?;
            let length = self.length()?;
            manifests.push(Manifest { position, pieces, bytes: self.bytes(length)? });
        }
        Some(manifests)
    }

    fn index(&mut self) -> Option<Index> {
        let mut index = Index { manifests: self.manifests()?, ..Index::default() };
        while !self.0.is_empty() {
            let name = PieceName(self.take()?);
            let idle = self.i64()?;
            let idle = (idle != i64::MIN).then_some(Timestamp::from_micros(idle));
            index.pieces.insert(name, idle);
        }
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;
    use firstcome_core::NodeId;

    #[test]
    fn what_is_written_can_be_read_back() {
        let name = Name { node: NodeId([3; 16]), number: 9 };
        for base_at in [None, Some(Timestamp::from_micros(-5))] {
            let row = HeadRow {
                space: SpaceId([1; 16]),
                level: 3,
                epoch: 4,
                term: 5,
                base: (6, name, base_at),
                last: None,
                skips: 7,
            };
            let floor = Place { sequence: 8, mark: 9 };
            let head =
                HeadRecord { row: Some(row), mark: None, floor, floor_epoch: 10, origin: floor };
            let read = HeadRecord::read(&head.write()).unwrap();
            assert_eq!(format!("{read:?}"), format!("{head:?}"));
        }
        let marked = HeadRecord { mark: Some(vec![5]), ..HeadRecord::default() };
        for without in [marked, HeadRecord::default()] {
            assert_eq!(HeadRecord::read(&without.write()).unwrap(), without);
        }
        let (one, other) = (PieceName([1; 16]), PieceName([2; 16]));
        let manifest = Manifest { position: 3, pieces: vec![one, other], bytes: b"all".to_vec() };
        let pieces = [(one, None), (other, Some(Timestamp::from_micros(4)))].into();
        let index = Index { manifests: vec![manifest], pieces };
        assert_eq!(Index::read(&index.write()).unwrap(), index);
        assert!(Index::read(&index.write()[..30]).is_err());
        assert!(HeadRecord::read(&[9]).is_err());
    }
}
