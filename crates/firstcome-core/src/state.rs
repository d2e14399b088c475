//! The state of a space as of a position; entries are applied here.

mod acts;
mod count;
mod guarded;
#[cfg(test)]
mod last_numbers;
mod lists;
mod look;
mod orders;
mod remains;
mod skip;

pub use guarded::{Broke, EntryEffect, is_applying, silence_broken_rules};
pub use remains::Remains;
pub(crate) use skip::Skips;
pub use skip::{BadSkip, Skip};

use crate::campaign::{Campaign, HoldRequest, JoinRequest};
use crate::command::Command;
use crate::context::{ApplyContext, Deadlines, NewResult, NewResults};
use crate::dedup::{Batches, Orders};
use crate::limits::{DIGESTS_KEPT, SERVICE_STEP_US};
use crate::names::{Name, NodeId, SpaceId};
use crate::outcome::{CodeRefusal, Missing, Outcome, Refusal};
use crate::results::{Kind, Record, Results};
use crate::time::Timestamp;
use count::StateCounts;
use firstcome_inject::{Mistake, inject};
use guarded::{Applying, break_if};
use lists::Agenda;
use std::collections::{BTreeMap, VecDeque};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The store part of an entry, as far as the rules need it, and who wrote its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The entry's position: one more than the entry before it.
    pub position: u64,
    /// The store's time: never before that of the entry before it.
    pub at: Timestamp,
    /// How many forks were resolved before it.
    pub epoch: u32,
    /// Who wrote the body.
    pub node: NodeId,
    /// Which of the writer's bodies it is.
    pub number: u64,
    /// The batch that the body brings again, under which name it was written first; none where that is this name. Of a state
    /// it is not known.
    pub again_of: Option<Name>,
    /// The level the body was written at; of a state, the highest of all bodies applied so far.
    pub level: u32,
}

impl Stamp {
    /// Returns the name of the entry.
    pub fn name(&self) -> Name {
        Name { node: self.node, number: self.number }
    }

    /// Returns the name of the batch: that of the first entry that was written of it. It runs once.
    pub fn batch(&self) -> Name {
        self.again_of.unwrap_or(self.name())
    }
}

/// A campaign that has left memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// When it left.
    pub at: Timestamp,
    pub title: Box<str>,
}

/// What is known under a campaign's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Live(u32),
    Archived(Archived),
}

/// Deadlines of holds that went with their campaign, taken out with one entry before they are due.
const CLEARED_DEADLINES: usize = 4_096;

/// The digest of everything decided so far: XXH3-64 of each part, seeded with the digest before it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Digest(pub(crate) u64);

impl Digest {
    fn fold(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }
}

/// The state of a space as of a position.
#[derive(Debug)]
pub struct State {
    pub(crate) space: SpaceId,
    pub(crate) stamp: Stamp,
    /// Microseconds of service time: each step between entries, counted as at most 15 s.
    pub(crate) service: i64,
    pub(crate) digest: Digest,
    pub(crate) batches: Batches,
    pub(crate) orders: Orders,
    pub(crate) results: Results,
    pub(crate) last_campaign: u32,
    pub(crate) names: BTreeMap<Box<str>, Named>,
    pub(crate) campaigns: BTreeMap<u32, Campaign>,
    pub(crate) digests: VecDeque<u64>,
    /// Live holds by when their time is over.
    pub(crate) deadlines: Deadlines,
    /// What is counted so that nobody has to walk the state for it.
    counts: StateCounts,
    /// What left the state and is to be freed.
    remains: Remains,
    pub(crate) skips: Skips,
    applying: Applying,
    agenda: Agenda,
    /// The campaign whose waitlists were looked at last as time passed.
    pub(crate) list_turn: u32,
    scratch: Vec<u8>,
    /// What the put that runs changed, for the list of acts.
    changes: String,
    new_results: NewResults,
}

impl State {
    /// Begins with nothing, before the first entry.
    pub fn new(space: SpaceId) -> Self {
        Self {
            space,
            stamp: Stamp {
                position: 0,
                at: Timestamp::from_micros(0),
                epoch: 0,
                node: NodeId::default(),
                number: 0,
                again_of: None,
                level: 1,
            },
            service: 0,
            digest: Digest::default(),
            batches: Batches::default(),
            orders: Orders::default(),
            results: Results::default(),
            last_campaign: 0,
            names: BTreeMap::new(),
            campaigns: BTreeMap::new(),
            digests: VecDeque::new(),
            deadlines: Deadlines::new(),
            counts: StateCounts::default(),
            remains: Remains::default(),
            skips: Skips::default(),
            applying: Applying::default(),
            agenda: Agenda::default(),
            list_turn: 0,
            scratch: Vec::new(),
            changes: String::new(),
            new_results: NewResults::default(),
        }
    }

