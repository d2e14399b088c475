//! The bytes of messages in the log. Numbers are little-endian.

use crate::bytes::Reader;
use crate::error::JournalError;
use crate::name::Name;
use firstcome_core::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

/// The version of these bytes that this build writes and knows.
const VERSION: u8 = 1;
/// What a message is: its second byte.
const ENTRY: u8 = 1;
const EXACT: u8 = 2;
const PART: u8 = 3;
const RESTART: u8 = 4;
/// Bytes before the body of an entry.
#[cfg(test)]
const FRONT: usize = 2 + 8 + 36 + 4 + 8 + 24 + 8;
/// Stands for no time.
const NO_TIME: i64 = i64::MIN;

/// A message of the log, and a checksum of its bytes: with it a reader sees that a sequence has another message now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) sequence: u64,
    pub(crate) mark: u64,
}

/// A message as it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'a> {
    /// Its number in the log: one more than that of the message before it.
    pub(crate) sequence: u64,
    /// When it was stored.
    pub(crate) at: Timestamp,
    pub(crate) bytes: &'a [u8],
}

impl Raw<'_> {
    /// Returns which message it is.
    pub(crate) fn place(&self) -> Place {
        Place { sequence: self.sequence, mark: mark(self.bytes) }
    }
}

/// Returns the checksum that tells a message from another one.
pub(crate) fn mark(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// What whoever sent an entry had applied: an entry counts only where that is so in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ancestor {
    /// The message of the entry applied last.
    pub(crate) place: Place,
    pub(crate) position: u64,
    /// Its time, as the sender has it.
    pub(crate) at: Timestamp,
    /// The epoch there, as the sender has it.
    pub(crate) epoch: u32,
}

/// What a message of the log is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    /// An entry that counts if its ancestor is there.
    Entry {
        ancestor: Ancestor,
        /// The epoch of the head that its sender saw last.
        epoch: u32,
        /// The time of the clock that a test set; else it is that of the message.
        clock: Option<Timestamp>,
        content: Content<'a>,
    },
    /// An entry that was written again, whole: it counts, since it was stored only behind the right one.
    Exact { position: u64, at: Timestamp, epoch: u32, before: Name, content: Content<'a> },
    /// The end of a body that does not fit into one message. It lies before the entry.
    Part(&'a [u8]),
    /// The journal goes on after a state, which the store describes here: no entry before this counts.
    Restart(&'a [u8]),
}

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content<'a> {
    pub(crate) name: Name,
    /// The message with the end of the body; 0 where the body is whole.
    pub(crate) part: u64,
    pub(crate) body: &'a [u8],
}

impl<'a> Message<'a> {
    /// Writes it. No two messages have the same `nonce`, so that a body that is sent twice has two marks.
    pub(crate) fn write(&self, nonce: u64) -> Vec<u8> {
        let kind = match self {
            Self::Entry { .. } => ENTRY,
            Self::Exact { .. } => EXACT,
            Self::Part(_) => PART,
            Self::Restart(_) => RESTART,
        };
        let mut bytes = vec![VERSION, kind];
        bytes.extend_from_slice(&nonce.to_le_bytes());
        match self {
            Self::Entry { ancestor, epoch, clock, content } => {
                let Ancestor { place, position, at, epoch: epoch_there } = ancestor;
                for number in [place.sequence, place.mark, *position] {
                    bytes.extend_from_slice(&number.to_le_bytes());
                }
                bytes.extend_from_slice(&at.as_micros().to_le_bytes());
                bytes.extend_from_slice(&epoch_there.to_le_bytes());
                bytes.extend_from_slice(&epoch.to_le_bytes());
                let clock = clock.map_or(NO_TIME, Timestamp::as_micros);
                bytes.extend_from_slice(&clock.to_le_bytes());
                content.write(&mut bytes);
            }
            Self::Exact { position, at, epoch, before, content } => {
                bytes.extend_from_slice(&position.to_le_bytes());
                bytes.extend_from_slice(&at.as_micros().to_le_bytes());
                bytes.extend_from_slice(&epoch.to_le_bytes());
                bytes.extend_from_slice(&before.to_bytes());
                content.write(&mut bytes);
            }
            Self::Part(rest) | Self::Restart(rest) => bytes.extend_from_slice(rest),
        }
        bytes
    }

    /// Reads a message. What cannot be read is damage behind `position`.
    pub(crate) fn read(bytes: &'a [u8], position: u64) -> Result<Self, JournalError> {
        let damaged = |why: String| JournalError::Damaged { position: position + 1, why };
        let mut reader = Reader(bytes);
        match reader.byte() {
            Some(VERSION) => {}
            other => return Err(damaged(format!("its message is of version {other:?}"))),
        }
        Self::read_on(reader).ok_or_else(|| damaged("its message cannot be read".to_owned()))
    }

    fn read_on(mut reader: Reader<'a>) -> Option<Self> {
        let kind = reader.byte()?;
        let _nonce = reader.u64()?;
        Some(match kind {
            ENTRY => {
                let place = Place { sequence: reader.u64()?, mark: reader.u64()? };
                let (position, at) = (reader.u64()?, Timestamp::from_micros(reader.i64()?));
                let ancestor = Ancestor { place, position, at, epoch: reader.u32()? };
                let (epoch, clock) = (reader.u32()?, reader.i64()?);
                let clock = (clock != NO_TIME).then_some(Timestamp::from_micros(clock));
                Self::Entry { ancestor, epoch, clock, content: Content::read(reader)? }
            }
            EXACT => {
                let (position, at) = (reader.u64()?, Timestamp::from_micros(reader.i64()?));
                let (epoch, before) = (reader.u32()?, reader.name()?);
                Self::Exact { position, at, epoch, before, content: Content::read(reader)? }
            }
            PART => Self::Part(reader.0),
            RESTART => Self::Restart(reader.0),
            _ => return None,
        })
    }
}

impl<'a> Content<'a> {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.name.to_bytes());
        bytes.extend_from_slice(&self.part.to_le_bytes());
        bytes.extend_from_slice(self.body);
    }

    fn read(mut reader: Reader<'a>) -> Option<Self> {
        let (name, part) = (reader.name()?, reader.u64()?);
        Some(Self { name, part, body: reader.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstcome_core::NodeId;

    #[test]
    fn what_is_written_can_be_read_back() {
        let name = Name { node: NodeId([3; 16]), number: 9 };
        let at = Timestamp::from_micros(50);
        let content = Content { name, part: 4, body: b"body" };
        let ancestor =
            Ancestor { place: Place { sequence: 7, mark: 8 }, position: 5, at, epoch: 2 };
        let entry = Message::Entry { ancestor, epoch: 3, clock: None, content };
        assert_eq!(entry.write(1).len(), FRONT + content.body.len());
        let messages = [
            entry.clone(),
            Message::Entry { ancestor, epoch: 3, clock: Some(at), content },
            Message::Exact { position: 6, at, epoch: 2, before: name, content },
            Message::Part(b"rest"),
            Message::Restart(b"state"),
        ];
        for message in messages {
            let bytes = message.write(11);
            assert_eq!(Message::read(&bytes, 0).unwrap(), message);
            assert_ne!(mark(&bytes), mark(&message.write(12)), "{message:?}");
        }
        for bytes in [&entry.write(1)[..FRONT - 1], &[9, 1], &[1, 9], &[]] {
            assert!(matches!(
                Message::read(bytes, 4),
                Err(JournalError::Damaged { position: 5, .. })
            ));
        }
    }
}
