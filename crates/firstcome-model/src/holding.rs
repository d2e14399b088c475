//! The model's rules for holds: hold, change, extend, and expire.

use crate::campaign::ModelCampaign;
use crate::hall::{Seat, Unit};
use crate::lists::ModelOffer;
use crate::wanted::Wanted;
use firstcome_core::command::{Mark, Step};
use firstcome_core::outcome::{Holding, RefusedFor, UnitName};
use firstcome_core::results::Kind;
use firstcome_core::settings::HoldsEach;
use firstcome_core::{Command, Outcome, Refusal, Timestamp};

/// What counts as "in the last hour", in microseconds of service.
const HOUR: i64 = 3_600_000_000;
/// Ids of steps that a hold remembers.
const STEPS: usize = 16;

/// What became of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Held,
    Confirmed(u32),
    Expired,
    Refunded,
    Released,
}

/// A unit of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Take {
    pub(crate) pool: usize,
    pub(crate) unit: Unit,
    pub(crate) fate: Fate,
}

/// A hold.
#[derive(Clone, Debug)]
pub struct ModelHold<'a> {
    pub(crate) id: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) asked: Command<'a>,
    /// Service time, as is the deadline.
    pub(crate) started: i64,
    pub(crate) deadline: i64,
    pub(crate) live: bool,
    pub(crate) steps: Vec<(&'a str, Command<'a>)>,
    /// What each extension with an id came to: the deadline, and the entry that made it so.
    pub(crate) extended: Vec<(&'a str, i64, usize)>,
    pub(crate) takes: Vec<Take>,
    pub(crate) retaken: bool,
    pub(crate) refunded_at: Option<Timestamp>,
    /// How many units its subject may have, as it was said last.
    pub(crate) limit: Option<u32>,
    /// The entry that made it what it is.
    pub(crate) entry: usize,
    /// Of an offer to somebody on a waitlist, what it was for.
    pub(crate) offer: Option<ModelOffer<'a>>,
}

impl ModelHold<'_> {
    pub(crate) fn has(&self, is: impl Fn(Fate) -> bool) -> bool {
        self.takes.iter().any(|take| is(take.fate))
    }

    pub(crate) fn held(&self) -> u32 {
        let held = self.takes.iter().filter(|take| take.fate == Fate::Held).count();
        u32::try_from(held).unwrap_or(u32::MAX)
    }

    /// Returns which of its units are held and wanted, as far as there are.
    pub(crate) fn held_of(&self, wanted: &Wanted<'_>) -> Vec<usize> {
        let mut found = Vec::new();
        for (pool, unit, count) in wanted.quantities() {
            let is = |take: &Take| (take.pool, take.unit, take.fate) == (pool, unit, Fate::Held);
            let takes = self.takes.iter().enumerate().filter(|(_, take)| is(take));
            found.extend(takes.map(|(at, _)| at).take(count));
        }
        found
    }

    /// Says whether exactly what is wanted is held, where nothing but names was given.
    fn is_exactly(&self, wanted: &Wanted<'_>) -> bool {
        let counted = |pool: usize, unit: Unit| {
            let is = |take: &&Take| (take.pool, take.unit, take.fate) == (pool, unit, Fate::Held);
            self.takes.iter().filter(is).count()
        };
        wanted.named
            && self.held() as usize == wanted.units()
            && wanted.quantities().iter().all(|(pool, unit, n)| counted(*pool, *unit) == *n)
    }

    /// Says whether a step was made before, by its id; refuses one whose id asked something else.
    pub(crate) fn is_repeated(
        &self,
        id: Option<&str>,
        asks: &Command<'_>,
    ) -> Result<bool, Outcome> {
        match self.steps.iter().find(|(known, _)| Some(*known) == id) {
            Some((_, known)) if known != asks => Err(Refusal::IdReused.into()),
            known => Ok(known.is_some()),
        }
    }
}

