//! Mistakes that a test can have the store make, to see that it notices.

use super::{Inside, Memory};
use firstcome_core::Timestamp;
use std::sync::Arc;

/// A mistake of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// See [`Mistake::sentence`], as for all of them.
    NoPredecessorCheck,
    /// In the time of an entry.
    TimeGoesBack,
    /// In putting back.
    PutBackAnywhere,
    /// In trimming.
    TrimPastSnapshot,
    /// In trimming.
    PiecesDroppedAtOnce,
}

impl Mistake {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::NoPredecessorCheck,
        Self::TimeGoesBack,
        Self::PutBackAnywhere,
        Self::TrimPastSnapshot,
        Self::PiecesDroppedAtOnce,
    ];

    /// Gives its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoPredecessorCheck => "no_predecessor_check",
            Self::TimeGoesBack => "time_goes_back",
            Self::PutBackAnywhere => "put_back_anywhere",
            Self::TrimPastSnapshot => "trim_past_snapshot",
            Self::PiecesDroppedAtOnce => "pieces_dropped_at_once",
        }
    }

    /// Says it in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NoPredecessorCheck => {
                "an append is taken whatever the entry is called that it rests on: only the height counts"
            }
            Self::TimeGoesBack => {
                "an entry has the clock's time, even if that lies before the one of the entry before it"
            }
            Self::PutBackAnywhere => "entries are put back wherever the journal ends",
            Self::TrimPastSnapshot => "trimming drops what no snapshot covers",
            Self::PiecesDroppedAtOnce => {
                "the pieces of a snapshot go as soon as the newest manifest does not name them"
            }
        }
    }
}

impl Memory {
    /// Makes a mistake from now on.
    #[must_use]
    pub fn mistaken(self, mistake: Option<Mistake>) -> Self {
        Self { mistake, ..self }
    }

    pub(super) fn has(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }
}

impl Inside {
    /// Gives the last entry another time.
    pub(super) fn set_back(&mut self, now: Timestamp) {
        if let Some((last, _)) = Arc::make_mut(&mut self.entries).last_mut() {
            last.at = now;
        }
    }
}
