//! What left the state and is still to be freed: megabytes, where a campaign was archived.

use super::{Archived, Named, State};
use crate::campaign::Campaign;
use crate::outcome::{Outcome, Refusal};
use crate::results::Record;
use std::sync::Arc;

/// What left the state with one entry. Dropping it frees it, which takes about 10 ms for a million claims.
#[derive(Debug, Default)]
pub struct Remains {
    pub(super) campaigns: Vec<Campaign>,
    pub(super) results: Vec<Arc<Vec<Record>>>,
}

impl Remains {
    /// Returns about how many bytes it frees.
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

    /// Lets a campaign leave memory.
    ///
    /// The deadlines of holds that were live go with later entries, as they come to stand in front.
    pub(super) fn archive(&mut self, number: u32) -> Outcome {
        let gone = self.campaigns.remove(&number).expect("it was just found");
        let (version, at) = (gone.version.saturating_add(1), self.stamp.at);
        let archived = Archived { at, title: gone.title.clone() };
        self.names.insert(gone.name.clone(), Named::Archived(archived));
        self.counts.forget(&gone);
        self.forget_lists(number);
        let campaigns = &self.campaigns;
        self.remains.results.extend(self.results.forget(|number| campaigns.contains_key(&number)));
        self.remains.campaigns.push(gone);
        Outcome::Changed { version, clamped: Vec::new() }
    }

    /// Lets a campaign without results leave memory, and its name be free.
    pub(super) fn delete(&mut self, number: u32) -> Outcome {
        let gone = self.campaigns.remove(&number).expect("it was just found");
        self.names.remove(&gone.name);
        self.counts.forget(&gone);
        self.forget_lists(number);
        let campaigns = &self.campaigns;
        self.remains.results.extend(self.results.forget(|number| campaigns.contains_key(&number)));
        self.remains.campaigns.push(gone);
        Outcome::Deleted
    }

    /// Drops results a ledger has. Refuses with `beyond_results` a number that was not given yet.
    pub(super) fn settle(&mut self, through: u64, term: u64) -> Outcome {
        if through > self.results.last() {
            return Refusal::BeyondResults.into();
        }
        if through > self.results.settled {
            // That one alone: of campaigns that left memory there may be many behind it.
            let last = self.results.after(through - 1).next();
            let last = last
                .filter(|(number, ..)| *number == through)
                .and_then(|result| self.campaigns.get(&result.2.campaign)?.result(result));
            self.results.fingerprint = last.map_or(0, |row| row.fingerprint());
        }
        let (campaigns, counts) = (&mut self.campaigns, &mut self.counts);
        let freed = self.results.settle(through, |campaign, count| {
            if let Some(campaign) = campaigns.get_mut(&campaign) {
                campaign.unsettled -= count as u64;
                counts.settle(count);
            }
        });
        self.remains.results.extend(freed);
        self.results.term = self.results.term.max(term);
        Outcome::Settled { through: self.results.settled }
    }
}