impl<'a> ModelHold<'a> {
    /// Returns a new hold, as if nobody had asked for it.
    pub(crate) fn begin(
        turn: &Turn,
        id: &'a str,
        subject: &'a str,
        mut takes: Vec<Take>,
        ttl: i64,
    ) -> Self {
        takes.sort_by_key(|take| (take.pool, take.unit));
        Self {
            id,
            subject,
            asked: Command::Tick { mark: Mark::default() },
            started: turn.service,
            deadline: turn.service + ttl,
            live: true,
            steps: Vec::new(),
            extended: Vec::new(),
            takes,
            retaken: false,
            refunded_at: None,
            limit: None,
            entry: turn.entry,
            offer: None,
        }
    }

    pub(crate) fn remember(&mut self, id: Option<&'a str>, asks: Command<'a>) {
        if let Some(id) = id {
            if self.steps.len() == STEPS {
                self.steps.remove(0);
            }
            self.steps.push((id, asks));
        }
    }
}

/// Returns what a command asks, whatever the hold and the ids.
pub(crate) fn asks<'a>(command: &Command<'a>) -> Command<'a> {
    let mut asks = command.clone();
    let nobodys = Step { campaign: "", hold: "", subject: "", id: None };
    match &mut asks {
        Command::Hold { campaign, id, limit, .. } => (*campaign, *id, *limit) = ("", "", None),
        Command::Change { step, limit, .. } => (*step, *limit) = (nobodys, None),
        Command::Extend { step, .. }
        | Command::Release { step, .. }
        | Command::Confirm { step, .. } => *step = nobodys,
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
        | Command::Settled { .. } => unreachable!("it has no id of a hold's own"),
    }
    asks
}

/// When a command runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) at: Timestamp,
    pub(crate) service: i64,
    pub(crate) entry: usize,
}

impl Turn {
    pub(crate) fn moment(&self, service: i64) -> Timestamp {
        self.at.plus_micros(service - self.service)
    }
}

/// A result that a command made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made<'a> {
    pub(crate) kind: Kind,
    pub(crate) pool: usize,
    pub(crate) rank: u32,
    pub(crate) subject: &'a str,
    pub(crate) unit: Option<&'a str>,
    pub(crate) hold: Option<&'a str>,
    pub(crate) from: Option<&'a str>,
}

/// What is said, and which entry made it true: the one that says it, if it is none before.
#[derive(Debug)]
pub(crate) struct SaidBy {
    pub(crate) outcome: Outcome,
    pub(crate) since: Option<usize>,
}

impl SaidBy {
    /// Says what is so since an entry.
    pub(crate) fn since(entry: usize, outcome: impl Into<Outcome>) -> Self {
        Self { outcome: outcome.into(), since: Some(entry) }
    }
}

impl<T: Into<Outcome>> From<T> for SaidBy {
    fn from(outcome: T) -> Self {
        Self { outcome: outcome.into(), since: None }
    }
}

impl<'a> ModelCampaign<'a> {
    /// Ends every hold whose time is over.
    pub(crate) fn expire(&mut self, turn: &Turn) {
        for at in 0..self.holds.len() {
            if self.holds[at].live && self.holds[at].deadline <= turn.service {
                self.give_back(turn, at, 0..self.holds[at].takes.len(), Fate::Expired);
            }
        }
    }

    /// Gives back those of a hold's units that are held.
    pub(crate) fn give_back(
        &mut self,
        turn: &Turn,
        at: usize,
        which: impl IntoIterator<Item = usize>,
        fate: Fate,
    ) {
        for take in which {
            let found = self.holds[at].takes[take];
            if found.fate == Fate::Held {
                self.holds[at].takes[take].fate = fate;
                self.put_back(found.pool, found.unit);
            }
        }
        let hold = &mut self.holds[at];
        (hold.live, hold.entry) = (hold.held() > 0, turn.entry);
    }

    /// Returns the index of the hold of an id: the last one, if there were several.
    pub(crate) fn find_hold(&self, id: &str) -> Option<usize> {
        self.holds.iter().rposition(|hold| hold.id == id)
    }

