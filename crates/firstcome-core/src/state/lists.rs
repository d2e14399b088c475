//! Waitlists as time passes: which campaigns have something to do, and how much of it one entry does.

use super::State;
use super::guarded::Applying;
use crate::campaign::Campaign;
use crate::command::Command;
use crate::context::{ApplyContext, NewResults};
use crate::limits::LIST_STEPS;
use crate::outcome::Outcome;
use crate::pool::Pool;
use crate::results::Kind;
use crate::time::Timestamp;
use firstcome_inject::{Mistake, inject};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Which campaigns have waitlists. It follows from the campaigns, and is never stored.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// Campaigns on whose lists somebody is, with the time at which they close.
    lists: BTreeMap<u32, Option<Timestamp>>,
    /// The same by the time at which they close.
    closings: BTreeSet<(Timestamp, u32)>,
    /// Campaigns whose lists the next entry goes on with.
    behind: BTreeSet<u32>,
    /// Steps of work that this entry has left.
    steps: u32,
}

impl Agenda {
    fn forget(&mut self, campaign: u32) {
        self.behind.remove(&campaign);
        if let Some(Some(closes_at)) = self.lists.remove(&campaign) {
            self.closings.remove(&(closes_at, campaign));
        }
    }

    fn note(&mut self, campaign: &Campaign, at: Timestamp) {
        let number = campaign.number;
        self.forget(number);
        if !campaign.has_lists() {
            return;
        }
        let closes_at = campaign.closes_at.filter(|closes_at| *closes_at > at);
        self.lists.insert(number, closes_at);
        self.closings.extend(closes_at.map(|closes_at| (closes_at, number)));
        if campaign.is_behind(at) {
            self.behind.insert(number);
        }
    }
}

impl State {
    /// Serves the lists for which time brought something: a hold that expired, the end of a campaign, what an earlier
    /// entry did not get done. Campaigns take turns, one look each, and go on where the entry before ended.
    pub(super) fn begin_lists(&mut self) {
        self.agenda.steps = LIST_STEPS;
        if self.agenda.lists.is_empty() {
            self.list_turn = 0;
            return;
        }
        let at = self.stamp.at;
        let closed = self.agenda.closings.iter().take_while(|(closes_at, _)| *closes_at <= at);
        let mut due: BTreeSet<u32> = closed.map(|(_, number)| *number).collect();
        // They are known to have work from now on, whether or not their turn comes in this entry.
        due.iter().for_each(|number| self.counts.touch(*number));
        due.extend(&self.agenda.behind);
        due.extend(self.touched().iter().filter(|number| self.agenda.lists.contains_key(number)));
        if inject(Mistake::ListTurnForgotten) {
            self.list_turn = 0;
        }
        let all = due.clone();
        let mut looked = BTreeSet::new();
        while self.agenda.steps > 0 {
            let after = due.range((Bound::Excluded(self.list_turn), Bound::Unbounded)).next();
            let Some(number) = after.or(due.first()).copied() else {
                // Whoever has work from now on is behind nobody.
                self.list_turn = 0;
                break;
            };
            self.applying = Applying::Expiry(number);
            if looked.insert(number) {
                self.counts.touch(number);
            }
            if self.serve_next(number) {
                self.list_turn = number;
            } else {
                due.remove(&number);
            }
        }
        // Their numbers do not hang on how looks took turns, and whose offer ended is told even if no look was left.
        all.into_iter().for_each(|number| self.record_unserved(number));
    }

    /// Serves the lists of the campaign that the last command was about.
    pub(super) fn serve_touched(&mut self) {
        if self.agenda.lists.is_empty() {
            return;
        }
        let touched = self.touched().last().copied();
        if let Some(number) = touched.filter(|number| self.agenda.lists.contains_key(number)) {
            while self.agenda.steps > 0 && self.serve_next(number) {}
            self.record_unserved(number);
        }
    }

    /// Takes one look at who waits in a campaign; says whether there was anybody to look at.
    fn serve_next(&mut self, number: u32) -> bool {
        let (at, service) = (self.stamp.at, self.service);
        let Some(campaign) = self.campaigns.get_mut(&number) else { return false };
        let mut none = NewResults::default();
        let mut context =
            ApplyContext { at, service, deadlines: &mut self.deadlines, results: &mut none };
        campaign.serve_next(&mut context, &mut self.agenda.steps, &mut self.scratch)
    }

    /// Records a result for everybody who left the lists of a campaign without a unit.
    fn record_unserved(&mut self, number: u32) {
        let Some(campaign) = self.campaigns.get_mut(&number) else { return };
        let (known, last) = (campaign.told, campaign.unserved.len());
        campaign.told = last;
        for rank in known + 1..=last {
            let gone = self.campaigns.get(&number).and_then(|campaign| campaign.unserved(rank));
            let Some(gone) = gone else { continue };
            let (pool, subject) = (gone.pool, gone.subject.clone());
            self.record(Kind::Unserved, number, pool, rank, &subject);
        }
    }

    /// Runs a command on a waitlist.
    pub(super) fn on_list(
        &mut self,
        command: &Command<'_>,
        campaign: &str,
        limit: Option<u32>,
        run: impl FnOnce(&mut Campaign, &mut ApplyContext<'_>) -> Outcome,
    ) -> Outcome {
        // Who it is, and what they want, shows in later outcomes only: the digest tells it at once.
        self.scratch.extend_from_slice(&command.content().to_le_bytes());
        if let Some(limit) = limit {
            self.scratch.extend_from_slice(&limit.to_le_bytes());
        }
        let outcome = self.on_campaign(campaign, run);
        if let Outcome::Waitlisted { .. } | Outcome::Offered(_) = outcome
            && let Some(number) = self.touched().last()
        {
            self.agenda.lists.entry(*number).or_insert(None);
        }
        outcome
    }

    /// Takes note of the lists of the campaigns that an entry was about.
    pub(super) fn note_lists(&mut self) {
        let Self { agenda, campaigns, counts, stamp, scratch, .. } = self;
        for number in counts.touched() {
            match campaigns.get(number) {
                Some(campaign) => agenda.note(campaign, stamp.at),
                None => agenda.forget(*number),
            }
            if agenda.behind.contains(number)
                && let Some(campaign) = campaigns.get(number)
            {
                // Looks that are left decide who is served by later entries: the digest tells them at once.
                scratch.extend_from_slice(&self.list_turn.to_le_bytes());
                scratch.extend_from_slice(&number.to_le_bytes());
                let lists = campaign.pools.iter().filter_map(Pool::list);
                lists.for_each(|list| list.digest_left(scratch));
            }
        }
    }

    /// Takes note of every list, once a snapshot is read.
    pub(super) fn note_all_lists(&mut self) {
        for campaign in self.campaigns.values_mut() {
            campaign.told = campaign.unserved.len();
            self.agenda.note(campaign, self.stamp.at);
        }
    }

    pub(super) fn forget_lists(&mut self, campaign: u32) {
        self.agenda.forget(campaign);
    }

    /// Says whether an entry did not get done with the waitlists: the next one goes on with them, and can come at once.
    pub fn has_list_work(&self) -> bool {
        !self.agenda.behind.is_empty()
    }
}
