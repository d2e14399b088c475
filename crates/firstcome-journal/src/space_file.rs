//! A space in one file: what `journal export` and `backup` write, and what `journal import` and `restore` bring to a store.
//!
//! The file is written once, from its beginning to its end, and counts only once it is whole. Every record is checksummed,
//! and each checksum is seeded with the one before: a record that is missing, exchanged or added shows as much as one that
//! was altered. `docs/reference/space-file.md` describes the bytes.

mod check;
mod reader;
mod record;
mod writer;

pub use reader::SpaceFile;
pub use writer::SpaceWriter;

use crate::entry::Sealer;
use crate::error::JournalError;
use firstcome_core::names::SpaceId;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"FCEXPORT";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 44;

/// What the head of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The space that the file brings.
    pub space: SpaceId,
    /// The level of the space.
    pub level: u32,
    /// What it was written for.
    pub purpose: Purpose,
}

/// What a file was written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The space moves: nobody goes on where it was.
    Move = 0,
    /// The space it was made of goes on, and this one has another id.
    Copy = 1,
    /// To have the space again after a loss, under its id; rows of its ledger are with it.
    Backup = 2,
}

impl About {
    fn sealer(&self) -> Sealer {
        Sealer { space: self.space }
    }

    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..28].copy_from_slice(&self.space.0);
        bytes[28..32].copy_from_slice(&self.level.to_le_bytes());
        bytes[32..36].copy_from_slice(&(self.purpose as u32).to_le_bytes());
        let checksum = xxh3_64(&bytes[..36]);
        bytes[36..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, &'static str> {
        let u32_at = |at: usize| u32::from_le_bytes(chunk(bytes, at));
        if &bytes[..8] != MAGIC {
            return Err("it is no file of an exported space");
        }
        if xxh3_64(&bytes[..36]).to_le_bytes() != bytes[36..] {
            return Err("its head is torn or altered");
        }
        if u32_at(8) != VERSION {
            return Err("it is of a version that this build does not know: use a newer build");
        }
        let all = [Purpose::Move, Purpose::Copy, Purpose::Backup];
        let purpose = all.into_iter().find(|purpose| *purpose as u32 == u32_at(32));
        let purpose = purpose.ok_or("its head is of another form")?;
        Ok(Self { space: SpaceId(chunk(bytes, 12)), level: u32_at(28), purpose })
    }

    /// Returns what the checksum of the first record is seeded with.
    fn checksum(&self) -> u64 {
        u64::from_le_bytes(chunk(&self.encode(), 36))
    }
}

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut chunk = [0; N];
    chunk.copy_from_slice(&bytes[at..at + N]);
    chunk
}

fn bad(path: &Path, why: impl Into<String>) -> JournalError {
    JournalError::BadFile { file: path.display().to_string(), why: why.into() }
}
