//! How a lease was lost.

/// Why a lease is not valid any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Loss {
    /// The store says that the lock does not belong to this owner any more: the lease ended there, an operator freed the lock,
    /// or the store lost it.
    #[error("the store says that it belongs to nobody or to somebody else")]
    Taken,
    /// The lease is about to end, and no renewal was confirmed: a fixed lease ended, or the store did not answer in time.
    #[error("it ran out without a confirmed renewal")]
    RanOut,
    /// It was held for the time of [`Lock::hold_at_most`](crate::Lock::hold_at_most).
    #[error("it was held for as long as it may be")]
    HeldTooLong,
    /// It was released: a candidate resigned or was dropped, or its work ended, while a copy of its term existed.
    #[error("it was given back")]
    GivenBack,
    /// Its client was closed.
    #[error("its client was closed")]
    Closed,
}

impl Loss {
    /// Returns its stable name, for the labels of metrics and the fields of logs: `taken`, `ran_out`, `held_too_long`,
    /// `given_back` or `closed`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::RanOut => "ran_out",
            Self::HeldTooLong => "held_too_long",
            Self::GivenBack => "given_back",
            Self::Closed => "closed",
        }
    }
}
