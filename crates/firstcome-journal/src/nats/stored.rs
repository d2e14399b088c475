//! The bytes of messages: entries, the head, the index of snapshots, and cells. Numbers are little-endian.

use super::subjects::Subjects;
use crate::database::HeadRow;
use crate::entry::Entry;
use crate::failure::Failure;
use crate::manifest::Manifest;
use crate::name::Name;
use firstcome_core::Timestamp;
use firstcome_core::names::{PieceName, SpaceId};
use firstcome_store::Failure as Store;
use firstcome_store::nats::{Put, Stored, Stream};
use std::collections::BTreeMap;

/// The version of these bytes that this build writes and knows.
const VERSION: u8 = 1;
/// Bytes before the body of an entry.
const FRONT: usize = 42;
/// Bytes that a message has beside its content at most: its headers.
const HEADERS: usize = 4 << 10;
/// Bytes that a message must be able to have: an entry is in two at most.
pub(super) const LEAST_PAYLOAD: usize = 1 << 20;

/// When an entry was stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// When its message was, but not before this.
    NotBefore(Timestamp),
    /// At this time: it was put back, or a test set the clock.
    At(Timestamp),
}

/// Gives the messages of an entry: one, or its rest and then its front where it does not fit.
pub(super) fn entry_messages(subject: String, bytes: Vec<u8>, max_payload: usize) -> Vec<Put> {
    let most = max_payload - HEADERS;
    match bytes.split_at_checked(most) {
        Some((front, rest)) if !rest.is_empty() => vec![
            Put::new(Subjects::rest(&subject), rest.to_vec()),
            Put::new(subject, front.to_vec()),
        ],
        Some(_) | None => vec![Put::new(subject, bytes)],
    }
}

/// Adds its rest to the front of an entry, where it has one.
pub(super) async fn whole(stream: &Stream, mut front: Stored) -> Result<Stored, Store> {
    let length = front.bytes.get(FRONT - 4..FRONT).and_then(|four| four.try_into().ok());
    let length = length.map_or(0, u32::from_le_bytes);
    if usize::try_from(length).is_ok_and(|length| front.bytes.len() < FRONT + length)
        && let Some(rest) = stream.last(&Subjects::rest(&front.subject)).await?
    {
        front.bytes.extend_from_slice(&rest.bytes);
    }
    Ok(front)
}

/// Gives the bytes of an entry.
pub(super) fn write_entry(when: When, epoch: u32, before: Name, body: &[u8]) -> Vec<u8> {
    let (exact, time) = match when {
        When::NotBefore(time) => (0, time),
        When::At(time) => (1, time),
    };
    let mut bytes = Vec::with_capacity(FRONT + body.len());
    bytes.extend_from_slice(&[VERSION, exact]);
    bytes.extend_from_slice(&epoch.to_le_bytes());
    bytes.extend_from_slice(&time.as_micros().to_le_bytes());
    bytes.extend_from_slice(&before.to_bytes());
    bytes.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Reads an entry.
pub(super) fn read_entry(position: u64, stored: &Stored) -> Result<Entry, Failure> {
    let damaged = |why: &str| Failure::Damaged { position, why: why.to_owned() };
    let mut front = Reader(&stored.bytes);
    let short = || damaged("its message is too short");
    let version = front.byte().ok_or_else(short)?;
    if version != VERSION {
        return Err(damaged(&format!("its message is of version {version}")));
    }
    let exact = front.byte().ok_or_else(short)?;
    let epoch = front.u32().ok_or_else(short)?;
    let time = Timestamp::from_micros(front.i64().ok_or_else(short)?);
    let before = front.name().ok_or_else(short)?;
    let length = front.length().ok_or_else(short)?;
    if front.0.len() != length {
        return Err(damaged("a part of it is missing"));
    }
    let at = if exact == 1 { time } else { time.max(Timestamp::from_micros(stored.at)) };
    Ok(Entry { position, at, epoch, before, body: front.0.into() })
}

/// What the head of a journal has: about the entries, and from which message of the stream on there are any.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadRecord {
    /// Nothing where the space was lost and is being made again.
    pub(super) row: Option<HeadRow>,
    /// Messages up to this one are no entries any more, though they may still be there.
    pub(super) floor: u64,
}