    /// Has an empty space begin at a level: that of the head of its store.
    ///
    /// # Panics
    ///
    /// It is not empty: from the first entry on its level is that of its highest entry.
    #[must_use]
    pub fn beginning_at(mut self, level: u32) -> Self {
        assert_eq!(self.stamp.position, 0, "the level of a space follows from its entries");
        self.stamp.level = level;
        self
    }

    /// Applies one entry: time first, then its commands in order.
    ///
    /// One outcome for each command is added to `outcomes`, unless the entry is a copy or skipped.
    ///
    /// # Panics
    ///
    /// The entry does not follow the last one, or time goes back: the store breaks its word, and the
    /// caller must have noticed before. Or a rule's own invariant does not hold, which is a bug.
    pub fn apply(
        &mut self,
        stamp: Stamp,
        commands: &[Command<'_>],
        outcomes: &mut Vec<Outcome>,
    ) -> EntryEffect {
        assert_eq!(stamp.position, self.stamp.position + 1, "entries are applied in order");
        assert!(stamp.at >= self.stamp.at, "journal time never goes back");
        let before = self.service;
        if self.stamp.position > 0 {
            let step = stamp.at.micros_since(self.stamp.at);
            self.service += if inject(Mistake::ServiceTimeUnbounded) {
                step
            } else {
                step.min(SERVICE_STEP_US)
            };
        }
        let level = stamp.level.max(self.stamp.level);
        self.stamp = Stamp { level, again_of: None, ..stamp };
        self.counts.begin();
        self.remains = Remains::default();
        self.scratch.clear();
        self.scratch.extend_from_slice(&stamp.position.to_le_bytes());
        self.scratch.extend_from_slice(&stamp.at.as_micros().to_le_bytes());
        self.scratch.extend_from_slice(&stamp.epoch.to_le_bytes());
        self.scratch.extend_from_slice(&stamp.node.0);
        self.scratch.extend_from_slice(&stamp.number.to_le_bytes());
        let batch = stamp.batch();
        let copy = self.batches.is_copy(batch, self.service);
        let skip = !copy && self.is_to_be_skipped();
        self.scratch.push(if skip { 2 } else { u8::from(copy) });
        self.applying = Applying::Time;
        self.expire(if inject(Mistake::ExpireOneEntryLate) { before } else { self.service });
        self.begin_lists();
        if !copy && !skip {
            outcomes.reserve(commands.len());
            for (index, command) in commands.iter().enumerate() {
                self.applying = Applying::Command(index);
                let outcome = self.run(command);
                self.serve_touched();
                outcome.encode(&mut self.scratch);
                outcomes.push(outcome);
            }
        }
        self.count_touched();
        self.note_lists();
        self.digest.fold(&self.scratch);
        if self.digests.len() == DIGESTS_KEPT {
            self.digests.pop_front();
        }
        self.digests.push_back(self.digest.0);
        if skip {
            self.note_skipped();
            return EntryEffect::Skipped;
        }
        if copy { EntryEffect::Copy } else { EntryEffect::Ran }
    }

    fn run(&mut self, command: &Command<'_>) -> Outcome {
        match command {
            Command::Claim { campaign, pool, subject, limit, tag } => {
                break_if(Mistake::ClaimBreaksRule, campaign);
                self.claim(campaign, *pool, subject, (*limit, *tag))
            }
            Command::Cancel { campaign, pool, subject, rank, by, reason, who } => {
                let now = (self.stamp.at, self.service);
                let campaign = match self.campaign_mut(campaign) {
                    Ok(campaign) => campaign,
                    Err(refusal) => return refusal.into(),
                };
                let (outcome, changed) =
                    campaign.cancel(now, *pool, subject, *rank, (*by, reason, who));
                if let Some(pool) = changed {
                    let number = campaign.number;
                    self.record(Kind::Cancel, number, pool as u16, *rank, subject);
                }
                self.note_act(command, &outcome);
                outcome
            }
            Command::Hold { campaign, id, subject, picks, limit } => {
                self.on_hold(command, campaign, *limit, |campaign, context, content| {
                    let request = HoldRequest { id, subject, picks, limit: *limit, content };
                    campaign.hold(context, &request)
                })
            }
            Command::Change { step, add, drop, limit } => {
                self.on_hold(command, step.campaign, *limit, |campaign, context, content| {
                    campaign.change(context, step, (add, drop), *limit, content)
                })
            }
            Command::Extend { step, by_us } => {
                self.on_hold(command, step.campaign, None, |campaign, context, content| {
                    campaign.extend(context, step, *by_us, content)
                })
            }
            Command::Release { step, units } => {
                self.on_hold(command, step.campaign, None, |campaign, context, content| {
                    campaign.release(context, step, units, content)
                })
            }
            Command::Confirm { step, units, late } => {
                self.on_hold(command, step.campaign, None, |campaign, context, content| {
                    campaign.confirm(context, step, (units, *late), content)
                })
            }
            Command::Seats { campaign, pool, chunk, order } => {
                self.order(command, *order, |state| {
                    let at = state.stamp.at;
                    state.on_campaign(campaign, |campaign, _| campaign.add_seats(at, pool, chunk))
                })
            }
            Command::Block { campaign, units, blocked, order, .. } => {
                self.order(command, *order, |state| {
                    state.on_campaign(campaign, |campaign, _| campaign.block(units, *blocked))
                })
            }
            Command::Move { campaign, pool, from, to, reason, order } => {
                self.order(command, *order, |state| {
                    state.on_campaign(campaign, |campaign, context| {
                        campaign.move_seat(context, pool, (from, to), (reason, order.who))
                    })
                })
            }
            Command::ChangeSeats { campaign, pool, seats, order } => {
                self.order(command, *order, |state| {
                    let at = state.stamp.at;
                    let change = |campaign: &mut Campaign| campaign.change_seats(at, pool, seats);
                    state.on_campaign(campaign, |campaign, _| change(campaign))
                })
            }
            Command::Bar { campaign, subject, reason, order } => {
                self.order(command, *order, |state| {
                    state.on_campaign(campaign, |campaign, context| {
                        campaign.bar(context, subject, (reason, order.who))
                    })
                })
            }
            Command::Unbar { campaign, subject, order } => self.order(command, *order, |state| {
                state.on_campaign(campaign, |campaign, _| campaign.unbar(subject))
            }),
            Command::Join { campaign, pool, subject, wish, limit } => {
                let request = JoinRequest { pool: *pool, subject, wish: *wish, limit: *limit };
                self.on_list(command, campaign, *limit, |campaign, context| {
                    campaign.join(context, &request)
                })
            }
            Command::Leave { campaign, pool, subject } => {
                self.on_list(command, campaign, None, |campaign, context| {
                    campaign.leave(context, *pool, subject)
                })
            }
            Command::Put { campaign, settings, expect, order } => {
                self.order(command, *order, |state| state.put(campaign, settings, *expect))
            }
            Command::Steer { campaign, steer, order } => {
                self.order(command, *order, |state| state.steer(campaign, *steer))
            }
            Command::Code(code) => {
                let run = |state: &mut Self| {
                    let campaign = code.target().0;
                    state
                        .on_campaign(campaign, |campaign, context| campaign.on_codes(context, code))
                };
                if let Some(order) = code.order() {
                    return self.order(command, order, run);
                }
                // Which reference, and what was asked, shows in later outcomes only: the digest tells it at once.
                let content = command.content();
                self.scratch.extend_from_slice(&content.to_le_bytes());
                run(self)
            }
            Command::Tick { .. } => Outcome::Ticked,
            Command::Settled { through, term, .. } => self.settle(*through, *term),
            // Its body is of the level it raises to, so the space is there already.
            Command::Raise { .. } => Outcome::Raised { level: self.stamp.level },
        }
    }

    /// Gives a subject a unit: the rules are [`Campaign::judge_claim`], after `not_found` and `archived`, and before
    /// `tag_required`.
    fn claim(
        &mut self,
        campaign: &str,
        pool: Option<&str>,
        subject: &str,
        (limit, tag): (Option<u32>, Option<u64>),
    ) -> Outcome {
        let at = self.stamp.at;
        let name = campaign;
        let campaign = match self.campaign_mut(name) {
            Ok(campaign) => campaign,
            Err(refusal) => return refusal.into(),
        };
        let pool = match campaign.judge_claim(at, pool, subject, limit) {
            Ok(pool) => pool,
            Err(outcome) => return outcome,
        };
        if tag.is_none() && campaign.needs_tag(pool) {
            return CodeRefusal::TagRequired.into();
        }
        if let Some(number) = campaign.code_offer(pool, subject) {
            return self.on_campaign(name, |campaign, context| {
                campaign.take_offer(context, (pool, number), tag)
            });
        }
        let rank = campaign.give(pool, subject, at, tag);
        let (number, outcome) = (campaign.number, campaign.won(pool, rank, at));
        self.record(Kind::Claim, number, pool as u16, rank, subject);
        outcome
    }

    /// Frees every unit whose hold is due at a service time, in the order of deadlines, then of campaigns and numbers.
    fn expire(&mut self, due: i64) {
        let mut cleared = 0;
        while let Some(&(deadline, campaign, number)) = self.deadlines.first() {
            let live = self.campaigns.get_mut(&campaign);
            if deadline > due && (live.is_some() || cleared == CLEARED_DEADLINES) {
                return;
            }
            self.deadlines.pop_first();
            self.applying = Applying::Expiry(campaign);
            let Some(live) = live else {
                // Its campaign was archived.
                cleared += 1;
                self.counts.forget_deadline();
                continue;
            };
            self.counts.touch(campaign);
            break_if(Mistake::ExpiryBreaksRule, live.name());
            let (deadlines, results) = (&mut self.deadlines, &mut self.new_results);
            let (at, service) = (self.stamp.at, self.service);
            live.expire(&mut ApplyContext { at, service, deadlines, results }, number);
            self.scratch.extend_from_slice(&campaign.to_le_bytes());
            self.scratch.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Runs a command on one hold.
    fn on_hold(
        &mut self,
        command: &Command<'_>,
        campaign: &str,
        limit: Option<u32>,
        run: impl FnOnce(&mut Campaign, &mut ApplyContext<'_>, u64) -> Outcome,
    ) -> Outcome {
        let content = command.content();
        // Whose hold it is, and what was asked, shows in later outcomes only: the digest tells it at once.
        self.scratch.extend_from_slice(&content.to_le_bytes());
        if let Some(limit) = limit {
            self.scratch.extend_from_slice(&limit.to_le_bytes());
        }
        self.on_campaign(campaign, |campaign, context| run(campaign, context, content))
    }

    /// Runs a command on a campaign and numbers the results it made. Refuses with `not_found` and `archived`.
    fn on_campaign(
        &mut self,
        name: &str,
        run: impl FnOnce(&mut Campaign, &mut ApplyContext<'_>) -> Outcome,
    ) -> Outcome {
        let (at, service) = (self.stamp.at, self.service);
        let mut results = std::mem::take(&mut self.new_results);
        let mut deadlines = std::mem::take(&mut self.deadlines);
        let (outcome, number) = match self.campaign_mut(name) {
            Err(refusal) => (refusal.into(), 0),
            Ok(campaign) => {
                let (deadlines, results) = (&mut deadlines, &mut results);
                let mut context = ApplyContext { at, service, deadlines, results };
                (run(campaign, &mut context), campaign.number)
            }
        };
        self.deadlines = deadlines;
        let NewResults { subject, list } = &mut results;
        for NewResult { kind, pool, rank } in list.drain(..) {
            self.record(kind, number, pool, rank, subject);
        }
        self.new_results = results;
        outcome
    }

    fn record(&mut self, kind: Kind, campaign: u32, pool: u16, rank: u32, subject: &str) {
        let mut in_campaign = 0;
        if let Some(campaign) = self.campaigns.get_mut(&campaign) {
            campaign.unsettled += 1;
            campaign.results += 1;
            in_campaign = campaign.results;
            self.counts.wait();
        }
        self.results.push(Record { campaign, rank, pool, kind }, in_campaign);
        // Whose it is belongs to the digest: two replicas that disagree on it agree on every rank.
        self.scratch.push(kind.code());
        self.scratch.extend_from_slice(&campaign.to_le_bytes());
        self.scratch.extend_from_slice(&pool.to_le_bytes());
        self.scratch.push(subject.len() as u8);
        self.scratch.extend_from_slice(subject.as_bytes());
    }

    fn campaign_mut(&mut self, name: &str) -> Result<&mut Campaign, Refusal> {
        match self.names.get(name) {
            Some(Named::Live(number)) => {
                self.counts.touch(*number);
                Ok(self.campaigns.get_mut(number).expect("a live name has its campaign"))
            }
            Some(Named::Archived(_)) => Err(Refusal::Archived),
            None => Err(Refusal::NotFound(Missing::Campaign)),
        }
    }
}
