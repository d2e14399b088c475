//! Errors: a call gave neither success nor refusal.

use std::time::Duration;

use firstcome_store::Effect;

/// Why a call gave neither success nor refusal.
///
/// A lock that another holder has is no error: see [`ShedLock::lock`](crate::ShedLock::lock).
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store gave no usable answer. [`Error::effect`] says whether it may have executed the request; if so, this library
    /// is already undoing it in the background.
    #[error(transparent)]
    Store(#[from] firstcome_store::StoreError),
    /// A name or a setting cannot be used.
    #[error("{what} cannot be used: {reason}")]
    Unfit {
        /// Which one.
        what: &'static str,
        /// The problem.
        reason: String,
        /// The allowed values.
        hint: &'static str,
    },
    /// The table is not in the database, or not in the schema for names without a schema.
    #[error("the database has no table {table}")]
    NoTable {
        /// The given name.
        table: String,
    },
    /// A duration is outside its range.
    #[error("{what} of {given:?} is outside {least:?} to {most:?}")]
    OutOfRange {
        /// Which one.
        what: &'static str,
        /// The given value.
        given: Duration,
        /// The shortest possible.
        least: Duration,
        /// The longest possible.
        most: Duration,
    },
    /// The answer came too late to use the lock: it is not held.
    #[error("the store answered too late for the lock to be worth anything")]
    Late,
    /// It is unknown whether the lock is free; the release continues in the background, and the lock ends by itself.
    #[error(
        "the lock {name} has not been confirmed free yet; giving it back goes on in the background"
    )]
    Pending {
        /// The lock.
        name: String,
    },
    /// This client has been closed.
    #[error("this ShedLock client has been closed")]
    Closed,
}

impl Error {
    /// Says whether the request may have been executed.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Self::Store(failure) => failure.effect(),
            Self::Pending { .. } => Effect::Unknown,
            Self::Unfit { .. }
            | Self::NoTable { .. }
            | Self::OutOfRange { .. }
            | Self::Late
            | Self::Closed => Effect::None,
        }
    }

    /// Returns advice on what to do, if there is any.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Store(failure) => failure.hint(),
            Self::Unfit { hint, .. } => Some(hint),
            Self::NoTable { .. } => Some(
                "make it, with create_table or with the statement in the documentation, or name the one that is there",
            ),
            Self::OutOfRange { .. } => Some("choose a duration inside the range"),
            Self::Late => Some(
                "try again; if it stays so, the store is overloaded or far away: use a longer lock_at_most_for",
            ),
            Self::Pending { .. } => {
                Some("nothing needs to be done: at the latest the end of lock_at_most_for frees it")
            }
            Self::Closed => Some("connect again"),
        }
    }

    /// Says whether a retry can help within the time of a call.
    pub(crate) fn passes_by_itself(&self) -> bool {
        match self {
            Self::Store(failure) => failure.passes_by_itself(),
            Self::Late | Self::Pending { .. } => true,
            Self::Unfit { .. } | Self::NoTable { .. } | Self::OutOfRange { .. } | Self::Closed => {
                false
            }
        }
    }
}
