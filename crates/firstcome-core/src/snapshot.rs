//! Snapshots: the state in pieces, written and read.
//!
//! [`State::freeze`](crate::State::freeze) takes a moment and copies no claims: sealed segments never change, open
//! ones are copied only if written to while the snapshot is under way. The pieces then come one at a
//! time, at most 256 KiB each, and the manifest last. A piece is named by its content, so a sealed
//! segment is written once in its life, whatever the number of snapshots.

mod acts;
mod bars;
mod campaign;
mod codes;
mod finish;
mod freeze;
mod holds;
mod restore;
mod waiters;
mod waiting;

pub use freeze::{Frozen, Piece};
pub use restore::Restore;

use crate::names::{NodeId, PieceName, SpaceId};
use crate::state::{Skip, Stamp};
use crate::time::Timestamp;
use crate::wire::{Malformed, Reader, Value, Write, newest_level};
use xxhash_rust::xxh3::xxh3_64;

/// Why a snapshot cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSnapshot {
    /// It was written by a newer build.
    #[error("the snapshot is of level {0}, this build reads up to level {newest}", newest = newest_level())]
    TooNew(u32),
    /// The manifest's checksum does not fit: it is torn or was altered.
    #[error("the manifest is torn or altered: its checksum does not fit its bytes")]
    Checksum,
    /// The manifest cannot be read.
    #[error("the manifest cannot be read: {0}")]
    Manifest(Malformed),
    /// A piece has other bytes than its name says.
    #[error("piece {0} is torn or altered: its bytes give another name")]
    Altered(PieceName),
    /// A piece cannot be read.
    #[error("piece {name} cannot be read: {why}")]
    Piece {
        /// The piece.
        name: PieceName,
        /// What is wrong in it.
        why: Malformed,
    },
    /// The pieces do not fit together.
    #[error("the pieces do not fit together: {0}")]
    Unfit(&'static str),
}

/// What a snapshot says of itself, and its pieces in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub space: SpaceId,
    /// The last entry it covers.
    pub stamp: Stamp,
    /// The digest after that entry.
    pub digest: u64,
    /// The pieces, to be restored in this order.
    pub pieces: Vec<PieceName>,
    /// The entries that were skipped, by position.
    pub skipped: Vec<Skip>,
    pub(crate) service: i64,
    pub(crate) settled: u64,
    pub(crate) term: u64,
    pub(crate) fingerprint: u64,
    pub(crate) last_campaign: u32,
    pub(crate) sweep_at: i64,
    pub(crate) list_turn: u32,
}

