//! The result of a release.

/// The result of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Released {
    /// The lock is free, or has passed to the next waiter, and no other owner had it before.
    ///
    /// This is also the answer if trust had ended, but the store still had the lock for its owner.
    Free,
    /// The same [`Owner`](crate::Owner) still holds it this many times.
    StillHeld {
        /// How many times.
        holds: u64,
    },
    /// The store says that the lock did not belong to this owner any more, or the client was closed: another owner may have had
    /// the lock meanwhile.
    ///
    /// There are two other cases. The answer to a release was lost, and the store lost all its data before the release was
    /// repeated, although the first release had freed the lock. Or it is the lease of an [`Owner`](crate::Owner) whose trust
    /// had ended, although the store still had it.
    AlreadyLost,
}

impl Released {
    /// Returns its stable name, for logs: `free`, `still_held` or `already_lost`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::StillHeld { .. } => "still_held",
            Self::AlreadyLost => "already_lost",
        }
    }
}
