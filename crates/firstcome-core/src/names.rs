//! Names, and what makes one acceptable.

use crate::limits::{COMMAND_ID_BYTES, HOLD_ID_BYTES, NAME_BYTES, REFERENCE_BYTES, SUBJECT_BYTES};
use std::fmt;
use std::str::FromStr;
use xxhash_rust::xxh3::xxh3_128;

/// Why a name, a subject or an id is not acceptable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadName {
    /// Nothing was given.
    #[error("is empty")]
    Empty,
    /// More bytes than allowed.
    #[error("has {bytes} bytes, at most {most} are allowed")]
    TooLong {
        /// How many bytes were given.
        bytes: usize,
        /// How many are allowed.
        most: usize,
    },
    /// A control character, or for names anything outside `[a-z0-9_-]`.
    #[error("has {character:?} at byte {at}, which is not allowed there")]
    Character {
        character: char,
        /// Where it stands, counted in bytes from 0.
        at: usize,
    },
}

/// Accepts the name of a campaign or a pool: `[a-z0-9][a-z0-9_-]{0,63}`.
///
/// # Errors
///
/// The first thing that is wrong with it.
pub fn check_name(name: &str) -> Result<(), BadName> {
    check_length(name, NAME_BYTES)?;
    let wrong = |(at, c): &(usize, char)| match c {
        'a'..='z' | '0'..='9' => false,
        '_' | '-' => *at == 0,
        _ => true,
    };
    match name.char_indices().find(wrong) {
        Some((at, character)) => Err(BadName::Character { character, at }),
        None => Ok(()),
    }
}

/// Accepts a subject: 1 to 255 bytes of UTF-8 without control characters.
///
/// Subjects are compared byte by byte and never normalised.
///
/// # Errors
///
/// The first thing that is wrong with it.
pub fn check_subject(subject: &str) -> Result<(), BadName> {
    check_length(subject, SUBJECT_BYTES)?;
    check_text(subject)
}

/// Accepts the id of an operator command: 1 to 64 bytes of UTF-8 without control characters.
///
/// # Errors
///
/// The first thing that is wrong with it.
pub fn check_command_id(id: &str) -> Result<(), BadName> {
    check_length(id, COMMAND_ID_BYTES)?;
    check_text(id)
}

/// Accepts the id of a hold, or of one step on a hold: 1 to 64 bytes of UTF-8 without control characters.
///
/// # Errors
///
/// The first thing that is wrong with it.
pub fn check_hold_id(id: &str) -> Result<(), BadName> {
    check_length(id, HOLD_ID_BYTES)?;
    check_text(id)
}

/// Accepts the reference of a use of a code: 1 to 64 bytes of UTF-8 without control characters.
///
/// # Errors
///
/// The first thing that is wrong with it.
pub fn check_reference(reference: &str) -> Result<(), BadName> {
    check_length(reference, REFERENCE_BYTES)?;
    check_text(reference)
}

/// Accepts text without control characters.
///
/// # Errors
///
/// The first control character found.
pub fn check_text(text: &str) -> Result<(), BadName> {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return Ok(());
    }
    match text.char_indices().find(|(_, c)| c.is_control()) {
        Some((at, character)) => Err(BadName::Character { character, at }),
        None => Ok(()),
    }
}

pub(crate) fn check_length(text: &str, most: usize) -> Result<(), BadName> {
    match text.len() {
        0 => Err(BadName::Empty),
        bytes if bytes > most => Err(BadName::TooLong { bytes, most }),
        _ => Ok(()),
    }
}

/// The random identity of a node, drawn anew at every start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub [u8; 16]);

/// The name of an entry: who wrote its body, and which of the writer's bodies it is.
///
/// No two entries have the same position and name, whichever branches of the journal they are on: who sends a batch again
/// writes it anew, under another name. So position and name of an entry also tell all that stands before it. (0, 0) is
/// what is before the first entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Who wrote the body.
    pub node: NodeId,
    /// Which of the writer's bodies it is, from 1.
    pub number: u64,
}

