//! Entries in order: which command goes where, what each came to, and which results there are.

mod lookup;
mod operate;

pub use lookup::Seen;

use crate::campaign::ModelCampaign;
use crate::event::{Applied, Claimed, Decision, Event, Issued};
use crate::holding::{Made, SaidBy, Turn};
use firstcome_core::command::{CodeCommand, Order};
use firstcome_core::names::Name;
use firstcome_core::outcome::Missing;
use firstcome_core::results::Kind;
use firstcome_core::{Command, NodeId, Outcome, Refusal, Stamp};
use std::collections::BTreeMap;

/// The longest step between two entries that counts as service, in microseconds.
const STEP: i64 = 15_000_000;
/// How long a batch number is remembered, and how often the forgotten ones go, in microseconds of
/// service.
const REMEMBERED: i64 = 3_600_000_000;
const SWEPT_EVERY: i64 = 60_000_000;

/// What all entries so far came to.
#[derive(Clone, Debug, Default)]
pub struct Model<'a> {
    campaigns: BTreeMap<&'a str, ModelCampaign<'a>>,
    batches: BTreeMap<NodeId, (u64, i64)>,
    /// What each operator's command with an id came to, by the name of the key and the id.
    ids: BTreeMap<(&'a str, &'a str), (Command<'a>, Decision)>,
    /// The campaign of each result.
    results: Vec<&'a str>,
    settled: usize,
    /// Results that the operator gave up before a ledger had them.
    dropped: Vec<u64>,
    /// The last entry; none before the first.
    turn: Option<Turn>,
    sweep_at: i64,
    /// That of the highest body so far.
    level: u32,
    /// Campaigns there ever were.
    made: usize,
    /// What the entry that is applied did so far.
    events: Vec<Event<'a>>,
}