impl HeadRecord {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.floor.to_le_bytes());
        let Some(row) = &self.row else { return bytes };
        bytes.extend_from_slice(&row.space.0);
        for number in [row.shard, row.level, row.epoch, row.skips] {
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

    pub(super) fn read(bytes: &[u8]) -> Result<Self, Failure> {
        let broken = || Failure::Broken("its head cannot be read".to_owned());
        let mut reader = Reader(bytes);
        reader.version()?;
        let floor = reader.u64().ok_or_else(broken)?;
        if reader.0.is_empty() {
            return Ok(Self { row: None, floor });
        }
        let row = reader.row().ok_or_else(broken)?;
        Ok(Self { row: Some(row), floor })
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
    pub(super) fn write(&self) -> Vec<u8> {
        let length = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes();
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&length(self.manifests.len()));
        for manifest in &self.manifests {
            bytes.extend_from_slice(&manifest.position.to_le_bytes());
            bytes.extend_from_slice(&length(manifest.pieces.len()));
            manifest.pieces.iter().for_each(|name| bytes.extend_from_slice(&name.0));
            bytes.extend_from_slice(&length(manifest.bytes.len()));
            bytes.extend_from_slice(&manifest.bytes);
        }
        for (name, idle) in &self.pieces {
            bytes.extend_from_slice(&name.0);
            let idle = idle.map_or(i64::MIN, Timestamp::as_micros);
            bytes.extend_from_slice(&idle.to_le_bytes());
        }
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, Failure> {
        let mut reader = Reader(bytes);
        reader.version()?;
        let broken = || Failure::Broken("its index of snapshots cannot be read".to_owned());
        reader.index().ok_or_else(broken)
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

/// Reads from the front of bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn version(&mut self) -> Result<(), Failure> {
        match self.byte() {
            Some(VERSION) => Ok(()),
            other => Err(Failure::Unfit {
                why: format!(
                    "its messages are of version {other:?}, this build knows version {VERSION}"
                ),
                fix: "start a build of firstcome that knows them".to_owned(),
            }),
        }
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*front)
    }

    fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front.to_vec())
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn i64(&mut self) -> Option<i64> {
        self.take().map(i64::from_le_bytes)
    }

    fn name(&mut self) -> Option<Name> {
        Name::from_bytes(&self.take::<24>()?)
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.u32()?).ok()
    }

    fn row(&mut self) -> Option<HeadRow> {
        let space = SpaceId(self.take()?);
        let (shard, level, epoch, skips) = (self.u32()?, self.u32()?, self.u32()?, self.u32()?);
        let term = self.u64()?;
        let (position, name) = (self.u64()?, self.name()?);
        let base = (position, name, self.i64().map(Timestamp::from_micros));
        Some(HeadRow { space, shard, level, epoch, term, base, last: None, skips })
    }

    fn index(&mut self) -> Option<Index> {
        let mut index = Index::default();
        for _ in 0..self.u32()? {
            let position = self.u64()?;
            let count = self.length()?;
            let (names, _) = self.0.split_at_checked(count.checked_mul(16)?)?;
            let pieces = names.as_chunks::<16>().0.iter().map(|name| PieceName(*name)).collect();
            self.0 = self.0.get(count * 16..)?;
            let length = self.length()?;
            index.manifests.push(Manifest { position, pieces, bytes: self.bytes(length)? });
        }
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
    use firstcome_core::NodeId;

    #[test]
    fn what_is_written_can_be_read_back() {
        let name = Name { node: NodeId([3; 16]), number: 9 };
        let at = |time: i64| Stored {
            subject: String::new(),
            sequence: 1,
            at: time,
            bytes: write_entry(When::NotBefore(Timestamp::from_micros(50)), 7, name, b"body"),
        };
        let entry = read_entry(4, &at(40)).unwrap();
        assert_eq!((entry.position, entry.epoch, entry.before), (4, 7, name));
        assert_eq!((entry.at.as_micros(), &entry.body[..]), (50, &b"body"[..]));
        assert_eq!(read_entry(4, &at(60)).unwrap().at.as_micros(), 60);
        let bytes = at(0).bytes;
        assert_eq!(entry_messages("e".into(), bytes.clone(), LEAST_PAYLOAD).len(), 1);
        let parts = entry_messages("e".into(), bytes.clone(), HEADERS + 44);
        assert_eq!((&*parts[0].subject, &*parts[0].bytes), ("e.rest", &b"dy"[..]));
        assert_eq!([&*parts[1].bytes, &*parts[0].bytes].concat(), bytes);
        let front = Stored { bytes: parts[1].bytes.clone(), ..at(0) };
        assert!(read_entry(4, &front).unwrap_err().to_string().contains("a part of it"));
        for base_at in [None, Some(Timestamp::from_micros(-5))] {
            let row = HeadRow {
                space: SpaceId([1; 16]),
                shard: 2,
                level: 3,
                epoch: 4,
                term: 5,
                base: (6, name, base_at),
                last: None,
                skips: 7,
            };
            let read = HeadRecord::read(&HeadRecord { row: Some(row), floor: 8 }.write()).unwrap();
            assert_eq!(format!("{:?}", read.row), format!("{:?}", Some(row)));
            assert_eq!(read.floor, 8);
        }
        assert!(HeadRecord::read(&HeadRecord::default().write()).unwrap().row.is_none());
        let (one, other) = (PieceName([1; 16]), PieceName([2; 16]));
        let manifest = Manifest { position: 3, pieces: vec![one, other], bytes: b"all".to_vec() };
        let pieces = [(one, None), (other, Some(Timestamp::from_micros(4)))].into();
        let index = Index { manifests: vec![manifest], pieces };
        assert_eq!(Index::read(&index.write()).unwrap(), index);
        assert!(Index::read(&index.write()[..30]).is_err());
        assert!(HeadRecord::read(&[9]).is_err());
    }
}
