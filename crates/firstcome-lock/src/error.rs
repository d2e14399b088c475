//! Errors: a call gave neither success nor refusal.

pub(crate) mod locked;

use std::time::Duration;

use firstcome_store::{Effect, Passes};

use crate::lease::loss::Loss;

/// Why a call gave neither success nor refusal.
///
/// A lock that another owner holds is no error: see [`TryLock::Held`](crate::TryLock::Held).
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store gave no usable answer. [`Error::effect`] says whether it may have executed the request; if so, this library
    /// is already undoing it in the background.
    #[error(transparent)]
    Store(#[from] firstcome_store::StoreError),
    /// The name cannot be used.
    #[error("the lock's name cannot be used: {reason}")]
    Name {
        /// The problem.
        reason: &'static str,
    },
    /// Another argument cannot be used.
    #[error("{what} cannot be used: {reason}")]
    Unfit {
        /// Which one.
        what: &'static str,
        /// The problem.
        reason: String,
        /// The allowed values.
        hint: &'static str,
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
    /// A candidate's id is the name of its host and nothing else.
    #[error(
        "{host:?} is the name of this host alone, so another process on it could have the same id"
    )]
    BareHostName {
        /// The id.
        host: String,
    },
    /// The answer came after the end of the lease, or by the store's clock the request came too late: the lock is not held.
    #[error("the store answered too late for the lease to be worth anything")]
    Late,
    /// The wait was over before the first answer of the store: it is unknown whether another owner has the lock. If the store
    /// grants the lock later, it is released in the background.
    #[error("the store said nothing of the lock {name} for as long as it was waited for")]
    NoAnswerYet {
        /// The lock.
        name: String,
    },
    /// Too few replicas acknowledged the lock in time (see [`Builder::replicas`](crate::Builder::replicas)); it was released.
    #[error("of {wanted} replicas {acknowledged} acknowledged the lock {name} in time")]
    #[non_exhaustive]
    TooFewReplicas {
        /// The lock.
        name: String,
        /// The required number.
        wanted: u32,
        /// The number of acknowledgements.
        acknowledged: u32,
    },
    /// The lease was lost.
    #[error("the lease has been lost: {0}")]
    Lost(Loss),
    /// It is unknown whether the lock is free; the release continues in the background, and the lease ends by itself. An
    /// [`Owner`](crate::Owner) cannot take the lock again before that.
    #[error(
        "the lock {name} has not been confirmed free yet; giving it back goes on in the background"
    )]
    Pending {
        /// The lock.
        name: String,
    },
    /// The owner belongs to another client.
    #[error("the owner was made by another client")]
    ForeignOwner,
    /// The tokio runtime in which this client was made has ended, and with it the client's connections and renewals.
    #[error("the tokio runtime in which this lock client was made has ended")]
    RuntimeEnded,
    /// This client has been closed.
    #[error("this lock client has been closed")]
    Closed,
}

impl Error {
    /// Says whether the request may have been executed.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Self::Store(failure) => failure.effect(),
            Self::NoAnswerYet { .. } | Self::Pending { .. } => Effect::Unknown,
            Self::Name { .. }
            | Self::Unfit { .. }
            | Self::OutOfRange { .. }
            | Self::BareHostName { .. }
            | Self::Late
            | Self::TooFewReplicas { .. }
            | Self::Lost(_)
            | Self::ForeignOwner
            | Self::RuntimeEnded
            | Self::Closed => Effect::None,
        }
    }

    /// Returns advice on what to do, if there is any.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Store(failure) => failure.hint(),
            Self::Name { .. } => Some(
                "use 1 to 4096 bytes; where a brace is used, one pair of them around some text, as in user:{42}",
            ),
            Self::Unfit { hint, .. } => Some(hint),
            Self::OutOfRange { .. } => Some("choose a duration inside the range, or the default"),
            Self::BareHostName { .. } => Some(
                "add what only this process has, as in web1-4711, or give no id: one with a random part is made",
            ),
            Self::Late => Some(
                "try again; if it stays so, the store is overloaded or far away: use a longer lease",
            ),
            Self::NoAnswerYet { .. } => Some("wait for longer than one answer of the store takes"),
            Self::TooFewReplicas { .. } => Some(
                "see INFO replication at the server: connect more replicas, or ask for fewer or for longer",
            ),
            Self::Lost(_) => Some("stop what needed the lock, and take it again"),
            Self::Pending { .. } => {
                Some("nothing needs to be done: at the latest the end of the lease frees it")
            }
            Self::ForeignOwner => Some("make the owner with the same Locks that makes the lock"),
            Self::RuntimeEnded => Some(
                "make a client in each runtime, or one in a runtime that lasts as long as the process",
            ),
            Self::Closed => Some("connect again"),
        }
    }

    /// Tells whether this passes, and so who is right to try again.
    pub(crate) fn passes(&self) -> Passes {
        match self {
            Self::Store(failure) => failure.passes(),
            Self::Late
            | Self::NoAnswerYet { .. }
            | Self::TooFewReplicas { .. }
            | Self::Pending { .. } => Passes::ByItself,
            Self::Name { .. }
            | Self::Unfit { .. }
            | Self::OutOfRange { .. }
            | Self::BareHostName { .. }
            | Self::Lost(_)
            | Self::ForeignOwner
            | Self::RuntimeEnded
            | Self::Closed => Passes::Never,
        }
    }

    /// Says whether a retry can help within the time of a call.
    pub(crate) fn passes_by_itself(&self) -> bool {
        self.passes() == Passes::ByItself
    }

    /// Another transaction has the row of this lock, and nothing changed.
    pub(crate) fn row_in_use(name: &str) -> Self {
        let detail = format!("another transaction has the row of the lock {name}");
        firstcome_store::StoreError::Held { place: "the database".to_owned(), detail }.into()
    }

    /// The store's answer is not what was asked for.
    pub(crate) fn unexpected(wanted: &str) -> Self {
        firstcome_store::StoreError::Unexpected { detail: format!("not {wanted}") }.into()
    }
}
