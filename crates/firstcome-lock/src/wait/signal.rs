//! What a subscriber learns.

/// A reason for a waiter to look at its lock again, or the end of the subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Look again now.
    Look,
    /// Look again now: something may have been missed, or will be.
    Missed,
    /// Nothing will follow.
    Closed,
}
