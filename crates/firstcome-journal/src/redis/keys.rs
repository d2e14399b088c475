//! The names of the keys of a space.

use firstcome_core::names::PieceName;
use firstcome_store::RedisOptions;

/// The keys of one journal, all in one slot of a cluster.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    pub(super) journal: String,
    pub(super) head: String,
    pub(super) manifests: String,
    pub(super) pieces: String,
    pub(super) nodes: String,
    pub(super) forks: String,
    pub(super) skips: String,
    /// What the name of a piece becomes a key with.
    pub(super) piece: String,
}

impl Keys {
    pub(super) fn of(space_name: &str) -> Self {
        let key = |what: &str| format!("fc:{{{space_name}}}:{what}");
        Self {
            journal: key("journal"),
            head: key("head"),
            manifests: key("manifests"),
            pieces: key("pieces"),
            nodes: key("nodes"),
            forks: key("forks"),
            skips: key("skips"),
            piece: key("piece:"),
        }
    }

    /// Returns the keys that have one name each, all but those of pieces, in the order in which scripts are given them.
    /// Returns options that lead to the server which has these keys, in a cluster.
    pub(super) fn at_owner(&self, store: RedisOptions) -> RedisOptions {
        store.key(&self.journal)
    }

    pub(super) fn all(&self) -> [&str; 7] {
        let Self { journal, head, manifests, pieces, nodes, forks, skips, piece: _ } = self;
        [head, journal, manifests, pieces, nodes, forks, skips]
    }

    pub(super) fn piece(&self, name: PieceName) -> String {
        format!("{}{name}", self.piece)
    }
}
