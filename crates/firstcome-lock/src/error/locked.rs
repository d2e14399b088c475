//! Errors of work under a lock: it did not run, or not to its end.

use std::time::Duration;

use crate::error::Error;
use crate::lease::loss::Loss;
use crate::wait::remaining::Remaining;

/// Why work under a lock did not run, or not to its end: see [`Lock::run`](crate::Lock::run).
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LockedError {
    /// Another owner had the lock for the whole wait; the work did not begin.
    #[error("the lock {name} was somebody else's for all of {waited:?}")]
    #[non_exhaustive]
    Held {
        /// The lock.
        name: String,
        /// How long the caller waited.
        waited: Duration,
        /// How long that owner's lease still lasts.
        remaining: Remaining,
    },
    /// The lock was lost during the work, and the work was stopped; its earlier effects stay.
    #[error("the lock {name} was lost while its work was under way: {loss}")]
    #[non_exhaustive]
    Lost {
        /// The lock.
        name: String,
        /// How it was lost.
        loss: Loss,
    },
    /// The lock could not be requested; the work did not begin.
    #[error(transparent)]
    Error(#[from] Error),
}

impl LockedError {
    /// Returns advice on what to do, if there is any.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Held { .. } => Some("try again later, or wait longer"),
            Self::Lost { .. } => {
                Some("see how far the work got before doing it again, or choose a longer lease")
            }
            Self::Error(failure) => failure.hint(),
        }
    }
}
