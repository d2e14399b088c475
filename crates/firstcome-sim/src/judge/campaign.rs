//! The judge's own rules for a campaign: put, steer, claim and cancel.
//!
//! Codes: `coupons.rs`, `stocking.rs`. Holds and seats: `holding.rs`, `confirming.rs`, `seating.rs`, with `wanted.rs` and `hall.rs` below them.

use super::acts::Act;
use super::coupons::Coupons;
use super::hall::{Hall, Owner, Unit};
use super::holding::{Fate, Hold, Made, Turn};
use super::lists::Waiter;
use super::wanted::Wanted;
use firstcome_core::codes::IssuedCode;
use firstcome_core::command::Steer;
use firstcome_core::outcome::{By, Clamped, Fixed, Missing};
use firstcome_core::results::Kind;
use firstcome_core::settings::{Opens, PoolKind, PoolSettings};
use firstcome_core::{CodeRefusal, Outcome, Refusal, Settings, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// How a claim was undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undone {
    pub(super) by: By,
    pub(super) at: Timestamp,
    /// By which entry; an index into the stored ones.
    pub(super) entry: usize,
}

/// A claim that was won; its rank is its position in the pool's list.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    pub(super) subject: &'a str,
    pub(super) at: Timestamp,
    /// By which entry; an index into the stored ones.
    pub(super) entry: usize,
    pub(super) undone: Option<Undone>,
    /// Which unit it is of.
    pub(super) unit: Unit,
    /// The hold it came from, by its id.
    pub(super) hold: Option<&'a str>,
}

/// Who has which rank of a pool.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool<'a> {
    pub(super) rows: Vec<Row<'a>>,
    latest: BTreeMap<&'a str, u32>,
    undone: usize,
    /// Units of a counted pool that are set aside.
    pub(super) held: u32,
    /// The seats of a seated pool.
    pub(super) hall: Option<Hall<'a>>,
    /// The codes of a coded pool.
    pub(super) coupons: Option<Coupons<'a>>,
}

impl<'a> Pool<'a> {
    pub(super) fn row(&self, rank: u32) -> Option<&Row<'a>> {
        self.rows.get(usize::try_from(rank).ok()?.checked_sub(1)?)
    }

    fn new(said: &PoolSettings) -> Self {
        let hall = (said.kind == PoolKind::Seated).then(Hall::default);
        Self { hall, coupons: Coupons::of(said), ..Self::default() }
    }

    /// Returns the latest claim of a subject with its rank, live or undone.
    pub(super) fn latest(&self, subject: &str) -> Option<(u32, &Row<'a>)> {
        let rank = *self.latest.get(subject)?;
        Some((rank, self.row(rank)?))
    }

    /// Returns the latest claim of a subject that stands, with its rank.
    pub(super) fn live(&self, subject: &str) -> Option<(u32, &Row<'a>)> {
        let (rank, row) = self.latest(subject)?;
        if row.undone.is_none() {
            return Some((rank, row));
        }
        // Who confirmed several may have given up the last of them only.
        let rows = (1..).zip(&self.rows).take(rank as usize);
        let live = rows.filter(|(_, row)| row.subject == subject && row.undone.is_none());
        live.last()
    }

    /// Adds a claim; gives its rank.
    pub(super) fn push(&mut self, row: Row<'a>) -> u32 {
        let subject = row.subject;
        self.rows.push(row);
        let rank = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        self.latest.insert(subject, rank);
        rank
    }

    fn taken(&self, units_return: bool) -> u32 {
        let free = if units_return { self.undone } else { 0 };
        u32::try_from(self.rows.len() - free).unwrap_or(u32::MAX) + self.held
    }
}

/// A campaign, archived or not.
#[derive(Clone, Debug)]
pub(super) struct Campaign<'a> {
    pub(super) version: u32,
    /// As they stand: the opening is never `Now`, capacities are those in force.
    pub(super) settings: Settings,
    pub(super) paused: bool,
    pub(super) closed_by_hand: bool,
    pub(super) archived: bool,
    pub(super) pools: Vec<Pool<'a>>,
    /// Who is barred, since when, and by which entry.
    pub(super) bars: BTreeMap<&'a str, (Timestamp, usize)>,
    /// What operators did to it.
    pub(super) acts: Vec<Act<'a>>,
    /// Its place in the order of creation.
    pub(super) number: usize,
    /// Who waits for a unit, the first one first.
    pub(super) lists: Vec<Waiter<'a>>,
    /// Pools in which something came free since their waiters were looked at, as in a pause.
    pub(super) untried: BTreeSet<usize>,
    /// All holds there ever were, in the order they began.
    pub(super) holds: Vec<Hold<'a>>,
    /// The entry that made this version.
    pub(super) entry: usize,
}

