//! The archive: entries that were trimmed from the journal, in files.
//!
//! A file is a header and then entries, one after the other; it is only ever written at its end. It
//! is named by the position of its first entry, twenty digits and `.fcj`. Numbers are little-endian.
//!
//! | Bytes of the header | Content |
//! |---|---|
//! | 8 | `FCARCHIV` |
//! | 4 | version of this form: 1 |
//! | 16 | space |
//! | 8 | position of the first entry |
//! | 8 | XXH3-64 of the 36 bytes before |
//!
//! | Bytes of an entry | Content |
//! |---|---|
//! | 4 | length of the body, n |
//! | 8 | position |
//! | 8 | time, µs since 1970-01-01T00:00:00Z |
//! | 4 | epoch |
//! | 16, 8 | name of the entry before: node, number |
//! | n | body |
//! | 8 | checksum over all of it: see [`Sealer::seal`] |

mod archiving;
mod reader;
mod skips;
mod writer;

pub(crate) use archiving::Archiving;
pub use reader::Frames;
pub use skips::skips;
pub use writer::Archive;

use crate::entry::{Entry, Sealer};
use crate::error::JournalError;
use crate::name::Name;
use firstcome_core::names::{NodeId, SpaceId};
use firstcome_core::{Timestamp, limits};
use std::io;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"FCARCHIV";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 44;
/// Bytes of an entry before its body.
const FRONT_BYTES: usize = 48;
const SEAL_BYTES: usize = 8;
const EXTENSION: &str = "fcj";

/// One file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivePart {
    /// The position of its first entry.
    pub first: u64,
    /// Where it is.
    pub path: PathBuf,
}

/// Lists the files of an archive in the order of their entries; none if there is no such folder.
///
/// # Errors
///
/// The folder cannot be read.
pub fn parts(folder: &Path) -> Result<Vec<ArchivePart>, JournalError> {
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(folder, &error)),
    };
    let mut parts = Vec::new();
    for found in listing {
        let path = found.map_err(|error| unreadable(folder, &error))?.path();
        let ours = path.extension().is_some_and(|extension| extension == EXTENSION);
        let first = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        if let (true, Some(first)) = (ours, first) {
            parts.push(ArchivePart { first, path });
        }
    }
    parts.sort_by_key(|part| part.first);
    Ok(parts)
}

fn header(sealer: &Sealer, first: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[12..28].copy_from_slice(&sealer.space.0);
    bytes[28..36].copy_from_slice(&first.to_le_bytes());
    let checksum = xxh3_64(&bytes[..36]);
    bytes[36..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Writes an entry as a file has it.
pub(crate) fn write_entry(out: &mut Vec<u8>, sealer: &Sealer, entry: &Entry) {
    let length = u32::try_from(entry.body.len()).expect("a body has at most 1 MiB");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&entry.position.to_le_bytes());
    out.extend_from_slice(&entry.at.as_micros().to_le_bytes());
    out.extend_from_slice(&entry.epoch.to_le_bytes());
    out.extend_from_slice(&entry.before.node.0);
    out.extend_from_slice(&entry.before.number.to_le_bytes());
    out.extend_from_slice(&entry.body);
    out.extend_from_slice(&sealer.seal(entry).to_le_bytes());
}

/// Reads the fields in front of a body: its length, and an entry still without it.
fn read_front(front: &[u8; FRONT_BYTES]) -> (usize, Entry) {
    let u32_at = |at: usize| u32::from_le_bytes(chunk(front, at));
    let u64_at = |at: usize| u64::from_le_bytes(chunk(front, at));
    let entry = Entry {
        position: u64_at(4),
        at: Timestamp::from_micros(i64::from_le_bytes(chunk(front, 12))),
        epoch: u32_at(20),
        before: Name { node: NodeId(chunk(front, 24)), number: u64_at(40) },
        body: [].into(),
    };
    (u32_at(0) as usize, entry)
}

/// Reads an entry that is alone in its bytes, with its name.
pub(crate) fn read_entry(
    bytes: &[u8],
    sealer: &Sealer,
    position: u64,
) -> Result<(Entry, Name), JournalError> {
    let altered =
        || JournalError::Damaged { position, why: "its length or position differs".to_owned() };
    let (front, rest) = bytes.split_first_chunk::<FRONT_BYTES>().ok_or_else(altered)?;
    let (body, seal) = rest.split_last_chunk::<SEAL_BYTES>().ok_or_else(altered)?;
    let (length, entry) = read_front(front);
    if length != body.len() || entry.position != position {
        return Err(altered());
    }
    let entry = Entry { body: body.into(), ..entry };
    let name = sealer.check(&entry, u64::from_le_bytes(*seal))?;
    Ok((entry, name))
}

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut chunk = [0; N];
    chunk.copy_from_slice(&bytes[at..at + N]);
    chunk
}

/// Says why a header is not that of a part of this archive.
fn refuse_header(
    bytes: &[u8; HEADER_BYTES],
    sealer: &Sealer,
    first: u64,
) -> Result<(), JournalError> {
    let damaged = |why: &str| Err(JournalError::Damaged { position: first, why: why.into() });
    if &bytes[..8] != MAGIC || xxh3_64(&bytes[..36]).to_le_bytes() != bytes[36..] {
        return damaged("the head of its archive file is torn or altered");
    }
    let version = u32::from_le_bytes(chunk(bytes, 8));
    if version > VERSION {
        return Err(JournalError::TooNew(version));
    }
    let found = SpaceId(chunk(bytes, 12));
    if found != sealer.space {
        return Err(JournalError::OtherSpace { found, wanted: sealer.space });
    }
    if *bytes != header(sealer, first) {
        return damaged("its archive file was renamed");
    }
    Ok(())
}

fn trouble(path: &Path, error: &io::Error) -> JournalError {
    let text = format!("{}: {error}", path.display());
    let kind = error.kind();
    if matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        return JournalError::Full(text);
    }
    if matches!(kind, io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) {
        return JournalError::ReadOnly(text);
    }
    JournalError::Unavailable(text)
}

fn unreadable(path: &Path, error: &io::Error) -> JournalError {
    JournalError::Unreadable(format!("cannot read {}: {error}", path.display()))
}

/// The longest body a file may hold: what is longer was not written by this program.
const BODY_BYTES: usize = limits::BATCH_BYTES;
