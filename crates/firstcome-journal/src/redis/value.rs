//! The bytes of a stored entry.
//!
//! | Bytes | Content |
//! |---|---|
//! | 1 | version: 1 |
//! | 8 | time, µs since 1970-01-01T00:00:00Z, little-endian like all numbers here |
//! | 4 | epoch |
//! | 16, 8 | name of the entry before: node, number |
//! | the rest | body |

use super::scripts::name_bytes;
use crate::{Entry, Failure, Name};
use firstcome_core::Timestamp;
use firstcome_core::names::NodeId;
use firstcome_store::Reply;

const VERSION: u8 = 1;
/// Bytes before the body.
const FRONT_BYTES: usize = 37;

/// Gives the bytes that stand for an entry.
pub(super) fn write(entry: &Entry) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FRONT_BYTES + entry.body.len());
    bytes.push(VERSION);
    bytes.extend_from_slice(&entry.at.as_micros().to_le_bytes());
    bytes.extend_from_slice(&entry.epoch.to_le_bytes());
    bytes.extend_from_slice(&name_bytes(entry.before));
    bytes.extend_from_slice(&entry.body);
    bytes
}

/// Reads an entry back; its body is not looked into.
fn read(position: u64, bytes: &[u8]) -> Result<Entry, Failure> {
    let damaged = |why: &str| Failure::Damaged { position, why: why.to_owned() };
    match bytes.first() {
        None => return Err(damaged("it is empty")),
        Some(&VERSION) => {}
        Some(&version) => return Err(Failure::TooNew(u32::from(version))),
    }
    let Some((front, body)) = bytes.split_first_chunk::<FRONT_BYTES>() else {
        return Err(damaged("it is torn"));
    };
    let node = chunk(front, 13);
    Ok(Entry {
        position,
        at: Timestamp::from_micros(i64::from_le_bytes(chunk(front, 1))),
        epoch: u32::from_le_bytes(chunk(front, 9)),
        before: Name { node: NodeId(node), number: u64::from_le_bytes(chunk(front, 29)) },
        body: body.into(),
    })
}

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut chunk = [0; N];
    chunk.copy_from_slice(&bytes[at..at + N]);
    chunk
}

/// Entries as they came from a stream, as far as they are whole.
pub(super) struct Entries {
    /// The whole ones, each naming the one before it.
    pub(super) good: Vec<(Entry, Name)>,
    /// Why the next one is not among them.
    bad: Option<Failure>,
}

impl Entries {
    /// Reads what a stream answered: a list of an id and its fields each.
    pub(super) fn of(rows: &[Reply]) -> Self {
        let mut entries = Self { good: Vec::with_capacity(rows.len()), bad: None };
        for row in rows {
            match entries.next(row) {
                Ok(next) => entries.good.push(next),
                Err(failure) => {
                    entries.bad = Some(failure);
                    break;
                }
            }
        }
        entries
    }

    fn next(&self, row: &Reply) -> Result<(Entry, Name), Failure> {
        let (position, bytes) = fields(row)?;
        let entry = read(position, bytes)?;
        let damaged = |position, why: String| Err(Failure::Damaged { position, why });
        if let Some((last, name)) = self.good.last() {
            if last.position + 1 != position {
                let why = format!("it is missing, entry {position} stands there");
                return damaged(last.position + 1, why);
            }
            if entry.before != *name {
                let why = format!("it names {} before it, which is {name}", entry.before);
                return damaged(position, why);
            }
        }
        let name = entry.name()?;
        Ok((entry, name))
    }

    /// Gives those before the first that is not whole; if that is the first of all, why.
    pub(super) fn front(self) -> Result<Vec<(Entry, Name)>, Failure> {
        match self.bad {
            Some(failure) if self.good.is_empty() => Err(failure),
            _ => Ok(self.good),
        }
    }
}

fn fields(row: &Reply) -> Result<(u64, &[u8]), Failure> {
    let strange = || Failure::Broken("a row of its stream is not one of a journal".to_owned());
    let Reply::List(parts) = row else { return Err(strange()) };
    let [Reply::Bytes(id), Reply::List(fields)] = &parts[..] else { return Err(strange()) };
    let id = std::str::from_utf8(id).ok().and_then(|id| id.strip_suffix("-0")?.parse().ok());
    let (Some(position), [Reply::Bytes(field), Reply::Bytes(bytes)]) = (id, &fields[..]) else {
        return Err(strange());
    };
    if field != b"e" { Err(strange()) } else { Ok((position, bytes)) }
}
