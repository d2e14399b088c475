//! How long another owner still has a lock.

use std::time::Duration;

/// How long the lease of the current owner still lasted when the store answered; it may be renewed after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remaining {
    /// At most this time, if it is not renewed.
    AtMost(Duration),
    /// Without an end: its owner must release it, or an operator must free it.
    Endless,
    /// The store was not asked: the caller was behind other waiters of this process all the time.
    Unknown,
}

impl Remaining {
    /// Returns the time, if there is one.
    #[must_use]
    pub fn at_most(self) -> Option<Duration> {
        match self {
            Self::AtMost(time) => Some(time),
            Self::Endless | Self::Unknown => None,
        }
    }
}

impl From<Option<Duration>> for Remaining {
    /// A store that answers with no time knows of no end.
    fn from(answered: Option<Duration>) -> Self {
        answered.map_or(Self::Endless, Self::AtMost)
    }
}

impl std::fmt::Display for Remaining {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(time) => write!(f, "for at most {time:?}"),
            Self::Endless => f.write_str("without an end"),
            Self::Unknown => f.write_str("for a time that is not known"),
        }
    }
}
