//! Everything one node knows as of a position, and where entries are applied.

use crate::campaign::Campaign;
use crate::command::{Command, Expect, Mark, Order, Steer};
use crate::digest::Digest;
use crate::limits::{DIGESTS_KEPT, SERVICE_STEP_US};
use crate::names::{NodeId, Position, SpaceId};
use crate::outcome::{Missing, Outcome, Refusal};
use crate::remembered::{Answered, Batches, Known, Orders};
use crate::results::{Kind, Record, Results};
use crate::twins::counts_whole_steps;
use crate::{Settings, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// The store part of an entry, as far as the rules need it, and who wrote its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The entry's place: one more than the entry before it.
    pub position: u64,
    /// The store's time: never before that of the entry before it.
    pub at: Timestamp,
    /// How many forks were resolved before it.
    pub epoch: u32,
    /// Who wrote the body.
    pub node: NodeId,
    /// Which of the writer's batches the body is.
    pub number: u64,
}

/// A campaign that has left memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// When it left.
    pub at: Timestamp,
    /// Its title.
    pub title: Box<str>,
}

/// What is known under a campaign's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Live(u32),
    Archived(Archived),
}

/// One result with its content.
#[derive(Clone, Debug)]
pub struct ResultRow<'a> {
    /// Its number: 1, 2, 3 over the whole shard.
    pub number: u64,
    /// What happened.
    pub kind: Kind,
    /// In which campaign.
    pub campaign: &'a Campaign,
    /// In which pool.
    pub pool: &'a str,
    /// To which claim.
    pub claim: crate::pool::Claim<'a>,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Its commands ran.
    Ran,
    /// It was a copy of a batch seen before: time moved, its commands did not run.
    Copy,
}

/// The state of one shard as of a position.
#[derive(Debug)]
pub struct State {
    pub(crate) space: SpaceId,
    pub(crate) shard: u32,
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
    scratch: Vec<u8>,
}

impl State {
    /// Begins with nothing, before the first entry.
    pub fn new(space: SpaceId, shard: u32) -> Self {
        Self {
            space,
            shard,
            stamp: Stamp {
                position: 0,
                at: Timestamp::from_micros(0),
                epoch: 0,
                node: NodeId::default(),
                number: 0,
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
            scratch: Vec::new(),
        }
    }

    /// Applies one entry: time first, then its commands in order.
    ///
    /// One outcome for each command is added to `outcomes`, unless the entry is a copy.
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
    ) -> Applied {
        assert_eq!(stamp.position, self.stamp.position + 1, "entries are applied in order");
        assert!(stamp.at >= self.stamp.at, "journal time never goes back");
        if self.stamp.position > 0 {
            let step = stamp.at.micros_since(self.stamp.at);
            self.service += if counts_whole_steps() { step } else { step.min(SERVICE_STEP_US) };
        }
        self.stamp = stamp;
        self.scratch.clear();
        self.scratch.extend_from_slice(&stamp.position.to_le_bytes());
        self.scratch.extend_from_slice(&stamp.at.as_micros().to_le_bytes());
        self.scratch.extend_from_slice(&stamp.epoch.to_le_bytes());
        self.scratch.extend_from_slice(&stamp.node.0);
        self.scratch.extend_from_slice(&stamp.number.to_le_bytes());
        let copy = self.batches.is_copy(stamp.node, stamp.number, self.service);
        self.scratch.push(u8::from(copy));
        if !copy {
            outcomes.reserve(commands.len());
            for command in commands {
                let outcome = self.run(command);
                outcome.encode(&mut self.scratch);
                outcomes.push(outcome);
            }
        }
        self.digest.fold(&self.scratch);
        if self.digests.len() == DIGESTS_KEPT {
            self.digests.pop_front();
        }
        self.digests.push_back(self.digest.0);
        if copy { Applied::Copy } else { Applied::Ran }
    }

    fn run(&mut self, command: &Command<'_>) -> Outcome {
        match command {
            Command::Claim { campaign, pool, subject } => self.claim(campaign, *pool, subject),
            Command::Cancel { campaign, pool, subject, rank, by, reason, who } => {
                let at = self.stamp.at;
                let campaign = match self.campaign_mut(campaign) {
                    Ok(campaign) => campaign,
                    Err(refusal) => return refusal.into(),
                };
                let (outcome, changed) =
                    campaign.cancel(at, pool, subject, *rank, (*by, reason, who));
                if let Some(place) = changed {
                    let number = campaign.number;
                    self.record(Kind::Cancel, number, place, *rank, subject);
                }
                outcome
            }
            Command::Put { campaign, settings, expect, order } => {
                self.order(command, *order, |state| state.put(campaign, settings, *expect))
            }
            Command::Steer { campaign, steer, order } => {
                self.order(command, *order, |state| state.steer(campaign, *steer))
            }
            Command::Tick { .. } => Outcome::Ticked,
            Command::Settled { through, term, .. } => self.settle(*through, *term),
        }
    }

