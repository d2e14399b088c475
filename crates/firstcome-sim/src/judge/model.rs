//! The judge's own rules: the outcomes of the commands of an entry, written from the documents.
//!
//! It shares nothing with the rules that nodes run but the words of commands and outcomes.

#[cfg(test)]
mod comparison;
mod event;
mod lookup;
mod operate;

pub(super) use event::{Claimed, Decision, Event, Issued};
pub(super) use lookup::Seen;

use super::campaign::{Campaign, Undone};
use super::holding::{Made, Said, Turn};
use firstcome_core::command::{CodeCommand, Order};
use firstcome_core::outcome::{By, Missing};
use firstcome_core::results::Kind;
use firstcome_core::{CodeRefusal, Command, NodeId, Outcome, Refusal, Timestamp};
use firstcome_journal::Name;
use std::collections::BTreeMap;

/// The longest step between two entries that counts as service, in microseconds.
const STEP: i64 = 15_000_000;
/// How long a batch number is remembered, and how often the forgotten ones go, in microseconds of
/// service.
const REMEMBERED: i64 = 3_600_000_000;
const SWEPT_EVERY: i64 = 60_000_000;

/// What all entries so far came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Model<'a> {
    pub(super) campaigns: BTreeMap<&'a str, Campaign<'a>>,
    batches: BTreeMap<NodeId, (u64, i64)>,
    /// What each operator's command with an id came to, by the name of the key and the id.
    ids: BTreeMap<(&'a str, &'a str), (Command<'a>, Decision)>,
    /// The campaign of each result.
    results: Vec<&'a str>,
    settled: usize,
    /// Results that the operator gave up before a ledger had them.
    pub(super) dropped: Vec<u64>,
    at: Option<Timestamp>,
    service: i64,
    sweep_at: i64,
    entry: usize,
    /// That of the highest body so far.
    level: u32,
    /// Whether the command that was decided last was known under its id.
    repeated: bool,
    /// Campaigns there ever were.
    made: usize,
}

impl<'a> Model<'a> {
    /// Applies an entry; gives what each command came to, or nothing for a copy.
    pub(super) fn apply(
        &mut self,
        entry: usize,
        at: Timestamp,
        (name, level): (Name, u32),
        commands: &[Command<'a>],
        events: &mut Vec<Event<'a>>,
    ) -> Option<Vec<Decision>> {
        self.level = self.level.max(level);
        let step = self.at.map_or(0, |before| at.micros_since(before).min(STEP));
        self.service += step;
        (self.at, self.entry) = (Some(at), entry);
        let copy = self.is_copy(name);
        let turn = self.turn(at);
        self.campaigns.values_mut().for_each(|campaign| campaign.expire(&turn));
        let mut names: Vec<&'a str> = self.campaigns.keys().copied().collect();
        names.sort_by_key(|name| self.campaigns[name].number);
        for name in names {
            self.serve(at, name, events);
        }
        if copy {
            return None;
        }
        let run = |command: &Command<'a>| {
            self.repeated = false;
            let decided = self.run(at, command, events);
            if !self.repeated {
                self.list_act(at, command, decided.outcome.as_str());
            }
            if let Some(name) = command.campaign() {
                self.serve(at, name, events);
            }
            decided
        };
        Some(commands.iter().map(run).collect())
    }

    /// Returns the level of the space.
    pub(super) fn level(&self) -> u32 {
        self.level
    }

    /// Returns the number of the last result.
    pub(super) fn last_result(&self) -> u64 {
        self.results.len() as u64
    }

    fn is_copy(&mut self, name: Name) -> bool {
        let service = self.service;
        if service >= self.sweep_at {
            self.sweep_at = service + SWEPT_EVERY;
            self.batches.retain(|_, (_, used)| service - *used < REMEMBERED);
        }
        let (last, used) = self.batches.entry(name.node).or_default();
        *used = service;
        let copy = name.number <= *last;
        *last = name.number.max(*last);
        copy
    }