impl<'a> Model<'a> {
    /// Applies an entry, which is called by an index from here on.
    ///
    /// Of the stamp, neither position nor epoch count: entries come in order.
    pub fn apply(&mut self, entry: usize, stamp: Stamp, commands: &[Command<'a>]) -> Applied<'a> {
        self.level = self.level.max(stamp.level);
        let service = self
            .turn
            .map_or(0, |before| before.service + stamp.at.micros_since(before.at).min(STEP));
        let turn = Turn { at: stamp.at, service, entry };
        self.turn = Some(turn);
        let copy = self.is_copy(stamp.batch(), service);
        self.campaigns.values_mut().for_each(|campaign| campaign.expire(&turn));
        let names: Vec<&'a str> = self.campaigns().map(|(name, _)| name).collect();
        names.into_iter().for_each(|name| self.serve(&turn, name));
        let mut decisions = None;
        if !copy {
            decisions = Some(commands.iter().map(|one| self.decide(&turn, one)).collect());
        }
        Applied { decisions, events: std::mem::take(&mut self.events) }
    }

    /// Returns the level of the space: the highest of its entries.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Returns the number of the last result.
    pub fn last_result(&self) -> u64 {
        self.results.len() as u64
    }

    /// Returns the number of the last result that a ledger has.
    pub fn settled(&self) -> u64 {
        self.settled as u64
    }

    /// Returns the results that the operator gave up before a ledger had them.
    pub fn dropped(&self) -> &[u64] {
        &self.dropped
    }

    /// Returns a campaign, archived or not.
    pub fn campaign(&self, name: &str) -> Option<&ModelCampaign<'a>> {
        self.campaigns.get(name)
    }

    /// Returns every campaign with its name, archived or not, in the order in which they were created.
    pub fn campaigns(&self) -> impl Iterator<Item = (&'a str, &ModelCampaign<'a>)> {
        let mut all: Vec<_> = self.campaigns.iter().map(|(name, found)| (*name, found)).collect();
        all.sort_by_key(|(_, campaign)| campaign.number);
        all.into_iter()
    }

    fn is_copy(&mut self, Name { node, number }: Name, service: i64) -> bool {
        if service >= self.sweep_at {
            self.sweep_at = service + SWEPT_EVERY;
            self.batches.retain(|_, (_, used)| service - *used < REMEMBERED);
        }
        let (last, used) = self.batches.entry(node).or_default();
        *used = service;
        let copy = number <= *last;
        *last = number.max(*last);
        copy
    }

    /// Decides a command: once for each id of an operator.
    fn decide(&mut self, turn: &Turn, command: &Command<'a>) -> Decision {
        let mut content = command.clone();
        let order = take_order(&mut content).and_then(|order| Some((order.who, order.id?)));
        let known = order.and_then(|order| self.ids.get(&order));
        let repeated = known.filter(|(before, _)| *before == content);
        let decision = if let Some((_, decision)) = repeated {
            decision.clone()
        } else {
            let reused = known.is_some().then(|| SaidBy::from(Refusal::IdReused));
            let SaidBy { outcome, since } = reused.unwrap_or_else(|| self.run(turn, command));
            self.list_act(turn.at, command, outcome.as_str());
            let decision = Decision { outcome, origin: since.unwrap_or(turn.entry) };
            if let (Some(order), false) = (order, decision.outcome.is_refusal()) {
                self.ids.insert(order, (content, decision.clone()));
            }
            decision
        };
        if let Some(name) = command.campaign() {
            self.serve(turn, name);
        }
        decision
    }

    fn run(&mut self, turn: &Turn, command: &Command<'a>) -> SaidBy {
        match command {
            Command::Put { campaign, settings, expect, .. } => {
                let outcome = self.put(turn, campaign, settings, *expect);
                self.stands(campaign, outcome)
            }
            Command::Steer { campaign, steer, .. } => {
                let outcome = self.steer(turn, campaign, *steer);
                self.stands(campaign, outcome)
            }
            Command::Raise { .. } => SaidBy::from(Outcome::Raised { level: self.level }),
            Command::Tick { .. } => SaidBy::from(Outcome::Ticked),
            Command::Settled { through, .. } => SaidBy::from(self.settle(*through)),
            Command::Claim { campaign, .. }
            | Command::Cancel { campaign, .. }
            | Command::Hold { campaign, .. }
            | Command::Seats { campaign, .. }
            | Command::Block { campaign, .. }
            | Command::Move { campaign, .. }
            | Command::ChangeSeats { campaign, .. }
            | Command::Bar { campaign, .. }
            | Command::Unbar { campaign, .. }
            | Command::Join { campaign, .. }
            | Command::Leave { campaign, .. } => self.within(turn, campaign, command),
            Command::Change { step, .. }
            | Command::Extend { step, .. }
            | Command::Release { step, .. }
            | Command::Confirm { step, .. } => self.within(turn, step.campaign, command),
            Command::Code(code) => self.within(turn, code.target().0, command),
        }
    }

    /// Runs a command on what is in one campaign.
    fn within(&mut self, turn: &Turn, name: &'a str, command: &Command<'a>) -> SaidBy {
        let mut made = Vec::new();
        let (Ok(said) | Err(said)) = match self.find(name) {
            Ok(campaign) => campaign.run(turn, command, &mut made),
            Err(refusal) => Err(SaidBy::from(refusal)),
        };
        if let (Command::Seats { pool, chunk, .. }, false) = (command, said.outcome.is_refusal()) {
            let areas = chunk.areas.iter().map(|area| (area.name, area.capacity)).collect();
            self.events.push(Event::Areas { campaign: name, pool, areas });
        }
        self.note(turn, name, made);
        said
    }

    /// Serves the waitlists of a campaign, once everything else was done.
    fn serve(&mut self, turn: &Turn, name: &'a str) {
        let mut made = Vec::new();
        if let Ok(campaign) = self.find(name) {
            campaign.serve_lists(turn, &mut made);
            self.note(turn, name, made);
        }
    }

    /// Numbers the results that a command made.
    fn note(&mut self, turn: &Turn, name: &'a str, made: Vec<Made<'a>>) {
        for Made { kind, pool, rank, subject, unit, hold, from } in made {
            self.results.push(name);
            let in_campaign = self.results.iter().filter(|of| **of == name).count() as u32;
            let (campaign, number, at) = (name, self.last_result(), turn.at);
            let found = self.campaigns.get_mut(name).expect("it made a result");
            found.note_had(pool, [unit, from]);
            let coupons = found.pools[pool].coupons.as_ref();
            let code = coupons.and_then(|coupons| coupons.key_of(rank));
            let pool = found.settings.pools[pool].name.clone();
            if let (Some(code), Kind::Claim | Kind::CodeMarked) = (code, kind) {
                let pool = pool.clone();
                self.events.push(Event::Issued(Issued { campaign, pool, code, subject }));
            }
            let result = Claimed {
                number,
                in_campaign,
                campaign,
                pool,
                rank,
                subject,
                at,
                unit,
                hold,
                from,
            };
            self.events.push(Event::Result(kind, result));
        }
    }

    fn find(&mut self, name: &str) -> Result<&mut ModelCampaign<'a>, Refusal> {
        match self.campaigns.get_mut(name) {
            None => Err(Refusal::NotFound(Missing::Campaign)),
            Some(campaign) if campaign.archived => Err(Refusal::Archived),
            Some(campaign) => Ok(campaign),
        }
    }
}