    /// Gives a subject a unit: the ladder is [`Campaign::judge_claim`], after `not_found` and `archived`.
    fn claim(&mut self, campaign: &str, pool: Option<&str>, subject: &str) -> Outcome {
        let at = self.stamp.at;
        let campaign = match self.campaign_mut(campaign) {
            Ok(campaign) => campaign,
            Err(refusal) => return refusal.into(),
        };
        let place = match campaign.judge_claim(at, pool, subject) {
            Ok(place) => place,
            Err(outcome) => return outcome,
        };
        let rank = campaign.pools[place].give(subject, at);
        let number = campaign.number;
        self.record(Kind::Claim, number, place, rank, subject);
        Outcome::Won { rank, at }
    }

    /// Runs an operator command once for each id.
    ///
    /// An id that was said yes to gives the same answer again, or `id_reused` with other content.
    fn order(
        &mut self,
        command: &Command<'_>,
        order: Order<'_>,
        run: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        let content = command.content();
        // What an operator wanted shows in later outcomes only: the digest tells it at once.
        self.scratch.extend_from_slice(&content.to_le_bytes());
        let Some(id) = order.id else {
            return run(self);
        };
        self.orders.forget(self.service);
        match self.orders.look_up(id, content) {
            Known::Same(outcome) => return outcome,
            Known::Other => return Refusal::IdReused.into(),
            Known::No => {}
        }
        let outcome = run(self);
        if !outcome.is_refusal() {
            let answered = Answered { content, outcome: outcome.clone(), service: self.service };
            self.orders.remember(id, answered);
        }
        outcome
    }

    /// Creates a campaign or changes it.
    ///
    /// The first refusal that applies is given, in this order: `archived`, `version_mismatch`,
    /// `not_found` (a version was demanded of nothing), then those of [`Campaign`].
    fn put(&mut self, name: &str, wanted: &Settings, expect: Expect) -> Outcome {
        let at = self.stamp.at;
        match self.campaign_mut(name) {
            Err(Refusal::NotFound(_)) => {}
            Err(refusal) => return refusal.into(),
            Ok(campaign) => {
                let version = campaign.version;
                return match expect {
                    Expect::Anything => campaign.put(at, wanted),
                    Expect::Version(demanded) if demanded == version => campaign.put(at, wanted),
                    Expect::Version(_) | Expect::Absent => {
                        Refusal::VersionMismatch { version }.into()
                    }
                };
            }
        }
        if let Expect::Version(_) = expect {
            return Refusal::NotFound(Missing::Campaign).into();
        }
        let number = self.last_campaign + 1;
        let campaign = match Campaign::create(number, name, at, wanted) {
            Ok(campaign) => campaign,
            Err(refusal) => return refusal.into(),
        };
        self.last_campaign = number;
        self.names.insert(name.into(), Named::Live(number));
        self.campaigns.insert(number, campaign);
        Outcome::Created { version: 1 }
    }

    fn steer(&mut self, name: &str, steer: Steer) -> Outcome {
        let at = self.stamp.at;
        let archived = matches!(self.names.get(name), Some(Named::Archived(_)));
        if let Steer::Archive { .. } = steer
            && archived
        {
            return Outcome::Unchanged { version: 0 };
        }
        let campaign = match self.campaign_mut(name) {
            Ok(campaign) => campaign,
            Err(refusal) => return refusal.into(),
        };
        let Steer::Archive { drop_unsettled } = steer else {
            return campaign.steer(at, steer);
        };
        if campaign.closed_since(at).is_none() {
            return Refusal::NotClosed.into();
        }
        if campaign.unsettled > 0 && !drop_unsettled {
            return Refusal::Unsettled.into();
        }
        let (number, version) = (campaign.number, campaign.version + 1);
        let archived = Archived { at, title: campaign.title.clone() };
        self.campaigns.remove(&number);
        self.names.insert(name.into(), Named::Archived(archived));
        Outcome::Changed { version, clamped: Vec::new() }
    }

    /// Drops results a ledger has. Refuses with `beyond_results` a number that was not given yet.
    fn settle(&mut self, through: u64, term: u64) -> Outcome {
        if through > self.results.last() {
            return Refusal::BeyondResults.into();
        }
        while self.results.settled < through {
            let record = self.results.settle_one().expect("it is not beyond the last result");
            if let Some(campaign) = self.campaigns.get_mut(&record.campaign) {
                campaign.unsettled -= 1;
            }
        }
        self.results.term = self.results.term.max(term);
        Outcome::Settled { through: self.results.settled }
    }

