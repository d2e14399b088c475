//! Names of entries.

pub use firstcome_core::names::Name;

use firstcome_core::Timestamp;

/// What stands at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// The position; 0 is before the first entry.
    pub position: u64,
    /// The name of the entry there.
    pub name: Name,
    /// Its time.
    pub at: Timestamp,
}
