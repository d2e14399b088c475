//! The holder of a lock, as stored.

use std::time::Duration;

/// The holder of a lock, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The owner: a client's id, a colon, and a number; for a token lock the token.
    pub owner: String,
    /// How many times it is held.
    pub holds: u64,
    /// How long the lease still lasts if it is not renewed; `None` if it has no end.
    pub remaining: Option<Duration>,
    /// The last fence for this name, if it is known.
    pub last_fence: Option<u64>,
}