impl Manifest {
    /// Writes the manifest, its level first and its checksum last.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.number(1, u64::from(self.stamp.level));
        out.bytes(2, &self.space.0);
        if self.fingerprint > 0 {
            out.number(3, self.fingerprint);
        }
        out.number(4, self.stamp.position);
        out.time(5, self.stamp.at);
        out.number(6, u64::from(self.stamp.epoch));
        out.bytes(7, &self.stamp.node.0);
        out.number(8, self.stamp.number);
        out.number(9, self.digest);
        out.signed(10, self.service);
        out.number(11, self.settled);
        out.number(12, self.term);
        out.number(13, u64::from(self.last_campaign));
        out.signed(14, self.sweep_at);
        let names: Vec<u8> = self.pieces.iter().flat_map(|name| name.0).collect();
        out.bytes(15, &names);
        self.skipped.iter().for_each(|skip| out.bytes(16, &skip.encode()));
        if self.list_turn > 0 {
            out.number(17, u64::from(self.list_turn));
        }
        let checksum = xxh3_64(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Reads a manifest as [`Manifest::encode`] writes it.
    ///
    /// # Errors
    ///
    /// A wrong checksum, a level above this build's, or bytes of another form.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadSnapshot> {
        let (content, checksum) = bytes.split_last_chunk::<8>().ok_or(BadSnapshot::Checksum)?;
        if xxh3_64(content).to_le_bytes() != *checksum {
            return Err(BadSnapshot::Checksum);
        }
        let mut level = 0;
        let at = Timestamp::from_micros(0);
        let stamp = Stamp {
            position: 0,
            at,
            epoch: 0,
            node: NodeId::default(),
            number: 0,
            again_of: None,
            level: 0,
        };
        let mut read = Self {
            space: SpaceId::default(),
            stamp,
            digest: 0,
            pieces: Vec::new(),
            skipped: Vec::new(),
            service: 0,
            settled: 0,
            term: 0,
            fingerprint: 0,
            last_campaign: 0,
            sweep_at: 0,
            list_turn: 0,
        };
        let fields = Reader::new(content).fields(|field, value| {
            match field {
                1 => level = value.number32()?,
                _ if level > newest_level() => {}
                2 => read.space = SpaceId(value.id()?),
                3 => read.fingerprint = value.number()?,
                4 => read.stamp.position = counted(value)?,
                5 => read.stamp.at = value.time()?,
                6 => read.stamp.epoch = value.number32()?,
                7 => read.stamp.node = NodeId(value.id()?),
                8 => read.stamp.number = counted(value)?,
                9 => read.digest = value.number()?,
                10 => read.service = service_time(value)?,
                11 => read.settled = counted(value)?,
                12 => read.term = value.number()?,
                13 => read.last_campaign = value.number32()?,
                14 => read.sweep_at = value.signed()?,
                15 => {
                    let (names, rest) = value.bytes()?.as_chunks::<16>();
                    if !rest.is_empty() {
                        return Err(value.wrong("a list of names that is cut"));
                    }
                    read.pieces = names.iter().map(|name| PieceName(*name)).collect();
                }
                16 => {
                    let skip = Skip::decode(value.bytes()?);
                    read.skipped.push(skip.map_err(|_| value.wrong("a skip that is damaged"))?);
                }
                17 => read.list_turn = value.number32()?,
                _ => return Err(value.wrong("an unknown field of a manifest")),
            }
            Ok(())
        });
        if level > newest_level() {
            return Err(BadSnapshot::TooNew(level));
        }
        fields.map_err(BadSnapshot::Manifest)?;
        read.stamp.level = level;
        if level == 0 {
            let what = "a level that never was";
            return Err(BadSnapshot::Manifest(Malformed { what, at: 0 }));
        }
        Ok(read)
    }
}

/// More than was ever counted up to, or passed in microseconds: what is added to it still is a number.
const BEYOND: u64 = 1 << 62;

/// Reads a number that was counted up from 0.
fn counted(value: Value<'_>) -> Result<u64, Malformed> {
    let number = value.number()?;
    if number < BEYOND { Ok(number) } else { Err(value.wrong("a number nothing counts up to")) }
}

/// Reads a service time.
fn service_time(value: Value<'_>) -> Result<i64, Malformed> {
    let time = value.signed()?;
    let passed = time.unsigned_abs() < BEYOND;
    if passed { Ok(time) } else { Err(value.wrong("a service time that cannot have passed")) }
}

/// The fields of a piece: any number of them, of any kind.
mod field {
    pub(super) const CAMPAIGN: u32 = 1;
    pub(super) const SEGMENT: u32 = 2;
    pub(super) const NOTE: u32 = 3;
    pub(super) const BATCH: u32 = 4;
    pub(super) const ORDER: u32 = 5;
    pub(super) const RESULTS: u32 = 6;
    pub(super) const ARCHIVED: u32 = 7;
    pub(super) const HALL: u32 = 8;
    pub(super) const GRANTS: u32 = 9;
    pub(super) const HOLDER: u32 = 10;
    pub(super) const HOLD: u32 = 11;
    pub(super) const REFUND: u32 = 12;
    pub(super) const MOVED: u32 = 13;
    pub(super) const BAR: u32 = 14;
    pub(super) const WAITERS: u32 = 39;
    pub(super) const UNSERVED: u32 = 40;
    pub(super) const FREED: u32 = 41;
    pub(super) const WISH: u32 = 42;
    pub(super) const CODES: u32 = 15;
    pub(super) const ACT: u32 = 16;
}