impl Name {
    /// Gives it as it is stored: 16 bytes of the node, then the number, little-endian.
    pub fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&self.node.0);
        bytes[16..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    /// Reads what [`Name::to_bytes`] gives; `None` for what is no name.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (node, number) = bytes.split_first_chunk::<16>()?;
        let number = u64::from_le_bytes(number.try_into().ok()?);
        Some(Self { node: NodeId(*node), number })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.node, self.number)
    }
}

/// The random identity of a space, drawn once when its store is first used.
///
/// A store or a ledger that carries another one belongs to another space and is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub [u8; 16]);

/// The name of a piece of a snapshot: XXH3-128 of its bytes, big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PieceName(pub [u8; 16]);

impl PieceName {
    /// Returns the name of a piece with these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(xxh3_128(bytes).to_be_bytes())
    }
}

macro_rules! as_hex {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    };
}
impl std::str::FromStr for SpaceId {
    type Err = &'static str;

    /// Reads an identity as it is shown.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = digits.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        number.map(|number| Self(number.to_be_bytes())).ok_or("must be 32 hexadecimal digits")
    }
}

as_hex!(NodeId);
as_hex!(SpaceId);
as_hex!(PieceName);

/// What a client sees of an entry's position: epoch and position.
///
/// Written `EPOCH.POSITION`. Clients treat it as opaque and bring it back to see their own write on any node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// How many forks of the journal were resolved before this entry.
    pub epoch: u32,
    /// The entry's position in the journal, from 1; 0 is before the first.
    pub position: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.position)
    }
}

/// A position token that is not of the form `EPOCH.POSITION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a position as this server gives them, such as 0.42")]
pub struct BadPosition;

impl FromStr for Position {
    type Err = BadPosition;

    fn from_str(text: &str) -> Result<Self, BadPosition> {
        let (epoch, position) = text.split_once('.').ok_or(BadPosition)?;
        let epoch = epoch.parse().map_err(|_| BadPosition)?;
        let position = position.parse().map_err(|_| BadPosition)?;
        Ok(Self { epoch, position })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        for good in ["a", "spring-2027", "0_0", &"x".repeat(64)] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        assert_eq!(check_name(""), Err(BadName::Empty));
        assert_eq!(check_name(&"x".repeat(65)), Err(BadName::TooLong { bytes: 65, most: 64 }));
        for (bad, at) in [("-a", 0), ("_a", 0), ("aB", 1), ("a b", 1), ("a/b", 1), ("é", 0)] {
            assert!(
                matches!(check_name(bad), Err(BadName::Character { at: a, .. }) if a == at),
                "{bad}"
            );
        }
    }

    #[test]
    fn subjects_are_any_text_without_control_characters() {
        for good in ["ann", "선착순", "🎟️", "a b", &"x".repeat(255)] {
            assert_eq!(check_subject(good), Ok(()), "{good}");
        }
        assert_eq!(check_subject(""), Err(BadName::Empty));
        assert_eq!(
            check_subject(&"x".repeat(300)),
            Err(BadName::TooLong { bytes: 300, most: 255 })
        );
        for bad in ["a\nb", "\0", "a\u{85}", "\u{7f}"] {
            assert!(matches!(check_subject(bad), Err(BadName::Character { .. })), "{bad:?}");
        }
    }

    #[test]
    fn a_position_reads_back_as_it_was_written() {
        for (text, epoch, position) in [("0.42", 0, 42), ("1.7", 1, 7)] {
            let read: Position = text.parse().unwrap();
            assert_eq!(read, Position { epoch, position });
            assert_eq!(read.to_string(), text);
        }
        for bad in ["", "42", "a.b", "1.2.3", "-1.2", "0.42x", "x:0.1", "0:0.1"] {
            assert_eq!(bad.parse::<Position>(), Err(BadPosition), "{bad}");
        }
    }
}
