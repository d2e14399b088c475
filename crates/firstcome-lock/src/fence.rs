//! Fences: numbers that grow with every new owner of a lock.

/// A number that grows with every new owner of a lock.
///
/// Compared as a number. It is the store's clock in microseconds, or one more than the fence before where the clock
/// has not moved past that, so it keeps growing even if the store lost everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub(crate) u64);

impl Fence {
    /// Gives the number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl From<u64> for Fence {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl std::fmt::Display for Fence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
