//! Stops work when its lease is lost.

use std::task::Poll;

use crate::lease::Lease;
use crate::lease::loss::Loss;

impl Lease {
    /// Runs `work` as long as this lease is valid, and then drops it.
    ///
    /// The clock is checked before every step of the work, so after a pause of the process there is no step with an ended lease.
    /// The work is not interrupted between two awaits: pass [`Lease::fence`] to any write that must not come from an old owner.
    /// [`Lock::run`](crate::Lock::run) also takes the lock and releases it.
    ///
    /// # Errors
    ///
    /// How the lease was lost, if the work was not ready before. Its earlier effects stay; tasks that it spawned continue.
    ///
    /// # Cancel safety
    ///
    /// Dropping this drops the work at its current await. The lease stays.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), firstcome_lock::Error> {
    /// use std::time::Duration;
    ///
    /// let locks = firstcome_lock::Locks::memory();
    /// let lease = locks.mutex("report")?.lease(Duration::from_millis(100)).lock().await?;
    /// let written = lease.while_valid(async { "written" }).await;
    /// assert_eq!(written, Ok("written"));
    /// let endless = lease.while_valid(std::future::pending::<()>()).await;
    /// assert_eq!(endless, Err(firstcome_lock::Loss::RanOut));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn while_valid<T>(&self, work: impl Future<Output = T>) -> Result<T, Loss> {
        run_while(|| self.is_valid(), || self.lost(), work).await
    }
}

/// Polls `work` while it `is_valid`, and then drops it.
pub(crate) async fn run_while<T, L: Future<Output = Loss>>(
    is_valid: impl Fn() -> bool,
    lost: impl Fn() -> L,
    work: impl Future<Output = T>,
) -> Result<T, Loss> {
    let done = {
        let mut loss = std::pin::pin!(lost());
        let mut work = std::pin::pin!(work);
        std::future::poll_fn(|context| {
            // The timer may not have had its turn after a pause of the process.
            if !is_valid() || loss.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(context).map(Some)
        })
        .await
    };
    match done {
        Some(output) => Ok(output),
        None => Err(lost().await),
    }
}
