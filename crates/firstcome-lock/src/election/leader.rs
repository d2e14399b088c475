//! Who leads.

use crate::fence::Fence;

/// Who leads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// The node's id.
    pub node: String,
    /// The number of its term.
    pub term: Fence,
}
