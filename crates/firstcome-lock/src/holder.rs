//! Who holds a lock, as the store has it.

use std::time::Duration;

/// Who holds a lock, as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The owner: a client's id, a colon, and a number; for a token lock the token.
    pub owner: String,
    /// How many times it is held.
    pub holds: u64,
    /// How long the lease still runs if it is not renewed; `None` where it has no end.
    pub remaining: Option<Duration>,
    /// The last fence minted for this name, if any is on record.
    pub last_fence: Option<u64>,
}
