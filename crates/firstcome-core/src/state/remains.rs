//! What left the state and is still to be freed: megabytes, where a campaign was archived.

use super::State;
use crate::campaign::Campaign;
use crate::results::Record;
use std::sync::Arc;

/// What left the state with one entry. Dropping it frees it, which takes about 10 ms for a million claims.
#[derive(Debug, Default)]
pub struct Remains {
    pub(super) campaigns: Vec<Campaign>,
    pub(super) results: Vec<Arc<Vec<Record>>>,
}

impl Remains {
    /// Gives about how many bytes it frees.
    pub fn memory(&self) -> usize {
        let results = self.results.iter().map(|run| run.len() * size_of::<Record>());
        self.campaigns.iter().map(|campaign| campaign.counted.memory).sum::<usize>()
            + results.sum::<usize>()
    }
}

impl State {
    /// Takes what left the state with the last entry, to be freed where nobody waits for it.
    ///
    /// What nobody takes is freed by the next entry.
    pub fn take_remains(&mut self) -> Remains {
        std::mem::take(&mut self.remains)
    }
}
