//! Stops work when its lease is lost.

use std::task::Poll;

use crate::lease::Lease;
use crate::loss::Loss;

/// Polls `work` for as long as the lease can be relied on, and drops it where it stands after that.
///
/// The clock is looked at before every step, so that after a pause of the process the work does not go on before the
/// timer had its turn.
pub(crate) async fn while_valid<T>(
    lease: &Lease,
    work: impl Future<Output = T>,
) -> Result<T, Loss> {
    let done = {
        let mut lost = std::pin::pin!(lease.lost());
        let mut work = std::pin::pin!(work);
        std::future::poll_fn(|context| {
            if !lease.is_valid() || lost.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(context).map(Some)
        })
        .await
    };
    match done {
        Some(output) => Ok(output),
        None => Err(lease.lost().await),
    }
}
