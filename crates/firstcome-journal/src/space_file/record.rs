//! One record of a file: its kind, its length, its content, and a checksum that is seeded with the one before.

use xxhash_rust::xxh3::Xxh3;

/// Bytes before the content: kind and length.
pub(super) const FRONT_BYTES: usize = 5;
/// Bytes after the content.
pub(super) const CHECKSUM_BYTES: usize = 8;

/// What a record is, in the order in which the kinds come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The manifest of the snapshot that the entries go on from; none where they begin with the first.
    Start = 1,
    /// A piece of that snapshot: its name, then its bytes.
    StartPiece = 2,
    /// The record of a skipped entry.
    Skip = 3,
    /// An entry, as in an archive.
    Entry = 4,
    /// A piece of the snapshot behind the last entry, unless it is one of the first snapshot, too.
    Piece = 5,
    /// The manifest of the snapshot behind the last entry.
    State = 6,
    /// A row of the ledger, in a backup.
    Row = 7,
    /// How many records come before it.
    End = 8,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Start,
        Self::StartPiece,
        Self::Skip,
        Self::Entry,
        Self::Piece,
        Self::State,
        Self::Row,
        Self::End,
    ];

    pub(super) fn read(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }

    /// Says whether a record of this kind may come behind one of another kind, or first in the file.
    pub(super) fn may_follow(self, before: Option<Self>) -> bool {
        match self {
            Self::Start => before.is_none(),
            Self::StartPiece => matches!(before, Some(Self::Start | Self::StartPiece)),
            Self::Skip | Self::Entry | Self::Piece => before <= Some(self),
            Self::State => before < Some(self),
            Self::Row | Self::End => matches!(before, Some(Self::State | Self::Row)),
        }
    }
}

/// Returns the bytes before the content.
pub(super) fn front(kind: Kind, length: u32) -> [u8; FRONT_BYTES] {
    let mut front = [kind as u8; FRONT_BYTES];
    front[1..].copy_from_slice(&length.to_le_bytes());
    front
}

/// Returns the checksum of a record.
pub(super) fn checksum(before: u64, front: &[u8; FRONT_BYTES], content: &[&[u8]]) -> u64 {
    let mut hash = Xxh3::with_seed(before);
    hash.update(front);
    content.iter().for_each(|part| hash.update(part));
    hash.digest()
}
