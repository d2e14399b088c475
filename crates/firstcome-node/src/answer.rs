//! What a caller hears: what the rules said, as of when, and who decided.

use firstcome_core::Outcome;
use firstcome_core::names::Position;

/// What the rules said, and as of when.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What they said.
    pub outcome: Outcome,
    /// The position the answer is as of.
    pub position: Position,
    /// Whether the journal decided, or this node's state repeated what it knows.
    pub decided: Decided,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// The command was appended and applied.
    Journal,
    /// This node's state was enough.
    Replica,
}

impl Decided {
    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Replica => "replica",
        }
    }
}