impl<'a> Campaign<'a> {
    pub(super) fn create(
        entry: usize,
        at: Timestamp,
        mut asked: Settings,
    ) -> Result<Self, Refusal> {
        if asked.opens == Opens::Now {
            asked.opens = Opens::At(at);
        }
        check_times(at, &asked)?;
        Ok(Self {
            version: 1,
            pools: asked.pools.iter().map(Pool::new).collect(),
            settings: asked,
            paused: false,
            closed_by_hand: false,
            archived: false,
            bars: BTreeMap::new(),
            acts: Vec::new(),
            number: 0,
            lists: Vec::new(),
            untried: BTreeSet::new(),
            holds: Vec::new(),
            entry,
        })
    }

    /// Returns what the list of acts must have: nothing once it left memory.
    pub(super) fn listed(&self) -> &[Act<'a>] {
        if self.archived { &[] } else { &self.acts }
    }

    pub(super) fn is_closed(&self, at: Timestamp) -> bool {
        self.closed_by_hand || self.settings.closes_at.is_some_and(|closes_at| closes_at <= at)
    }

    fn has_opened(&self, at: Timestamp) -> bool {
        self.settings.opens.at().is_some_and(|opens_at| opens_at <= at)
    }

    pub(super) fn pool_index(&self, pool: &str) -> Option<usize> {
        self.settings.pools.iter().position(|known| *known.name == *pool)
    }

