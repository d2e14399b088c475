//! The bytes of an entry in a stream: the store part is the name of its one field, the body the value.
//!
//! | Bytes of the store part | Content |
//! |---|---|
//! | 1 | version: 1 |
//! | 8 | time, µs since 1970-01-01T00:00:00Z, little-endian like all numbers here |
//! | 4 | epoch |
//! | 16, 8 | name of the entry before: node, number |
//!
//! So the script that mints the store part need not copy the body to put the two together.

use super::scripts::name_bytes;
use crate::entry::Entry;
use crate::error::JournalError;
use crate::name::Name;
use firstcome_core::Timestamp;
use firstcome_core::names::NodeId;
use firstcome_store::RedisReply;

const VERSION: u8 = 1;
/// Bytes of the store part.
const PART_BYTES: usize = 37;

/// Returns the bytes of an entry's store part.
pub(super) fn write(entry: &Entry) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(PART_BYTES);
    bytes.push(VERSION);
    bytes.extend_from_slice(&entry.at.as_micros().to_le_bytes());
    bytes.extend_from_slice(&entry.epoch.to_le_bytes());
    bytes.extend_from_slice(&name_bytes(entry.before));
    bytes
}

/// Reads an entry back; its body is not looked into.
fn read(position: u64, part: &[u8], body: &[u8]) -> Result<Entry, JournalError> {
    match part.first() {
        Some(&version) if version > VERSION => {
            return Err(JournalError::TooNew(u32::from(version)));
        }
        _ => {}
    }
    let Ok(part) = <&[u8; PART_BYTES]>::try_from(part) else {
        let why = format!("its store part has {} bytes", part.len());
        return Err(JournalError::Damaged { position, why });
    };
    let node = chunk(part, 13);
    Ok(Entry {
        position,
        at: Timestamp::from_micros(i64::from_le_bytes(chunk(part, 1))),
        epoch: u32::from_le_bytes(chunk(part, 9)),
        before: Name { node: NodeId(node), number: u64::from_le_bytes(chunk(part, 29)) },
        body: body.into(),
    })
}

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut chunk = [0; N];
    chunk.copy_from_slice(&bytes[at..at + N]);
    chunk
}

/// Entries as they came from a stream, as far as they are whole.
pub(super) struct StreamEntries {
    /// The whole ones, each naming the one before it.
    pub(super) good: Vec<(Entry, Name)>,
    /// Why the next one is not among them.
    pub(super) bad: Option<JournalError>,
}

impl StreamEntries {
    /// Reads what a stream answered: a list of an id and its fields each.
    pub(super) fn of(rows: &[RedisReply]) -> Self {
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

    fn next(&self, row: &RedisReply) -> Result<(Entry, Name), JournalError> {
        let (position, part, body) = fields(row)?;
        let entry = read(position, part, body)?;
        let damaged = |position, why: String| Err(JournalError::Damaged { position, why });
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

    /// Returns those before the first that is not whole; if that is the first of all, why.
    pub(super) fn front(self) -> Result<Vec<(Entry, Name)>, JournalError> {
        match self.bad {
            Some(failure) if self.good.is_empty() => Err(failure),
            _ => Ok(self.good),
        }
    }
}

/// Returns the position of a row, if it is one of a journal.
pub(super) fn position_of(row: &RedisReply) -> Option<u64> {
    fields(row).ok().map(|(position, ..)| position)
}

fn fields(row: &RedisReply) -> Result<(u64, &[u8], &[u8]), JournalError> {
    let strange = || JournalError::Broken("a row of its stream is not one of a journal".to_owned());
    let RedisReply::List(parts) = row else { return Err(strange()) };
    let [RedisReply::Bytes(id), RedisReply::List(fields)] = &parts[..] else {
        return Err(strange());
    };
    let id = std::str::from_utf8(id).ok().and_then(|id| id.split_once('-'));
    let (position, rest) = id.ok_or_else(strange)?;
    let position = position.parse().map_err(|_| strange())?;
    match (rest, &fields[..]) {
        ("0", [RedisReply::Bytes(part), RedisReply::Bytes(body)]) => Ok((position, part, body)),
        // Somebody else wrote there. Tried again it would be no other: whoever meets it must stop.
        _ => Err(JournalError::Damaged { position, why: "it is no entry of a journal".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn reply() -> impl Strategy<Value = RedisReply> {
        let leaf = prop_oneof![
            Just(RedisReply::Nil),
            any::<i64>().prop_map(RedisReply::Number),
            vec(any::<u8>(), 0..60).prop_map(RedisReply::Bytes),
            vec(any::<u8>(), PART_BYTES..=PART_BYTES).prop_map(RedisReply::Bytes),
            "[0-9]{1,21}-[0-9]".prop_map(|id| RedisReply::Bytes(id.into_bytes())),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| vec(inner, 0..4).prop_map(RedisReply::List))
    }

    fn row() -> impl Strategy<Value = RedisReply> {
        let parts = (0..4_u64, vec(any::<u8>(), 30..40), vec(any::<u8>(), 0..60));
        let row = parts.prop_map(|(position, part, body)| {
            let id = RedisReply::Bytes(format!("{position}-0").into_bytes());
            RedisReply::List(vec![
                id,
                RedisReply::List(vec![RedisReply::Bytes(part), RedisReply::Bytes(body)]),
            ])
        });
        prop_oneof![reply(), row]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_096, ..ProptestConfig::default() })]

        /// Whatever stands in the stream, it is an entry or refused.
        #[test]
        fn no_answer_of_a_stream_makes_its_reader_panic(rows in vec(row(), 0..4)) {
            let entries = StreamEntries::of(&rows);
            prop_assert_eq!(entries.good.len() == rows.len(), entries.bad.is_none());
        }
    }
}
