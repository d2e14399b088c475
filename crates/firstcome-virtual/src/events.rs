//! What the store tells whoever observes it.

use firstcome_journal::{Entry, JournalCall, Name};
use std::fmt;

/// Observes a store: hears what happens, when it happens.
pub trait Observer: fmt::Debug + Send + Sync {
    /// Hears of an event.
    fn observe(&self, event: Event<'_>);
}

/// Something that happened. Entries are numbered as in [`Store::with_entries`](crate::store::Store::with_entries).
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A call that may change something arrived at a server.
    Called {
        call: JournalCall,
        /// Over which link, by its number.
        link: usize,
        /// At which server.
        server: usize,
    },
    /// A server has an entry which none had before.
    Stored { server: usize, entry: &'a Entry, name: Name },
    /// A server that nodes talk to has another last entry than before.
    HeadChanged {
        server: usize,
        /// Its last entry; `None` where it has none.
        last: Option<usize>,
        /// Whether what it had was replaced as a whole: the entry is not the successor of its last one.
        replaced: bool,
    },
    /// The store went on with less than a node or a caller had seen.
    Lost {
        /// Why.
        cause: Cause,
        /// The last entry of those that went away.
        from: Option<usize>,
        /// The last entry of what it went on with.
        to: Option<usize>,
    },
    /// The store went on from another server or an older file.
    FailedOver {
        /// From which server.
        server: usize,
    },
    /// A primary became a copy and kept the connections it had.
    Demoted,
    /// An append arrived at another primary than its sender knew of: a log without conditions takes it.
    CarriedOver,
    /// The store's clock was set.
    ClockStepped {
        /// By how many microseconds.
        by: i64,
    },
}

/// How the store came to lose what it had acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A copy took the place of the primary.
    Promotion,
    /// The primary was started again from an older file, or from an emptied one.
    OlderFile,
}
