//! Fences: numbers that grow with every new owner of a lock.

pub(crate) mod value;

/// A fencing token: a number that increases with every new owner of a lock.
///
/// Compare it as a number. It is the store's clock in microseconds, or the last fence plus 1 if the clock is not higher. So it
/// increases even if the store loses all its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub(crate) u64);

impl Fence {
    /// Returns the number.
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
