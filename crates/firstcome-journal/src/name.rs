//! Names of entries.

use firstcome_core::{NodeId, Timestamp};
use std::fmt;

/// The name of an entry: who wrote its body, and which of the writer's batches it is.
///
/// (0, 0) names what is before the first entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// Who wrote the body.
    pub node: NodeId,
    /// Which of the writer's batches the body is, from 1.
    pub number: u64,
}

impl Name {
    /// Gives it as it is stored: 16 bytes of the node, then the number, little-endian.
    pub(crate) fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&self.node.0);
        bytes[16..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    /// Reads what [`Name::to_bytes`] gives; `None` for what is no name.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
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

/// What stands at a position.
///
/// The name alone does not tell: a body that was lost and sent again has the name it had and another
/// time, and what is decided may depend on the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// The position; 0 is before the first entry.
    pub position: u64,
    /// The name of the entry there.
    pub name: Name,
    /// Its time.
    pub at: Timestamp,
}
