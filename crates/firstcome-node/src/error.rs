//! Why a command has no outcome: nobody knows, or something outside the rules broke.

use firstcome_inject::{Mistake, inject};

/// A failure: nobody knows, or something outside the rules broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// The queue of waiting commands is full.
    Busy,
    /// More results wait for the ledger than this node may keep.
    OutboxFull,
    /// The store has no room.
    StoreFull,
    /// The command does not fit a batch: it has so many bytes.
    TooLarge(usize),
    /// The command is of a higher level than the space.
    LevelTooLow {
        /// The level of the space.
        level: u32,
        /// The lowest level at which there is such a command.
        needed: u32,
    },
    /// Something in the command is outside its bounds: no replica could read it.
    Malformed(&'static str),
    /// It was not sent to the store, or this node's state is too old to answer from.
    Unavailable(String),
    /// It was sent to the store and no answer came in time.
    Unknown,
    /// The space was moved to another store: nothing that is sent to this one is done any more.
    SpaceMoved,
    /// The position that was sent belongs to an epoch that is over.
    StalePosition,
}

impl CommandError {
    /// Returns the failure of a request from that of its later try: the journal has refused the first copy of its command.
    ///
    /// That nothing was sent would be true of the later copy alone. The first one is in the journal, and on another branch,
    /// after a fork, it may be granted.
    pub(crate) fn of_later_try(self) -> Self {
        if inject(Mistake::FirstTryForgotten) { self } else { Self::Unknown }
    }
}