    /// Returns the hold of an id.
    pub fn hold_of(&self, id: &str) -> Option<&ModelHold<'a>> {
        self.find_hold(id).map(|at| &self.holds[at])
    }

    /// Returns a subject's own hold.
    pub(crate) fn own(&self, step: &Step<'_>) -> Result<usize, Outcome> {
        let at = self.find_hold(step.hold).ok_or(Outcome::Refused(Refusal::NoSuchHold))?;
        if self.holds[at].subject == step.subject { Ok(at) } else { Err(Refusal::NotYours.into()) }
    }

    pub(crate) fn hold(&mut self, turn: &Turn, command: &Command<'a>) -> Result<SaidBy, SaidBy> {
        let Command::Hold { id, subject, limit, .. } = command else {
            unreachable!("it is a hold");
        };
        let wanted = self.may_hold(turn, command)?;
        let number = self.holds.len();
        let takes = self.choose(subject, number, &wanted)?;
        let ttl = self.settings.holding.ttl_us;
        let hold = ModelHold::begin(turn, id, subject, takes, ttl);
        self.holds.push(ModelHold { asked: asks(command), limit: *limit, ..hold });
        Ok(Outcome::Held(self.holding(turn, number)).into())
    }

    /// Returns what a hold wants, or the first answer of the ladder that applies, but for what is taken.
    pub(crate) fn may_hold<'c>(
        &self,
        turn: &Turn,
        command: &Command<'c>,
    ) -> Result<Wanted<'c>, SaidBy> {
        let Command::Hold { id, subject, picks, limit, .. } = command else {
            unreachable!("it is a hold");
        };
        self.check_pools(picks.iter())?;
        if let Some(known) = self.find_hold(id) {
            if self.holds[known].asked != asks(command) {
                return Err(Refusal::IdReused.into());
            }
            return Err(SaidBy::since(self.holds[known].entry, self.as_it_stands(turn, known)));
        }
        if id.starts_with("offer-") {
            return Err(Refusal::IdReused.into());
        }
        self.check_barred(subject)?;
        for pick in picks {
            let pool = &self.pools[self.one_pool(pick.pool)?];
            let gave_up = pool.live(subject).is_none() && pool.latest(subject).is_some();
            if gave_up && !self.settings.claim_again {
                return Err(Refusal::AlreadyCancelled.into());
            }
        }
        self.check_admitted(turn.at, subject)?;
        let wanted = self.wanted(picks, true);
        let theirs = self.holds.iter().enumerate();
        let theirs = theirs.filter(|(_, hold)| hold.live && hold.subject == *subject);
        let theirs: Vec<usize> = theirs.map(|(at, _)| at).collect();
        if let Ok(wanted) = &wanted
            && let Some(same) = theirs.iter().find(|at| self.holds[**at].is_exactly(wanted))
        {
            let outcome = Outcome::AlreadyHeld(self.holding(turn, *same));
            return Err(SaidBy::since(self.holds[*same].entry, outcome));
        }
        if let (HoldsEach::One, [first, ..]) = (self.settings.holding.each, &theirs[..]) {
            let hold = Some(self.holds[*first].id.into());
            let (refusal, units) = (Refusal::HasHold, Vec::new());
            let named = RefusedFor { refusal, hold, units, seat: None };
            return Err(Outcome::RefusedFor(Box::new(named)).into());
        }
        let wanted = wanted?;
        wanted.check_size(0)?;
        self.check_limits(subject, &wanted, *limit)?;
        let recent = |hold: &&ModelHold<'_>| {
            let theirs = hold.subject == *subject && hold.offer.is_none();
            theirs && turn.service - hold.started < HOUR
        };
        let recently = self.holds.iter().filter(recent).count();
        if recently >= self.settings.holding.per_hour as usize {
            return Err(Refusal::TooManyHolds.into());
        }
        Ok(wanted)
    }

    /// Says what a hold gets that is asked for again under its id.
    fn as_it_stands(&self, turn: &Turn, at: usize) -> Outcome {
        let hold = &self.holds[at];
        let all: Vec<usize> = (0..hold.takes.len()).collect();
        if hold.live {
            Outcome::AlreadyHeld(self.holding(turn, at))
        } else if hold.has(|fate| matches!(fate, Fate::Confirmed(_))) {
            self.confirmed(at, &all)
        } else if hold.has(|fate| fate == Fate::Refunded) {
            self.refund(at, &all)
        } else if hold.has(|fate| fate == Fate::Expired) {
            Refusal::HoldExpired.into()
        } else {
            Refusal::HoldReleased.into()
        }
    }

    /// Refuses what only a live hold can do.
    fn check_live(&self, at: usize) -> Result<(), Outcome> {
        let hold = &self.holds[at];
        if hold.live {
            Ok(())
        } else if hold.has(|fate| matches!(fate, Fate::Confirmed(_))) {
            Err(Refusal::AlreadyConfirmed.into())
        } else if hold.has(|fate| matches!(fate, Fate::Expired | Fate::Refunded)) {
            Err(Refusal::HoldExpired.into())
        } else {
            Err(Refusal::HoldReleased.into())
        }
    }

    pub(crate) fn change(&mut self, turn: &Turn, command: &Command<'a>) -> Result<SaidBy, SaidBy> {
        let before = (self.pools.clone(), self.holds.clone());
        let changed = self.try_change(turn, command);
        if changed.is_err() {
            (self.pools, self.holds) = before;
        }
        changed
    }

    fn try_change(&mut self, turn: &Turn, command: &Command<'a>) -> Result<SaidBy, SaidBy> {
        let Command::Change { step, add, drop, limit } = command else {
            unreachable!("it is a change");
        };
        self.check_pools(add.iter().chain(drop))?;
        let at = self.own(step)?;
        if self.holds[at].is_repeated(step.id, &asks(command))? {
            return Ok(SaidBy::since(self.holds[at].entry, self.as_it_stands(turn, at)));
        }
        self.check_live(at)?;
        if self.holds[at].offer.is_some() {
            return Err(Refusal::IsOffer.into());
        }
        if !add.is_empty() {
            self.check_admitted(turn.at, step.subject)?;
        }
        let gone = self.holds[at].held_of(&self.wanted(drop, false)?);
        let mut wanted = self.wanted(add, false)?;
        let all = std::mem::take(&mut self.holds[at].takes);
        let (dropped, stay): (Vec<_>, Vec<_>) =
            all.into_iter().enumerate().partition(|(unit, _)| gone.contains(unit));
        self.holds[at].takes = stay.into_iter().map(|(_, take)| take).collect();
        let stay = &self.holds[at].takes;
        let has = |pool: usize, seat: usize| {
            let held = Take { pool, unit: Unit::Seat(seat), fate: Fate::Held };
            stay.contains(&held)
        };
        wanted.seats.retain(|(pool, seat)| !has(*pool, *seat));
        if wanted.units() > 0 {
            self.wanted(add, true)?;
        } else if dropped.is_empty() {
            // Nothing is left to change.
            return Ok(SaidBy::since(
                self.holds[at].entry,
                Outcome::AlreadyHeld(self.holding(turn, at)),
            ));
        }
        let kept = stay.iter().filter(|take| take.fate != Fate::Released).count();
        wanted.check_size(kept)?;
        for (_, Take { pool, unit, .. }) in dropped {
            self.put_back(pool, unit);
        }
        self.check_limits(step.subject, &wanted, *limit)?;
        for take in self.choose(step.subject, at, &wanted)? {
            let takes = &mut self.holds[at].takes;
            let given_back = Take { fate: Fate::Released, ..take };
            match takes.iter_mut().find(|before| **before == given_back) {
                Some(before) => *before = take,
                None => takes.push(take),
            }
        }
        let hold = &mut self.holds[at];
        hold.takes.sort_by_key(|take| (take.pool, take.unit));
        hold.limit = limit.or(hold.limit);
        hold.remember(step.id, asks(command));
        hold.live = hold.held() > 0;
        hold.entry = turn.entry;
        Ok(Outcome::Held(self.holding(turn, at)).into())
    }

    pub(crate) fn extend(&mut self, turn: &Turn, command: &Command<'a>) -> Result<SaidBy, SaidBy> {
        let Command::Extend { step, by_us: by } = command else { unreachable!("it extends") };
        let at = self.own(step)?;
        let asked = asks(command);
        let repeated = self.holds[at].is_repeated(step.id, &asked)?;
        self.check_live(at)?;
        if repeated {
            // Whatever became of the deadline since: this is what the step was told.
            let hold = &self.holds[at];
            let known = hold.extended.iter().rfind(|(known, ..)| Some(*known) == step.id);
            let (deadline, entry) =
                known.map_or((hold.deadline, hold.entry), |known| (known.1, known.2));
            return Ok(SaidBy::since(
                entry,
                Outcome::Extended { expires_at: turn.moment(deadline) },
            ));
        }
        let by = *by;
        let (ttl, most) = (self.settings.holding.ttl_us, self.settings.holding.max_us);
        let hold = &mut self.holds[at];
        let wanted = turn.service.saturating_add(by.unwrap_or(ttl)).min(hold.started + most);
        if wanted > hold.deadline {
            hold.deadline = wanted;
            hold.entry = turn.entry;
        }
        if let Some(id) = step.id {
            hold.extended.push((id, hold.deadline, hold.entry));
        }
        hold.remember(step.id, asked);
        Ok(SaidBy::since(hold.entry, Outcome::Extended { expires_at: turn.moment(hold.deadline) }))
    }

    pub(crate) fn holding(&self, turn: &Turn, at: usize) -> Box<Holding> {
        let hold = &self.holds[at];
        let held = hold.takes.iter().filter(|take| take.fate == Fate::Held);
        Box::new(Holding {
            hold: hold.id.into(),
            units: held.map(|take| self.unit_name(take.pool, take.unit)).collect(),
            expires_at: turn.moment(hold.deadline),
        })
    }

    /// Says whether a hold is, or was, what a caller heard of it, but for units that were given up since. Of one that was given
    /// back whole nobody misses a unit, whichever they were.
    pub fn has_as_told(
        &self,
        hold: &ModelHold<'_>,
        outcome: &Outcome,
        gave_up: impl Fn(&UnitName) -> bool,
    ) -> bool {
        let has = |unit: &UnitName, is: &dyn Fn(Fate) -> bool| {
            let mut takes = hold.takes.iter().filter(|take| is(take.fate));
            gave_up(unit) || takes.any(|take| self.is_named(take.pool, take.unit, unit))
        };
        if let Outcome::Confirmed(answered) = outcome {
            let is = |rank: u32| move |fate: Fate| fate == Fate::Confirmed(rank);
            return answered.units.iter().all(|answered| has(&answered.unit, &is(answered.rank)));
        }
        if let Outcome::RefundDue(answered) = outcome {
            return answered.units.iter().all(|unit| has(unit, &|fate| fate == Fate::Refunded));
        }
        let (Outcome::Held(answered) | Outcome::AlreadyHeld(answered)) = outcome else {
            return true;
        };
        let given_back = hold.takes.iter().all(|take| take.fate == Fate::Released);
        given_back || answered.units.iter().all(|unit| has(unit, &|_| true))
    }

    /// Says whether a unit is the one in an earlier answer: a seat may have another name now.
    fn is_named(&self, pool: usize, unit: Unit, told: &UnitName) -> bool {
        let hall = self.pools[pool].hall.as_ref();
        let was = |seat: &Seat<'_>| {
            let is = |name: &&str| told.unit.as_deref() == Some(*name);
            told.pool == self.settings.pools[pool].name && seat.names_before.iter().any(is)
        };
        let seat = match unit {
            Unit::Seat(seat) => hall.and_then(|hall| hall.seats.get(seat)),
            Unit::Counted | Unit::Area(_) => None,
        };
        self.unit_name(pool, unit) == *told || seat.is_some_and(was)
    }
}
