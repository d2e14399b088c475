//! What `#[locked]` does around the body of a function.

use std::time::Duration;

use crate::failure::Failure;
use crate::lease::{Lease, Tried};
use crate::locks::Locks;
use crate::loss::Loss;
use crate::while_valid::while_valid;

/// Why a function under `#[locked]` did not run, or not to its end.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Barred {
    /// Somebody else had the lock for the whole wait; the body did not begin.
    #[error("the lock {name} was somebody else's for all of {waited:?}")]
    Held {
        /// The lock.
        name: String,
        /// How long it was waited for.
        waited: Duration,
        /// How long their lease still runs, not counting renewals; `None` where it has no end.
        remaining: Option<Duration>,
    },
    /// The lock was lost while the body ran, which was stopped where it stood: what it did before, it did.
    #[error("the lock {name} was lost while its work was under way: {loss}")]
    Lost {
        /// The lock.
        name: String,
        /// How it was lost.
        loss: Loss,
    },
    /// The lock could not be asked for; the body did not begin.
    #[error(transparent)]
    Failure(#[from] Failure),
}

impl Barred {
    /// Gives advice on what to do, where there is some.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Held { .. } => Some("try again later, or wait longer"),
            Self::Lost { .. } => {
                Some("see how far the work got before doing it again, or choose a longer lease")
            }
            Self::Failure(failure) => failure.hint(),
        }
    }
}

/// Takes the lock for a fixed lease.
#[doc(hidden)]
pub async fn take(
    locks: &Locks,
    name: &str,
    lease: Duration,
    wait: Duration,
) -> Result<Lease, Barred> {
    match locks.lock(name)?.lease(lease).lock_within(wait).await? {
        Tried::Got(lease) => Ok(lease),
        Tried::Held { remaining } => {
            Err(Barred::Held { name: name.to_owned(), waited: wait, remaining })
        }
    }
}

/// Polls `work` for as long as the lease can be relied on, and drops it where it stands after that.
#[doc(hidden)]
pub async fn while_held<T>(lease: &Lease, work: impl Future<Output = T>) -> Result<T, Barred> {
    let lost = |loss| Barred::Lost { name: lease.name().to_owned(), loss };
    while_valid(lease, work).await.map_err(lost)
}

/// Gives the lock back; without an answer that goes on in the background, and the lease ends by itself.
#[doc(hidden)]
pub async fn give_back(lease: Lease) {
    drop(lease.release().await);
}
