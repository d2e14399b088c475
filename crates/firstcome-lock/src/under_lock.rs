//! What `#[locked]` does around the body of a function.

use std::time::Duration;

use crate::error::locked::LockedError;
use crate::lease::{Lease, TryLock};
use crate::lock::Lock;
use crate::locks::Locks;

/// Takes the lock as `with_lease` says.
#[doc(hidden)]
pub async fn take(
    locks: &Locks,
    name: &str,
    with_lease: impl FnOnce(Lock) -> Lock,
    wait: Duration,
) -> Result<Lease, LockedError> {
    match with_lease(locks.mutex(name)?).lock_within(wait).await? {
        TryLock::Acquired(lease) => Ok(lease),
        TryLock::Held { name, remaining } => {
            Err(LockedError::Held { name, waited: wait, remaining })
        }
    }
}

/// Polls `work` for as long as the lease can be relied on, and drops it where it stands after that.
#[doc(hidden)]
pub async fn while_held<T>(lease: &Lease, work: impl Future<Output = T>) -> Result<T, LockedError> {
    let lost = |loss| LockedError::Lost { name: lease.name().to_owned(), loss };
    lease.while_valid(work).await.map_err(lost)
}

/// Returns the lock back; without an answer that goes on in the background, and the lease ends by itself.
#[doc(hidden)]
pub async fn give_back(lease: Lease) {
    drop(lease.release().await);
}
