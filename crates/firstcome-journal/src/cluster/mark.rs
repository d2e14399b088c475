//! The mark of an emptied store: whose space was there, so that nobody begins a new one in its place unasked.
//!
//! It stands where the head of a space stands, in every store: there is a space, or a mark, or nothing. All steps take a mark
//! for nothing. The first space that is written there again takes its place.

use crate::bytes::Reader;
use crate::error::JournalError;
use firstcome_core::Timestamp;
use firstcome_core::names::SpaceId;

/// The version of its bytes.
const VERSION: u8 = 1;
/// Bytes of the text that says who has the space, at most.
const WHO_BYTES: usize = 255;

/// What a server that runs leaves in a store which has nothing of its space any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The space that was there.
    pub space: SpaceId,
    /// Up to which position somebody has it.
    pub position: u64,
    /// When that was noticed, by the store's clock.
    pub since: Timestamp,
    /// Where whoever has it can be reached.
    pub who: Box<str>,
}

impl Mark {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.space.0);
        bytes.extend_from_slice(&self.position.to_le_bytes());
        bytes.extend_from_slice(&self.since.as_micros().to_le_bytes());
        bytes.extend_from_slice(self.who[..self.who.floor_char_boundary(WHO_BYTES)].as_bytes());
        bytes
    }

    /// Returns what it means to whoever opens the store.
    pub(crate) fn refusal(bytes: &[u8]) -> JournalError {
        match Self::read(bytes) {
            Ok(Self { space, position, who, .. }) => JournalError::Marked { space, position, who },
            Err(broken) => broken,
        }
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, JournalError> {
        let broken =
            || JournalError::Broken("the mark in the place of its head cannot be read".to_owned());
        let mut reader = Reader(bytes);
        let version = reader.byte().filter(|version| *version == VERSION);
        version.ok_or_else(broken)?;
        let space = SpaceId(reader.take().ok_or_else(broken)?);
        let position = reader.u64().ok_or_else(broken)?;
        let since = Timestamp::from_micros(reader.i64().ok_or_else(broken)?);
        let who = String::from_utf8_lossy(reader.0).into();
        Ok(Self { space, position, since, who })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read_back() {
        let mark = Mark {
            space: SpaceId([7; 16]),
            position: 9,
            since: Timestamp::from_micros(-3),
            who: "http://127.0.0.1:8080".into(),
        };
        assert_eq!(Mark::read(&mark.write()).unwrap(), mark);
        let long = Mark { who: "ä".repeat(200).into(), ..mark.clone() };
        assert_eq!(Mark::read(&long.write()).unwrap().who.len(), 254);
        for bad in [&[][..], &[9], &mark.write()[..30]] {
            assert!(Mark::read(bad).is_err(), "{bad:?}");
        }
    }
}
