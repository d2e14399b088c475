//! Values that only the newest owner of a lock can write.

use std::sync::{Arc, Mutex, PoisonError};

use crate::failure::Failure;
use crate::fence::Fence;
use crate::lease::Lease;
use crate::shared::Shared;

/// A value in the store that only the newest owner of a lock can write.
///
/// Made by [`Locks::guard`](crate::Locks::guard). Each write carries the fence of a lease; the store refuses a fence
/// lower than one it has seen, and an equal one from another owner, in the same step as the write. So an owner that
/// was paused beyond its lease and goes on cannot overwrite what its successor wrote.
///
/// The value is a plain string at its own key; what was seen is kept in `fc:guard:{KEY}`, without an end.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), firstcome_lock::Failure> {
/// use firstcome_lock::{Locks, Written};
///
/// let locks = Locks::memory();
/// let lease = locks.lock("price")?.lock().await?;
/// let guard = locks.guard("price:current")?;
/// assert_eq!(guard.write(&lease, b"990").await?, Written::Yes);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    shared: Arc<Shared>,
    key: String,
}

/// The answer to a guarded write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a write that was refused did not happen"]
pub enum Written {
    /// It is written.
    Yes,
    /// A newer owner has been here; nothing changed.
    Refused {
        /// The highest fence seen.
        highest: Fence,
    },
}

impl Guard {
    pub(crate) fn new(shared: &Arc<Shared>, key: &str) -> Self {
        Self { shared: Arc::clone(shared), key: key.to_owned() }
    }

    /// Writes `value` under the protection of the lease's fence.
    ///
    /// # Errors
    ///
    /// [`Failure::Store`] if there is no answer. A repeated write with the same lease is harmless.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: a dropped write may have happened.
    pub async fn write(&self, lease: &Lease, value: &[u8]) -> Result<Written, Failure> {
        self.write_as(lease.fence(), lease.owner(), value).await
    }

    /// Writes `value` with a fence and an owner that came from elsewhere.
    ///
    /// # Errors
    ///
    /// As [`Guard::write`].
    ///
    /// # Cancel safety
    ///
    /// As [`Guard::write`].
    pub async fn write_as(
        &self,
        fence: Fence,
        owner: &str,
        value: &[u8],
    ) -> Result<Written, Failure> {
        let written = self.shared.backend.guarded_write(&self.key, fence.0, owner, value).await?;
        Ok(match written {
            Ok(()) => Written::Yes,
            Err(highest) => Written::Refused { highest: Fence(highest) },
        })
    }
}

/// Checks fences inside one process, for a protected thing that lives there.
///
/// # Examples
///
/// ```
/// use firstcome_lock::{Fence, Gate};
///
/// let gate = Gate::new();
/// assert!(gate.admits(Fence::from(2), "b"));
/// assert!(!gate.admits(Fence::from(1), "a"), "an older owner");
/// assert!(!gate.admits(Fence::from(2), "c"), "the same number from somebody else");
/// assert!(gate.admits(Fence::from(2), "b"));
/// ```
#[derive(Debug, Default)]
pub struct Gate {
    seen: Mutex<Option<(Fence, String)>>,
}

impl Gate {
    /// Makes a gate that has seen nobody.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells whether `owner` with `fence` may pass, and remembers it if so.
    pub fn admits(&self, fence: Fence, owner: &str) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let stale = seen
            .as_ref()
            .is_some_and(|(last, by)| fence < *last || (fence == *last && by != owner));
        if !stale {
            *seen = Some((fence, owner.to_owned()));
        }
        !stale
    }
}
