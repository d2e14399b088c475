//! Deliberate mistakes: what the world must find if it is worth anything.

use firstcome::twins::Protection;
use firstcome_journal::memory::twins::Mistake as Stores;

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// One of a node, its leader or its ledger.
    Node(Protection),
    /// One of the store.
    Store(Stores),
    /// What a new connection says about confirmations is taken for an answer.
    FreshConnectionCounts,
}

impl Mistake {
    pub(crate) fn of_the_store(self) -> Option<Stores> {
        match self {
            Self::Store(stores) => Some(stores),
            Self::Node(_) | Self::FreshConnectionCounts => None,
        }
    }

    pub(crate) fn of_the_node(self) -> Option<Protection> {
        match self {
            Self::Node(protection) => Some(protection),
            Self::Store(_) | Self::FreshConnectionCounts => None,
        }
    }
}
