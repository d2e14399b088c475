//! What is counted while entries are applied, so that nobody walks the state for it: bytes of memory, and which
//! campaigns an entry was about. It is no part of the rules, and never stored.

use super::State;
use crate::campaign::{Campaign, Counted, ResultRow};
use crate::settings::Sizes;

/// Bytes of an entry in the list of deadlines, about.
const DEADLINE_BYTES: usize = 32;

/// What is counted.
#[derive(Debug, Default)]
pub(super) struct StateCounts {
    /// What all campaigns take together, as of the last entry.
    all: Counted,
    /// The campaigns that the last entry was about, by number: each once, in order, as soon as it is applied.
    touched: Vec<u32>,
    /// Deadlines of holds that went with their campaign.
    gone_deadlines: usize,
    /// Results of campaigns in memory that are not settled.
    waiting: usize,
}

impl StateCounts {
    pub(super) fn begin(&mut self) {
        self.touched.clear();
    }

    /// Notes that the entry is about a campaign.
    pub(super) fn touch(&mut self, campaign: u32) {
        if self.touched.last() != Some(&campaign) {
            self.touched.push(campaign);
        }
    }

    /// Counts a campaign no more that leaves memory.
    pub(super) fn forget(&mut self, campaign: &Campaign) {
        self.all.memory -= campaign.counted.memory;
        self.all.sizes = self.all.sizes.minus(campaign.counted.sizes);
        self.gone_deadlines += campaign.live_holds();
        self.waiting -= campaign.unsettled as usize;
    }

    pub(super) fn touched(&self) -> &[u32] {
        &self.touched
    }

    pub(super) fn forget_deadline(&mut self) {
        self.gone_deadlines -= 1;
    }

    /// Counts one more result that is not settled.
    pub(super) fn wait(&mut self) {
        self.waiting += 1;
    }

    pub(super) fn settle(&mut self, results: usize) {
        self.waiting -= results;
    }
}

impl State {
    /// Counts the campaigns that an entry was about once more.
    pub(super) fn count_touched(&mut self) {
        let StateCounts { all, touched, .. } = &mut self.counts;
        touched.sort_unstable();
        touched.dedup();
        for number in touched {
            if let Some(campaign) = self.campaigns.get_mut(number) {
                let ranks: u64 =
                    campaign.pools.iter().map(|pool| u64::from(pool.last_rank())).sum();
                let given = (ranks, ranks - campaign.counted.given.0);
                let now = Counted { memory: campaign.memory(), sizes: campaign.sizes(), given };
                let before = std::mem::replace(&mut campaign.counted, now);
                all.memory = all.memory + now.memory - before.memory;
                all.sizes = all.sizes.plus(now.sizes).minus(before.sizes);
            }
        }
    }

    /// Counts everything anew, once a snapshot is read.
    pub(crate) fn count_all(&mut self) {
        self.counts.touched.clear();
        self.counts.waiting = 0;
        for campaign in self.campaigns.values_mut() {
            campaign.count_seats();
            self.counts.waiting += campaign.unsettled as usize;
        }
        let campaigns = &self.campaigns;
        self.results.forget(|number| campaigns.contains_key(&number));
        self.counts.touched.extend(self.campaigns.keys());
        self.count_touched();
        self.counts.touched.clear();
        self.note_all_lists();
    }

    /// Returns the numbers of the campaigns that the last entry was about, or in which time freed something.
    pub fn touched(&self) -> &[u32] {
        &self.counts.touched
    }

    /// Returns how many holds are live.
    pub fn live_holds(&self) -> usize {
        self.deadlines.len() - self.counts.gone_deadlines
    }

    /// Returns how many results of campaigns in memory are not settled.
    ///
    /// [`State::unsettled`] counts those of campaigns too that left memory unsettled: nobody can have them any more.
    pub fn waiting(&self) -> usize {
        self.counts.waiting
    }

    /// Returns the oldest result that is not settled, of those of campaigns in memory.
    pub fn oldest_waiting(&self) -> Option<ResultRow<'_>> {
        if self.counts.waiting == 0 { None } else { self.results_after(0).next() }
    }

    /// Returns how large all campaigns may become together, as their settings have it.
    pub fn sizes(&self) -> Sizes {
        self.counts.all.sizes
    }

    /// Returns about how many bytes of memory the campaigns take.
    ///
    /// It is counted with every entry: asking for it costs nothing, whatever the campaigns have.
    pub fn memory(&self) -> usize {
        self.counts.all.memory + self.lists_memory()
    }

    /// Returns [`State::memory`] by looking at everything: for tests, which compare them.
    pub fn walked_memory(&self) -> usize {
        self.campaigns.values().map(Campaign::walked_memory).sum::<usize>() + self.lists_memory()
    }

    fn lists_memory(&self) -> usize {
        self.results.memory() + self.deadlines.len() * DEADLINE_BYTES
    }
}
