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
    /// Gives all of them but those that only a real store can make.
    pub fn all() -> impl Iterator<Item = Self> {
        let node = Protection::ALL.into_iter().filter(|one| *one != Protection::OwnConnection);
        let store = Stores::ALL.into_iter().map(Self::Store);
        node.map(Self::Node).chain(store).chain([Self::FreshConnectionCounts])
    }

    /// Gives the mistake of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|mistake| mistake.name() == name)
    }

    /// Gives its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Node(protection) => protection.name(),
            Self::Store(mistake) => mistake.name(),
            Self::FreshConnectionCounts => "fresh_connection_counts",
        }
    }

    /// Says it in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Node(protection) => protection.mistake(),
            Self::Store(mistake) => mistake.sentence(),
            Self::FreshConnectionCounts => {
                "a confirmation is believed of a connection on which nothing was written"
            }
        }
    }

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
