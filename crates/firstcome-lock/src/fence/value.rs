//! Values that only the newest owner of a lock can write.

use std::sync::Arc;

use crate::error::Error;
use crate::fence::Fence;
use crate::lease::Lease;
use crate::shared::Shared;

/// A value in the store that only the newest owner of a lock can write.
///
/// Create it with [`Locks::fenced_value`](crate::Locks::fenced_value). Each write has the fence of a lease. In the same step as
/// the write, the store refuses a fence that is lower than an earlier one, and an equal one from another owner. So an owner
/// that was paused for longer than its lease cannot overwrite the value of its successor.
///
/// The value is a plain string at its own key; the highest fence is kept in `fc:guard:{KEY}`, for ever.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), firstcome_lock::Error> {
/// use firstcome_lock::{Locks, FencedWrite};
///
/// let locks = Locks::memory();
/// let lease = locks.mutex("price")?.lock().await?;
/// let price = locks.fenced_value("price:current")?;
/// assert_eq!(price.write(&lease, b"990").await?, FencedWrite::Written);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FencedValue {
    shared: Arc<Shared>,
    key: String,
}

/// The answer to a guarded write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a write that was refused did not happen"]
#[non_exhaustive]
pub enum FencedWrite {
    /// The value was written.
    Written,
    /// A newer owner has written; nothing changed.
    Refused {
        /// The highest fence so far.
        highest: Fence,
    },
}

impl FencedValue {
    pub(crate) fn new(shared: &Arc<Shared>, key: &str) -> Self {
        Self { shared: Arc::clone(shared), key: key.to_owned() }
    }

    /// Writes `value` with the fence of the lease.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if there is no answer. A repeated write with the same lease is harmless.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: a dropped write may have happened.
    pub async fn write(&self, lease: &Lease, value: &[u8]) -> Result<FencedWrite, Error> {
        self.write_as(lease.fence(), lease.owner(), value).await
    }

    /// Writes `value` with a fence and an owner from another source.
    ///
    /// # Errors
    ///
    /// As [`FencedValue::write`].
    ///
    /// # Cancel safety
    ///
    /// As [`FencedValue::write`].
    pub async fn write_as(
        &self,
        fence: Fence,
        owner: &str,
        value: &[u8],
    ) -> Result<FencedWrite, Error> {
        let written = self.shared.backend.guarded_write(&self.key, fence.0, owner, value).await?;
        Ok(match written {
            Ok(()) => FencedWrite::Written,
            Err(highest) => FencedWrite::Refused { highest: Fence(highest) },
        })
    }
}
