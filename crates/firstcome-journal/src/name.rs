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
