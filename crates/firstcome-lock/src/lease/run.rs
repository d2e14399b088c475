//! Running work under a lock.

use std::time::Duration;

use crate::error::Error;
use crate::error::locked::LockedError;
use crate::lease::{Lease, TryLock};
use crate::lock::Lock;
use crate::release::released::Released;

/// The output of work that ran under a lock to its end.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished<T> {
    /// The output of the work.
    pub output: T,
    /// The result of the release: see [`Lease::release`]. [`Released::AlreadyLost`] means that another owner may have had the
    /// lock before the work was done; an error means that the lock may still be taken.
    pub released: Result<Released, Error>,
}

impl Lock {
    /// Waits for the lock, runs `work`, and releases the lock.
    ///
    /// If the lock is lost, the work is dropped at its next await. It gets the [`Lease`] for its [`fence`](Lease::fence): pass
    /// the fence to each write that must not come from an old owner, because a process that is paused in the middle of a step
    /// cannot be stopped there.
    ///
    /// # Errors
    ///
    /// [`LockedError::Error`] if the lock could not be requested, as for [`Lock::lock`]; [`LockedError::Lost`] if it was lost
    /// before the work was done. If only the release fails, the work was done: see [`Finished::released`].
    ///
    /// # Cancel safety
    ///
    /// Dropping this drops the work at its current await, and releases the lock in the background; so does a panic in the work.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), firstcome_lock::LockedError> {
    /// let locks = firstcome_lock::Locks::memory();
    /// let invoice = locks.mutex("invoice:17")?;
    /// let paid = invoice.run(async |lease| format!("paid with fence {}", lease.fence())).await?;
    /// println!("{}, and then {:?}", paid.output, paid.released);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run<T>(
        &self,
        work: impl AsyncFnOnce(&Lease) -> T,
    ) -> Result<Finished<T>, LockedError> {
        finish(self.lock().await?, work).await
    }

    /// Waits for the lock for at most `wait`, up to 100 years, zero to try once; then as [`Lock::run`].
    ///
    /// # Errors
    ///
    /// As [`Lock::run`], and [`LockedError::Held`] if another owner had the lock for the whole wait.
    ///
    /// # Cancel safety
    ///
    /// As [`Lock::run`].
    pub async fn run_within<T>(
        &self,
        wait: Duration,
        work: impl AsyncFnOnce(&Lease) -> T,
    ) -> Result<Finished<T>, LockedError> {
        match self.lock_within(wait).await? {
            TryLock::Acquired(lease) => finish(lease, work).await,
            TryLock::Held { name, remaining } => {
                Err(LockedError::Held { name, waited: wait, remaining })
            }
        }
    }
}

async fn finish<T>(
    lease: Lease,
    work: impl AsyncFnOnce(&Lease) -> T,
) -> Result<Finished<T>, LockedError> {
    match lease.while_valid(work(&lease)).await {
        Ok(output) => Ok(Finished { output, released: lease.release().await }),
        // What the store still has of it is given back in the background: nobody waits for a store that may be silent.
        Err(loss) => Err(LockedError::Lost { name: lease.name().to_owned(), loss }),
    }
}
