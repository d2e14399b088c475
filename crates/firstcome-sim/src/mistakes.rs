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

/// Mistakes that no promise breaks by, and what stands behind the protection that is missing.
pub const COVERED: [(Mistake, &str); 4] = [
    (
        Mistake::Store(Stores::NoPredecessorCheck),
        "an append rests on one connection, a node that has another one compares histories before it appends, and what \
         it reads back is applied only if it names the entry before",
    ),
    (
        Mistake::Store(Stores::PiecesDroppedAtOnce),
        "whoever reads a snapshot whose pieces went begins again with the newest one, which has all of its own, and \
         whoever writes one is told which are missing and brings all of them",
    ),
    (
        Mistake::Node(Protection::WriterKeptAfterFork),
        "a node brings what it has before it writes anything new, so that its numbers rise all the same; who loses a \
         batch of it that only others have is named in their lists",
    ),
    (
        Mistake::Node(Protection::HoldsWithoutTicks),
        "while something is held an entry comes every five seconds, and whoever asks for what a hold has had brings one",
    ),
];

/// Mistakes for which a real store is needed, somebody who counts what it is asked, or somebody who does not wait and
/// comes at the right moment.
const ELSEWHERE: [Protection; 3] =
    [Protection::OwnConnection, Protection::AskedWhileWaiting, Protection::LineWaitsForTicks];

impl Mistake {
    /// Gives all of them but those that no world here can make, and those of [`COVERED`].
    pub fn all() -> impl Iterator<Item = Self> {
        let covered = |one: &Self| COVERED.iter().any(|(mistake, _)| mistake == one);
        Self::known().filter(move |one| !covered(one))
    }

    fn known() -> impl Iterator<Item = Self> {
        let node = Protection::ALL.into_iter().filter(|one| !ELSEWHERE.contains(one));
        let store = Stores::ALL.into_iter().map(Self::Store);
        node.map(Self::Node).chain(store).chain([Self::FreshConnectionCounts])
    }

    /// Gives the mistake of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::known().find(|mistake| mistake.name() == name)
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
