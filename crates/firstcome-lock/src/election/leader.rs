//! The current leader.

use crate::fence::Fence;

/// The current leader.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// The id of the node.
    pub node: String,
    /// The number of its term.
    pub term: Fence,
}
