//! What became of a lease that was given back.

/// What became of a lease that was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Released {
    /// The lock is free, or has passed to the next waiter, and nobody else had it before that.
    ///
    /// So it is also where trust had run out, but the store still had the lock for its owner.
    Free,
    /// The same [`Owner`](crate::Owner) still holds it this many times.
    StillHeld {
        /// How many times.
        holds: u64,
    },
    /// The store says that it was this owner's no more, or it was lost by the closing of its client: somebody else may
    /// have had the lock meanwhile.
    ///
    /// A store that lost everything between a release and its repetition, after an answer that was lost, says so
    /// too, though the release had freed the lock; so does one asked about an [`Owner`](crate::Owner)'s lease whose
    /// trust had run out, though the store still had it.
    AlreadyLost,
}

impl Released {
    /// Gives its stable name, for logs: `free`, `still_held` or `already_lost`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::StillHeld { .. } => "still_held",
            Self::AlreadyLost => "already_lost",
        }
    }
}