    /// Returns the pool of that name, or the first where none is named.
    pub(super) fn pool(&self, pool: Option<&str>) -> Option<&Pool<'a>> {
        self.pools.get(pool.map_or(Some(0), |pool| self.pool_index(pool))?)
    }

    /// Says what a claim gets: the index of the pool that has a unit for it, or the first answer of
    /// the ladder that applies.
    pub(super) fn judge_claim(
        &self,
        at: Timestamp,
        pool: Option<&str>,
        subject: &str,
        limit: Option<u32>,
    ) -> Result<usize, Outcome> {
        let refused = |refusal| Err(Outcome::Refused(refusal));
        let pool_index = match pool {
            None if self.pools.len() > 1 => return refused(Refusal::PoolRequired),
            None => 0,
            Some(pool) => match self.pool_index(pool) {
                None => return refused(Refusal::NotFound(Missing::Pool)),
                Some(pool_index) => pool_index,
            },
        };
        if self.pools[pool_index].hall.is_some() {
            return refused(Refusal::HoldRequired);
        }
        if let Some((rank, row)) = self.pools[pool_index].live(subject) {
            return Err(self.already_won(pool_index, rank, row.at));
        }
        self.check_barred(subject)?;
        if self.pools[pool_index].latest(subject).is_some() && !self.settings.claim_again {
            return refused(Refusal::AlreadyCancelled);
        }
        if self.offered_code(pool_index, subject).is_some() {
            self.check_barred(subject)?;
            let coupons = self.pools[pool_index].coupons.as_ref();
            let none = coupons.is_some_and(|coupons| coupons.imported && coupons.free() == 0);
            return if none { refused(Refusal::SoldOut) } else { Ok(pool_index) };
        }
        self.check_admitted(at, subject)?;
        let mut one = Wanted::default();
        one.counts.push((pool_index, Unit::Counted, 1));
        self.check_limits(subject, &one, limit)?;
        if self.left(pool_index) == 0 {
            return refused(Refusal::SoldOut);
        }
        Ok(pool_index)
    }

    /// Says that a claim got a rank of a pool.
    pub(super) fn won(&self, pool: usize, rank: u32, at: Timestamp) -> Outcome {
        Outcome::Won { rank, at, pool: pool as u16, code: self.code_of(pool, rank) }
    }

    pub(super) fn already_won(&self, pool: usize, rank: u32, at: Timestamp) -> Outcome {
        Outcome::AlreadyWon { rank, at, pool: pool as u16, code: self.code_of(pool, rank) }
    }

    fn code_of(&self, pool: usize, rank: u32) -> Option<IssuedCode> {
        let coupons = self.pools[pool].coupons.as_ref()?;
        let now = coupons.card(rank)?.now;
        Some(match coupons.imported {
            true => IssuedCode::Imported { unit: now as u32 },
            false => IssuedCode::Generated { unit: rank, tag: now },
        })
    }

    /// Refuses whom the operator keeps out, and a moment at which nothing is given.
    pub(super) fn check_admitted(&self, at: Timestamp, subject: &str) -> Result<(), Outcome> {
        let refused = |refusal| Err(Outcome::Refused(refusal));
        self.check_barred(subject)?;
        // What is over is neither paused nor yet to open.
        if self.is_closed(at) {
            return refused(Refusal::Closed);
        }
        if self.paused {
            return refused(Refusal::Paused);
        }
        if !self.has_opened(at) {
            return refused(Refusal::NotOpen { opens_at: self.settings.opens.at() });
        }
        Ok(())
    }

    /// Returns the live offer of a code that a subject has: a claim takes it.
    fn offered_code(&self, pool_index: usize, subject: &str) -> Option<usize> {
        self.pools[pool_index].coupons.as_ref()?;
        self.offer_of(pool_index, subject)
    }

    /// Gives a subject what a claim was judged to get: what it was offered, or the next unit.
    pub(super) fn give_claimed(
        &mut self,
        turn: &Turn,
        pool: usize,
        subject: &'a str,
        tag: Option<u64>,
    ) -> Made<'a> {
        let offer = self.offered_code(pool, subject);
        let rank = self.give(turn.entry, turn.at, pool, subject);
        let hold = offer.map(|at| self.holds[at].id);
        if let Some(at) = offer {
            self.pools[pool].held -= 1;
            self.pools[pool].rows[rank as usize - 1].hold = hold;
            let taken = &mut self.holds[at];
            taken.takes.iter_mut().for_each(|take| take.fate = Fate::Confirmed(rank));
            (taken.live, taken.entry) = (false, turn.entry);
        }
        if let Some(coupons) = &mut self.pools[pool].coupons {
            coupons.issue(tag, turn.entry);
        }
        Made { kind: Kind::Claim, pool, rank, subject, unit: None, hold, from: None }
    }

    /// Returns how many units of a counted or a coded pool are left.
    pub(super) fn left(&self, pool_index: usize) -> u32 {
        if let Some(coupons) = self.pools[pool_index].coupons.as_ref().filter(|all| all.imported) {
            return coupons.free().saturating_sub(self.pools[pool_index].held);
        }
        let taken = self.pools[pool_index].taken(self.settings.units_return);
        self.settings.pools[pool_index].capacity.saturating_sub(taken)
    }

    /// Gives a subject the next rank of a pool.
    pub(super) fn give(
        &mut self,
        entry: usize,
        at: Timestamp,
        pool_index: usize,
        subject: &'a str,
    ) -> u32 {
        self.lists.retain(|waiter| (waiter.pool, waiter.subject) != (pool_index, subject));
        let (undone, unit, hold) = (None, Unit::Counted, None);
        self.pools[pool_index].push(Row { subject, at, entry, undone, unit, hold })
    }

    /// Undoes a claim; says how it is undone and by which entry, and what came of it if it was not before.
    pub(super) fn cancel(
        &mut self,
        name: Option<&str>,
        subject: &'a str,
        rank: u32,
        (undone, service): (Undone, i64),
    ) -> Result<(Undone, Option<Made<'a>>), Refusal> {
        if name.is_none() && self.pools.len() > 1 {
            return Err(Refusal::PoolRequired);
        }
        let pool_index = name.map_or(Some(0), |name| self.pool_index(name));
        let pool_index = pool_index.ok_or(Refusal::NotFound(Missing::Pool))?;
        let pool = &mut self.pools[pool_index];
        let row = (rank as usize).checked_sub(1).and_then(|row| pool.rows.get_mut(row));
        let row = row.filter(|row| row.subject == subject).ok_or(Refusal::NoSuchClaim)?;
        if let Some(before) = row.undone {
            return Ok((before, None));
        }
        if pool.coupons.as_ref().is_some_and(|coupons| coupons.is_in_use(rank, service)) {
            return Err(CodeRefusal::CodeInUse.into());
        }
        row.undone = Some(undone);
        pool.undone += 1;
        let (unit, hold) = (row.unit, row.hold);
        let name = pool.hall.as_ref().and_then(|hall| hall.name(unit));
        if self.settings.units_return {
            // An imported code that was cancelled goes to nobody else.
            if !pool.coupons.as_ref().is_some_and(|coupons| coupons.imported) {
                self.untried.insert(pool_index);
            }
            match (unit, &mut pool.hall) {
                (Unit::Seat(seat), Some(hall)) => hall.seats[seat].owner = Owner::Nobody,
                (Unit::Area(area), Some(hall)) => hall.areas[area].given -= 1,
                (Unit::Counted, _) | (_, None) => {}
            }
        }
        let (kind, pool) = (Kind::Cancel, pool_index);
        let made = Made { kind, pool, rank, subject, unit: name, hold, from: None };
        Ok((undone, Some(made)))
    }

    /// Changes the campaign to what is asked.
    pub(super) fn put(
        &mut self,
        entry: usize,
        at: Timestamp,
        mut asked: Settings,
    ) -> Result<Outcome, Refusal> {
        if asked.opens == Opens::Now {
            asked.opens = if self.has_opened(at) { self.settings.opens } else { Opens::At(at) };
        }
        if asked == self.settings {
            return Ok(Outcome::Unchanged { version: self.version });
        }
        let (title, public) = (asked.title.clone(), asked.public);
        let but_these = Settings { title, public, ..self.settings.clone() };
        if self.is_closed(at) && asked != but_these {
            return Err(Refusal::Closed);
        }
        if self.has_opened(at) {
            self.check_fixed(&asked)?;
        }
        if (asked.opens, asked.closes_at) != (self.settings.opens, self.settings.closes_at) {
            check_times(at, &asked)?;
        }
        let both = self.settings.pools.iter().zip(&asked.pools);
        let kept = both.take_while(|(old, new)| is_same(old, new)).count();
        self.pools.truncate(kept);
        self.pools.extend(asked.pools[kept..].iter().map(Pool::new));
        let mut clamped = Vec::new();
        for (at, (wanted, pool)) in asked.pools.iter_mut().zip(&self.pools).enumerate() {
            if pool.hall.is_some() || pool.coupons.as_ref().is_some_and(|coupons| coupons.imported)
            {
                continue;
            }
            self.untried.insert(at);
            let taken = pool.taken(asked.units_return);
            if wanted.capacity < taken {
                wanted.capacity = taken;
                clamped.push(Clamped { pool: wanted.name.clone(), capacity: taken });
            }
        }
        self.settings = asked;
        Ok(self.changed(entry, clamped))
    }

    /// Refuses what an opened campaign cannot change any more.
    fn check_fixed(&self, asked: &Settings) -> Result<(), Refusal> {
        let now = &self.settings;
        let gone = |(pool_index, pool): (usize, &PoolSettings)| {
            asked.pools.get(pool_index).is_none_or(|asked| !is_same(pool, asked))
        };
        let differs = [
            (asked.opens != now.opens, Fixed::OpensAt),
            (asked.claim_again != now.claim_again, Fixed::ClaimAgain),
            (asked.units_return != now.units_return, Fixed::UnitsReturn),
            (now.pools.iter().enumerate().any(gone), Fixed::Pools),
        ];
        match differs.into_iter().find(|(differs, _)| *differs) {
            Some((_, fixed)) => Err(Refusal::NotChangeable(fixed)),
            None => Ok(()),
        }
    }

    /// Pauses, resumes or closes; archiving is the space's to decide.
    pub(super) fn steer(
        &mut self,
        entry: usize,
        at: Timestamp,
        steer: Steer,
    ) -> Result<Outcome, Refusal> {
        let closed = self.is_closed(at);
        let change = match steer {
            Steer::Pause | Steer::Resume if closed => return Err(Refusal::Closed),
            Steer::Pause => !std::mem::replace(&mut self.paused, true),
            Steer::Resume => std::mem::replace(&mut self.paused, false),
            Steer::Close => {
                self.closed_by_hand |= !closed;
                !closed
            }
            Steer::Delete => unreachable!("the space does that"),
            Steer::Archive { .. } => {
                self.archived = true;
                true
            }
        };
        if change {
            return Ok(self.changed(entry, Vec::new()));
        }
        Ok(Outcome::Unchanged { version: self.version })
    }

    fn changed(&mut self, entry: usize, clamped: Vec<Clamped>) -> Outcome {
        self.version += 1;
        self.entry = entry;
        Outcome::Changed { version: self.version, clamped }
    }
}

/// Says whether settings describe a pool that is there.
fn is_same(pool: &PoolSettings, asked: &PoolSettings) -> bool {
    let fixed = |pool: &PoolSettings| {
        let codes = pool.codes.as_deref();
        codes.map(|codes| (codes.source, codes.key.clone(), codes.uses_per_subject.is_some()))
    };
    (&pool.name, pool.kind, fixed(pool)) == (&asked.name, asked.kind, fixed(asked))
}

/// A closing has to lie after the opening, and after now.
fn check_times(at: Timestamp, asked: &Settings) -> Result<(), Refusal> {
    let opens_at = asked.opens.at().unwrap_or(at);
    match asked.closes_at {
        Some(closes_at) if closes_at <= at || closes_at <= opens_at => Err(Refusal::ClosesTooEarly),
        Some(_) | None => Ok(()),
    }
}