    fn record(&mut self, kind: Kind, campaign: u32, place: usize, rank: u32, subject: &str) {
        self.results.push(Record { campaign, rank, pool: place as u16, kind });
        // Whose it is belongs to the digest: two replicas that disagree on it agree on every rank.
        self.scratch.push(kind.code());
        self.scratch.extend_from_slice(&campaign.to_le_bytes());
        self.scratch.extend_from_slice(&(place as u16).to_le_bytes());
        self.scratch.push(subject.len() as u8);
        self.scratch.extend_from_slice(subject.as_bytes());
        if let Some(campaign) = self.campaigns.get_mut(&campaign) {
            campaign.unsettled += 1;
        }
    }

    fn campaign_mut(&mut self, name: &str) -> Result<&mut Campaign, Refusal> {
        match self.names.get(name) {
            Some(Named::Live(number)) => {
                Ok(self.campaigns.get_mut(number).expect("a live name has its campaign"))
            }
            Some(Named::Archived(_)) => Err(Refusal::Archived),
            None => Err(Refusal::NotFound(Missing::Campaign)),
        }
    }

    /// Gives a campaign, or why there is none: `not_found` or `archived`.
    pub fn campaign(&self, name: &str) -> Result<&Campaign, Refusal> {
        match self.names.get(name) {
            Some(Named::Live(number)) => {
                Ok(self.campaigns.get(number).expect("a live name has its campaign"))
            }
            Some(Named::Archived(_)) => Err(Refusal::Archived),
            None => Err(Refusal::NotFound(Missing::Campaign)),
        }
    }

    /// Gives the campaigns in memory, in order of creation.
    pub fn campaigns(&self) -> impl Iterator<Item = &Campaign> {
        self.campaigns.values()
    }

    /// Gives the names and ends of campaigns that left memory, by name.
    pub fn archived(&self) -> impl Iterator<Item = (&str, &Archived)> {
        self.names.iter().filter_map(|(name, named)| match named {
            Named::Archived(archived) => Some((&**name, archived)),
            Named::Live(_) => None,
        })
    }

    /// Gives results that are not settled, beyond a number, in order.
    ///
    /// Results of campaigns that left memory unsettled are left out.
    pub fn results_after(&self, number: u64) -> impl Iterator<Item = ResultRow<'_>> {
        self.results.after(number).filter_map(|(number, record)| {
            let campaign = self.campaigns.get(&record.campaign)?;
            let pool = campaign.pools.get(usize::from(record.pool))?;
            let claim = pool.claim(record.rank)?;
            Some(ResultRow { number, kind: record.kind, campaign, pool: &pool.name, claim })
        })
    }

    /// Gives the number of the last result; 0 before the first.
    pub fn last_result(&self) -> u64 {
        self.results.last()
    }

    /// Gives the number up to which results are settled.
    pub fn settled(&self) -> u64 {
        self.results.settled
    }

    /// Gives how many results are kept because no ledger is known to have them.
    pub fn unsettled(&self) -> usize {
        self.results.len()
    }

    /// Gives the highest term seen in a settle mark.
    pub fn term(&self) -> u64 {
        self.results.term
    }

    /// Says whether a batch would be a copy: one of the same node with this number or a higher one ran.
    pub fn has_run(&self, node: NodeId, number: u64) -> bool {
        self.batches.last.get(&node).is_some_and(|last| number <= last.number)
    }

    /// Gives the space this is the state of.
    pub fn space(&self) -> SpaceId {
        self.space
    }

    /// Gives the position of the last entry applied; 0 before the first.
    pub fn position(&self) -> u64 {
        self.stamp.position
    }

    /// Gives the position as clients see it.
    pub fn token(&self) -> Position {
        let Stamp { epoch, position, .. } = self.stamp;
        Position { shard: self.shard, epoch, position }
    }

    /// Gives the stamp of the last entry applied.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Gives the time of the last entry applied.
    pub fn at(&self) -> Timestamp {
        self.stamp.at
    }

    /// Gives the service time in microseconds.
    pub fn service(&self) -> i64 {
        self.service
    }

    /// Gives the digest after the last entry applied.
    pub fn digest(&self) -> u64 {
        self.digest.0
    }

    /// Gives what this state says of itself to others.
    pub fn mark(&self) -> Mark {
        Mark { position: self.position(), digest: self.digest() }
    }

    /// Gives the digest as it was at a position, if that is among the last 4,096.
    pub fn digest_at(&self, position: u64) -> Option<u64> {
        let back = usize::try_from(self.position().checked_sub(position)?).ok()?;
        let place = self.digests.len().checked_sub(back + 1)?;
        self.digests.get(place).copied()
    }

    /// Gives the opening or closing that lies next after the last entry.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.campaigns.values().filter_map(|c| c.next_deadline(self.at())).min()
    }

    /// Gives about how many bytes of memory the campaigns take.
    pub fn memory(&self) -> usize {
        self.campaigns.values().map(Campaign::memory).sum::<usize>()
            + self.results.len() * size_of::<Record>()
    }
}