    fn run(
        &mut self,
        at: Timestamp,
        command: &Command<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Decision {
        let decided = match command {
            Command::Claim { campaign, pool, subject, limit, tag } => {
                self.claim(at, (campaign, *pool, subject), (*limit, *tag), events)
            }
            Command::Cancel { campaign, pool, subject, rank, by, .. } => {
                self.cancel(at, (campaign, *pool, subject, *rank), *by, events)
            }
            Command::Put { order, .. }
            | Command::Steer { order, .. }
            | Command::Seats { order, .. }
            | Command::Block { order, .. }
            | Command::Move { order, .. }
            | Command::ChangeSeats { order, .. }
            | Command::Bar { order, .. }
            | Command::Unbar { order, .. } => self.order(at, *order, command, events),
            Command::Hold { .. }
            | Command::Change { .. }
            | Command::Extend { .. }
            | Command::Release { .. }
            | Command::Confirm { .. } => self.on_hold(at, command, events),
            Command::Join { .. } | Command::Leave { .. } => self.on_list(at, command, events),
            Command::Code(code) => match code.order() {
                Some(order) => self.order(at, order, command, events),
                None => self.on_code(at, code, events),
            },
            Command::Raise { .. } => Ok(self.here(Outcome::Raised { level: self.level })),
            Command::Tick { .. } => Ok(self.here(Outcome::Ticked)),
            Command::Settled { through, .. } => self.settle(*through),
        };
        decided.unwrap_or_else(|refusal| self.here(refusal.into()))
    }

    fn turn(&self, at: Timestamp) -> Turn {
        Turn { at, service: self.service, entry: self.entry }
    }

    /// Runs a command on one hold.
    fn on_hold(
        &mut self,
        at: Timestamp,
        command: &Command<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<Decision, Refusal> {
        let (turn, mut made) = (self.turn(at), Vec::new());
        let name = command.campaign().unwrap_or_default();
        let campaign = self.find(name)?;
        let said: Result<Said, Said> = match command {
            Command::Hold { .. } => campaign.hold(&turn, command),
            Command::Change { .. } => campaign.change(&turn, command),
            Command::Extend { .. } => campaign.extend(&turn, command),
            Command::Release { .. } => campaign.release(&turn, command),
            Command::Confirm { .. } => campaign.confirm(&turn, command, &mut made),
            Command::Claim { .. }
            | Command::Cancel { .. }
            | Command::Put { .. }
            | Command::Steer { .. }
            | Command::Seats { .. }
            | Command::Block { .. }
            | Command::Move { .. }
            | Command::ChangeSeats { .. }
            | Command::Bar { .. }
            | Command::Unbar { .. }
            | Command::Join { .. }
            | Command::Leave { .. }
            | Command::Code(_)
            | Command::Raise { .. }
            | Command::Tick { .. }
            | Command::Settled { .. } => unreachable!("it is no command on a hold"),
        };
        self.note(at, name, made, events);
        let (Ok((outcome, origin)) | Err((outcome, origin))) = said;
        Ok(Decision { outcome, origin })
    }

    /// Serves the waitlists of a campaign, once everything else was done.
    fn serve(&mut self, at: Timestamp, name: &'a str, events: &mut Vec<Event<'a>>) {
        let (turn, mut made) = (self.turn(at), Vec::new());
        if let Ok(campaign) = self.find(name) {
            campaign.serve_lists(&turn, &mut made);
            self.note(at, name, made, events);
        }
    }

    /// Runs a command on a waitlist.
    fn on_list(
        &mut self,
        at: Timestamp,
        command: &Command<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<Decision, Refusal> {
        let (turn, mut made) = (self.turn(at), Vec::new());
        let name = command.campaign().unwrap_or_default();
        let campaign = self.find(name)?;
        let decided = if let Command::Leave { pool, subject, .. } = command {
            campaign.leave(&turn, *pool, subject)
        } else {
            campaign.join(&turn, command, &mut made)
        };
        let (Ok((outcome, origin)) | Err((outcome, origin))) = decided;
        self.note(at, name, made, events);
        Ok(Decision { outcome, origin })
    }

    /// Runs a command on codes.
    fn on_code(
        &mut self,
        at: Timestamp,
        code: &CodeCommand<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<Decision, Refusal> {
        let (turn, mut made) = (self.turn(at), Vec::new());
        let name = code.target().0;
        let decided = self.find(name)?.on_code(&turn, code, &mut made);
        let (Ok((outcome, origin)) | Err((outcome, origin))) = decided;
        self.note(at, name, made, events);
        Ok(Decision { outcome, origin })
    }

    /// Numbers the results that a command made.
    fn note(
        &mut self,
        at: Timestamp,
        name: &'a str,
        made: Vec<Made<'a>>,
        events: &mut Vec<Event<'a>>,
    ) {
        for Made { kind, pool, rank, subject, unit, hold, from } in made {
            if let Some(campaign) = self.campaigns.get_mut(name) {
                campaign.note_had(pool, [unit, from]);
            }
            self.results.push(name);
            let number = self.last_result();
            let found = &self.campaigns[name];
            let coupons = found.pools[pool].coupons.as_ref();
            let code = coupons.and_then(|coupons| coupons.key_of(rank));
            let pool = found.settings.pools[pool].name.clone();
            let campaign = name;
            if let (Some(code), Kind::Claim | Kind::CodeMarked) = (code, kind) {
                events.push(Event::Issued(Issued { campaign, pool: pool.clone(), code, subject }));
            }
            let claimed = Claimed { number, campaign, pool, rank, subject, at, unit, hold, from };
            events.push(match kind {
                Kind::Claim => Event::Won(claimed),
                Kind::Cancel => Event::Undone(claimed),
                Kind::RefundDue => Event::Refund(claimed),
                Kind::Moved => Event::Moved(claimed),
                Kind::Unserved => Event::Unserved(claimed),
                Kind::Redeemed | Kind::RolledBack | Kind::CodeMarked => {
                    Event::OfCode(kind, claimed)
                }
            });
        }
    }

    fn here(&self, outcome: Outcome) -> Decision {
        Decision { outcome, origin: self.entry }
    }

    fn find(&mut self, name: &str) -> Result<&mut Campaign<'a>, Refusal> {
        match self.campaigns.get_mut(name) {
            None => Err(Refusal::NotFound(Missing::Campaign)),
            Some(campaign) if campaign.archived => Err(Refusal::Archived),
            Some(campaign) => Ok(campaign),
        }
    }

    fn claim(
        &mut self,
        at: Timestamp,
        (name, pool, subject): (&'a str, Option<&str>, &'a str),
        (limit, tag): (Option<u32>, Option<u64>),
        events: &mut Vec<Event<'a>>,
    ) -> Result<Decision, Refusal> {
        let (entry, turn) = (self.entry, self.turn(at));
        let campaign = self.find(name)?;
        let pool_index = match campaign.judge_claim(at, pool, subject, limit) {
            Ok(pool_index) => pool_index,
            Err(outcome) => {
                let had = campaign.pool(pool).and_then(|pool| pool.live(subject));
                let won = matches!(outcome, Outcome::AlreadyWon { .. });
                let origin = had.filter(|_| won).map_or(entry, |(_, row)| row.entry);
                return Ok(Decision { outcome, origin });
            }
        };
        let coupons = campaign.pools[pool_index].coupons.as_ref();
        if tag.is_none() && coupons.is_some_and(|coupons| !coupons.imported) {
            return Err(CodeRefusal::TagRequired.into());
        }
        let made = campaign.give_claimed(&turn, pool_index, subject, tag);
        let outcome = campaign.won(pool_index, made.rank, at);
        self.note(at, name, vec![made], events);
        Ok(self.here(outcome))
    }

    fn cancel(
        &mut self,
        at: Timestamp,
        (name, pool, subject, rank): (&'a str, Option<&str>, &'a str, u32),
        by: By,
        events: &mut Vec<Event<'a>>,
    ) -> Result<Decision, Refusal> {
        let (entry, service) = (self.entry, self.service);
        let undone = (Undone { by, at, entry }, service);
        let (undone, made) = self.find(name)?.cancel(pool, subject, rank, undone)?;
        self.note(at, name, made.into_iter().collect(), events);
        let outcome = Outcome::Cancelled { by: undone.by, at: undone.at };
        Ok(Decision { outcome, origin: undone.entry })
    }

    /// Runs an operator's command, once for each id.
    fn order(
        &mut self,
        at: Timestamp,
        order: Order<'a>,
        command: &Command<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<Decision, Refusal> {
        let mut content = command.clone();
        if let Command::Put { order, .. }
        | Command::Steer { order, .. }
        | Command::Seats { order, .. }
        | Command::Block { order, .. }
        | Command::Move { order, .. }
        | Command::ChangeSeats { order, .. }
        | Command::Bar { order, .. }
        | Command::Unbar { order, .. } = &mut content
        {
            *order = Order::default();
        }
        if let Command::Code(code) = &mut content {
            forget_order(code);
        }
        let named = order.id.map(|id| (order.who, id));
        let known = named.and_then(|named| self.ids.get(&named));
        if let Some((known, decision)) = known {
            if *known != content {
                return Err(Refusal::IdReused);
            }
            self.repeated = true;
            return Ok(decision.clone());
        }
        let (name, outcome) = match command {
            Command::Put { campaign, settings, expect, .. } => {
                (*campaign, self.put(at, campaign, settings, *expect)?)
            }
            Command::Steer { campaign, steer, .. } => {
                (*campaign, self.steer(at, campaign, *steer)?)
            }
            Command::Seats { .. }
            | Command::Block { .. }
            | Command::Move { .. }
            | Command::ChangeSeats { .. }
            | Command::Bar { .. }
            | Command::Unbar { .. }
            | Command::Code(_) => {
                let decision = if let Command::Code(code) = command {
                    self.on_code(at, code, events)?
                } else {
                    self.seating(at, command, events)?
                };
                if let (Some(named), false) = (named, decision.outcome.is_refusal()) {
                    self.ids.insert(named, (content, decision.clone()));
                }
                return Ok(decision);
            }
            Command::Claim { .. }
            | Command::Cancel { .. }
            | Command::Hold { .. }
            | Command::Change { .. }
            | Command::Extend { .. }
            | Command::Release { .. }
            | Command::Confirm { .. }
            | Command::Join { .. }
            | Command::Leave { .. }
            | Command::Raise { .. }
            | Command::Tick { .. }
            | Command::Settled { .. } => unreachable!("no operator's command"),
        };
        let mut decision = self.here(outcome);
        if let Some(campaign) = self.campaigns.get(name) {
            if let Outcome::Unchanged { .. } = decision.outcome {
                decision.origin = campaign.entry;
            }
            events.push(Event::Terms {
                campaign: name,
                settings: Box::new(campaign.settings.clone()),
                shut: campaign.paused || campaign.closed_by_hand || campaign.archived,
            });
        }
        if let Some(named) = named {
            self.ids.insert(named, (content, decision.clone()));
        }
        Ok(decision)
    }

    /// Runs an operator's command on seats.
    fn seating(
        &mut self,
        at: Timestamp,
        command: &Command<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<Decision, Refusal> {
        let (turn, mut made) = (self.turn(at), Vec::new());
        let name = command.campaign().unwrap_or_default();
        let campaign = self.find(name)?;
        let (Ok(outcome) | Err(outcome)) = match command {
            Command::Seats { pool, chunk, .. } => campaign.add_seats(&turn, pool, chunk),
            Command::Block { units, blocked, .. } => campaign.block(units, *blocked),
            Command::Move { pool, from, to, .. } => {
                campaign.exchange(&turn, pool, (from, to), &mut made)
            }
            Command::ChangeSeats { pool, seats, .. } => campaign.change_seats(&turn, pool, seats),
            Command::Bar { subject, .. } => {
                let (outcome, origin) = campaign.bar(&turn, subject);
                return Ok(Decision { outcome, origin });
            }
            Command::Unbar { subject, .. } => Ok(campaign.unbar(subject)),
            Command::Claim { .. }
            | Command::Cancel { .. }
            | Command::Put { .. }
            | Command::Steer { .. }
            | Command::Hold { .. }
            | Command::Change { .. }
            | Command::Extend { .. }
            | Command::Release { .. }
            | Command::Confirm { .. }
            | Command::Join { .. }
            | Command::Leave { .. }
            | Command::Code(_)
            | Command::Raise { .. }
            | Command::Tick { .. }
            | Command::Settled { .. } => unreachable!("it is not about seats"),
        };
        if let (Command::Seats { pool, chunk, .. }, false) = (command, outcome.is_refusal()) {
            let areas = chunk.areas.iter().map(|area| (area.name, area.capacity)).collect();
            events.push(Event::Areas { campaign: name, pool, areas });
        }
        self.note(at, name, made, events);
        Ok(self.here(outcome))
    }
}

/// Leaves of a command on codes what was asked.
fn forget_order(code: &mut CodeCommand<'_>) {
    match code {
        CodeCommand::Mark { order, .. }
        | CodeCommand::RevokeImport { order, .. }
        | CodeCommand::Reissue { order, .. }
        | CodeCommand::Stage { order, .. }
        | CodeCommand::Commit { order, .. }
        | CodeCommand::Discard { order, .. } => *order = Order::default(),
        CodeCommand::Reserve { .. }
        | CodeCommand::Redeem { .. }
        | CodeCommand::RollBack { .. }
        | CodeCommand::EndReservation { .. } => {}
    }
}