impl<'a> ModelCampaign<'a> {
    fn run(
        &mut self,
        turn: &Turn,
        command: &Command<'a>,
        made: &mut Vec<Made<'a>>,
    ) -> Result<SaidBy, SaidBy> {
        let (Ok(outcome) | Err(outcome)) = match command {
            Command::Claim { pool, subject, limit, tag, .. } => {
                return self.claim(turn, (*pool, subject), (*limit, *tag), made);
            }
            Command::Cancel { pool, subject, rank, by, .. } => {
                return self.cancel(turn, (*pool, subject, *rank), *by, made);
            }
            Command::Hold { .. } => return self.hold(turn, command),
            Command::Change { .. } => return self.change(turn, command),
            Command::Extend { .. } => return self.extend(turn, command),
            Command::Release { .. } => return self.release(turn, command),
            Command::Confirm { .. } => return self.confirm(turn, command, made),
            Command::Join { .. } => return self.join(turn, command, made),
            Command::Leave { pool, subject, .. } => return self.leave(turn, *pool, subject),
            Command::Bar { subject, .. } => return Ok(self.bar(turn, subject)),
            Command::Code(code) => return self.on_code(turn, code, made),
            Command::Unbar { subject, .. } => Ok(self.unbar(subject)),
            Command::Seats { pool, chunk, .. } => self.add_seats(turn, pool, chunk),
            Command::Block { units, blocked, .. } => self.block(units, *blocked),
            Command::Move { pool, from, to, .. } => self.exchange(turn, pool, (from, to), made),
            Command::ChangeSeats { pool, seats, .. } => self.change_seats(turn, pool, seats),
            Command::Put { .. }
            | Command::Steer { .. }
            | Command::Raise { .. }
            | Command::Tick { .. }
            | Command::Settled { .. } => unreachable!("it is about more than one campaign"),
        };
        Ok(SaidBy::from(outcome))
    }
}

/// Takes out of an operator's command who gave it, and under which id.
fn take_order<'a>(command: &mut Command<'a>) -> Option<Order<'a>> {
    if let Command::Put { order, .. }
    | Command::Steer { order, .. }
    | Command::Seats { order, .. }
    | Command::Block { order, .. }
    | Command::Move { order, .. }
    | Command::ChangeSeats { order, .. }
    | Command::Bar { order, .. }
    | Command::Unbar { order, .. }
    | Command::Code(
        CodeCommand::Mark { order, .. }
        | CodeCommand::RevokeImport { order, .. }
        | CodeCommand::Reissue { order, .. }
        | CodeCommand::Stage { order, .. }
        | CodeCommand::Commit { order, .. }
        | CodeCommand::Discard { order, .. },
    ) = command
    {
        return Some(std::mem::take(order));
    }
    None
}
