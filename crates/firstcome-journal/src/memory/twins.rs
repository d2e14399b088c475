//! Mistakes that a test can have the store make, to see that it notices.

use super::{Inside, Memory};
use firstcome_core::Timestamp;
use std::sync::Arc;

/// A mistake of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// An append is taken whatever the entry is called that it rests on: only the height counts.
    NoPredecessorCheck,
    /// An entry has the clock's time, even if that lies before the one of the entry before it.
    TimeGoesBack,
    /// Entries are put back wherever the journal ends.
    PutBackAnywhere,
    /// Trimming drops what no snapshot covers.
    TrimPastSnapshot,
    /// Pieces go as soon as the newest manifest does not name them.
    PiecesDroppedAtOnce,
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
