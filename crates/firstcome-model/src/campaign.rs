//! The model's rules for a campaign: put, steer, claim and cancel.
//!
//! Codes: `coupons.rs`, `stocking.rs`. Holds and seats: `holding.rs`, `confirming.rs`, `seating.rs`, with `wanted.rs` and `hall.rs` below them.

use crate::acts::Act;
use crate::coupons::Coupons;
use crate::hall::{Hall, SeatOwner, Unit};
use crate::holding::{Fate, Made, ModelHold, SaidBy, Turn};
use crate::lists::ModelWaiter;
use crate::wanted::Wanted;
use firstcome_core::codes::IssuedCode;
use firstcome_core::command::{Steer, Wish};
use firstcome_core::hall::UnitCounts;
use firstcome_core::outcome::{By, Clamped, Fixed, Missing};
use firstcome_core::results::Kind;
use firstcome_core::settings::{Opens, PoolKind, PoolSettings};
use firstcome_core::{CodeRefusal, Outcome, Refusal, Settings, Timestamp};
use std::collections::BTreeMap;

/// How a claim was undone.
#[derive(Clone, Copy, Debug)]
pub struct Undone {
    /// On whose word.
    pub by: By,
    /// When.
    pub at: Timestamp,
    /// By which entry: the index that it was applied with.
    pub(crate) entry: usize,
}

/// A claim that was won; its rank is its position in the pool's list.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Whose it is.
    pub subject: &'a str,
    /// When it was won.
    pub at: Timestamp,
    /// By which entry: the index that it was applied with.
    pub(crate) entry: usize,
    /// How it was undone, if it was.
    pub undone: Option<Undone>,
    pub(crate) unit: Unit,
    /// The hold it came from, by its id.
    pub(crate) hold: Option<&'a str>,
}

/// Who has which rank of a pool.
#[derive(Clone, Debug, Default)]
pub struct ModelPool<'a> {
    /// The claims, by rank from 1.
    pub rows: Vec<Row<'a>>,
    latest: BTreeMap<&'a str, u32>,
    undone: usize,
    /// Units of a counted pool that are set aside.
    pub(crate) held: u32,
    /// The seats of a seated pool.
    pub(crate) hall: Option<Hall<'a>>,
    /// The codes of a coded pool.
    pub(crate) coupons: Option<Coupons<'a>>,
}

impl<'a> ModelPool<'a> {
    /// Returns the claim of a rank.
    pub fn row(&self, rank: u32) -> Option<&Row<'a>> {
        self.rows.get(usize::try_from(rank).ok()?.checked_sub(1)?)
    }

    fn new(said: &PoolSettings) -> Self {
        let hall = (said.kind == PoolKind::Seated).then(Hall::default);
        Self { hall, coupons: Coupons::of(said), ..Self::default() }
    }

    /// Returns the latest claim of a subject with its rank, live or undone.
    pub(crate) fn latest(&self, subject: &str) -> Option<(u32, &Row<'a>)> {
        let rank = *self.latest.get(subject)?;
        Some((rank, self.row(rank)?))
    }

    /// Returns the latest claim of a subject that stands, with its rank.
    pub fn live(&self, subject: &str) -> Option<(u32, &Row<'a>)> {
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
    pub(crate) fn push(&mut self, row: Row<'a>) -> u32 {
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
pub struct ModelCampaign<'a> {
    /// How often it was changed, and once for its creation.
    pub version: u32,
    /// As they stand: the opening is never `Now`, capacities are those in force.
    pub settings: Settings,
    pub(crate) paused: bool,
    pub(crate) closed_by_hand: bool,
    /// Whether it left memory.
    pub archived: bool,
    /// In the order of its settings.
    pub pools: Vec<ModelPool<'a>>,
    /// Who is barred, since when, and by which entry.
    pub(crate) bars: BTreeMap<&'a str, (Timestamp, usize)>,
    /// What operators did to it.
    pub(crate) acts: Vec<Act<'a>>,
    /// Its place in the order of creation.
    pub(crate) number: usize,
    /// Who waits for a unit, the first one first.
    pub(crate) lists: Vec<ModelWaiter<'a>>,
    /// The wishes that what is free is known not to do for, with their pools.
    pub(crate) tried: Vec<(usize, Wish<'a>)>,
    /// All holds there ever were, in the order they began.
    pub(crate) holds: Vec<ModelHold<'a>>,
    /// The entry that made this version.
    pub(crate) entry: usize,
}

impl<'a> ModelCampaign<'a> {
    pub(crate) fn create(turn: &Turn, mut asked: Settings) -> Result<Self, Refusal> {
        if asked.opens == Opens::Now {
            asked.opens = Opens::At(turn.at);
        }
        check_times(turn.at, &asked)?;
        Ok(Self {
            version: 1,
            pools: asked.pools.iter().map(ModelPool::new).collect(),
            settings: asked,
            paused: false,
            closed_by_hand: false,
            archived: false,
            bars: BTreeMap::new(),
            acts: Vec::new(),
            number: 0,
            lists: Vec::new(),
            tried: Vec::new(),
            holds: Vec::new(),
            entry: turn.entry,
        })
    }

    /// Returns what operators did to it, as the list of acts must have it: nothing once it left memory.
    pub fn acts(&self) -> &[Act<'a>] {
        if self.archived { &[] } else { &self.acts }
    }

    pub(crate) fn is_closed(&self, at: Timestamp) -> bool {
        self.closed_by_hand || self.settings.closes_at.is_some_and(|closes_at| closes_at <= at)
    }

    fn has_opened(&self, at: Timestamp) -> bool {
        self.settings.opens.at().is_some_and(|opens_at| opens_at <= at)
    }

    pub(crate) fn pool_index(&self, pool: &str) -> Option<usize> {
        self.settings.pools.iter().position(|known| *known.name == *pool)
    }

    /// Returns the pool of that name, or the first where none is named.
    pub fn pool(&self, pool: Option<&str>) -> Option<&ModelPool<'a>> {
        self.pools.get(pool.map_or(Some(0), |pool| self.pool_index(pool))?)
    }

    /// Returns the index of a pool that is named, or of the only one.
    pub(crate) fn one_pool(&self, pool: Option<&str>) -> Result<usize, Refusal> {
        match pool {
            None if self.pools.len() > 1 => Err(Refusal::PoolRequired),
            None => Ok(0),
            Some(pool) => self.pool_index(pool).ok_or(Refusal::NotFound(Missing::Pool)),
        }
    }

    /// Returns the index of the pool that has a unit for a claim, or the first answer of the ladder that applies.
    pub(crate) fn check_claim(
        &self,
        at: Timestamp,
        pool: Option<&str>,
        subject: &str,
        limit: Option<u32>,
    ) -> Result<usize, SaidBy> {
        let index = self.one_pool(pool)?;
        let pool = &self.pools[index];
        if pool.hall.is_some() {
            return Err(Refusal::HoldRequired.into());
        }
        if let Some((rank, row)) = pool.live(subject) {
            return Err(SaidBy::since(row.entry, self.already_won(index, rank, row.at)));
        }
        self.check_barred(subject)?;
        if pool.latest(subject).is_some() && !self.settings.claim_again {
            return Err(Refusal::AlreadyCancelled.into());
        }
        if self.offered_code(index, subject).is_some() {
            let imported = pool.coupons.as_ref().filter(|coupons| coupons.imported);
            let none = imported.is_some_and(|coupons| coupons.free() == 0);
            return if none { Err(Refusal::SoldOut.into()) } else { Ok(index) };
        }
        self.check_admitted(at, subject)?;
        let mut one = Wanted::default();
        one.counts.push((index, Unit::Counted, 1));
        self.check_limits(subject, &one, limit)?;
        if self.left(index) == 0 && self.own_code(index, subject).is_none() {
            return Err(Refusal::SoldOut.into());
        }
        Ok(index)
    }

    /// Gives a subject a unit: what it was offered, or the next one.
    pub(crate) fn claim(
        &mut self,
        turn: &Turn,
        (pool, subject): (Option<&str>, &'a str),
        (limit, tag): (Option<u32>, Option<u64>),
        made: &mut Vec<Made<'a>>,
    ) -> Result<SaidBy, SaidBy> {
        let pool = self.check_claim(turn.at, pool, subject, limit)?;
        let coupons = self.pools[pool].coupons.as_ref();
        if tag.is_none() && coupons.is_some_and(|coupons| !coupons.imported) {
            return Err(CodeRefusal::TagRequired.into());
        }
        let offer = self.offered_code(pool, subject);
        let own = self.own_code(pool, subject).filter(|_| offer.is_none());
        let hold = offer.map(|at| self.holds[at].id);
        let rank = self.give(turn, pool, subject, hold, made);
        if let Some(at) = offer {
            self.pools[pool].held -= 1;
            let taken = &mut self.holds[at];
            taken.takes.iter_mut().for_each(|take| take.fate = Fate::Confirmed(rank));
            (taken.live, taken.entry) = (false, turn.entry);
        }
        if let Some(coupons) = &mut self.pools[pool].coupons {
            coupons.issue(tag, own, turn.entry);
        }
        Ok(self.won(pool, rank, turn.at).into())
    }

    /// Gives a subject the next rank of a pool that has no seats.
    pub(crate) fn give(
        &mut self,
        turn: &Turn,
        pool: usize,
        subject: &'a str,
        hold: Option<&'a str>,
        made: &mut Vec<Made<'a>>,
    ) -> u32 {
        self.take_off_list(pool, subject);
        let (at, entry, undone, unit) = (turn.at, turn.entry, None, Unit::Counted);
        let rank = self.pools[pool].push(Row { subject, at, entry, undone, unit, hold });
        made.push(Made { kind: Kind::Claim, pool, rank, subject, unit: None, hold, from: None });
        rank
    }

    /// Says that a claim got a rank of a pool.
    pub(crate) fn won(&self, pool: usize, rank: u32, at: Timestamp) -> Outcome {
        Outcome::Won { rank, at, pool: pool as u16, code: self.code_of(pool, rank) }
    }

    pub(crate) fn already_won(&self, pool: usize, rank: u32, at: Timestamp) -> Outcome {
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
    pub(crate) fn check_admitted(&self, at: Timestamp, subject: &str) -> Result<(), Refusal> {
        self.check_barred(subject)?;
        // What is over is neither paused nor yet to open.
        if self.is_closed(at) {
            return Err(Refusal::Closed);
        }
        if self.paused {
            return Err(Refusal::Paused);
        }
        if !self.has_opened(at) {
            return Err(Refusal::NotOpen { opens_at: self.settings.opens.at() });
        }
        Ok(())
    }

    /// Returns the live offer of a code that a subject has: a claim takes it.
    fn offered_code(&self, pool_index: usize, subject: &str) -> Option<usize> {
        self.pools[pool_index].coupons.as_ref()?;
        self.offer_of(pool_index, subject)
    }

    /// Returns how many units of a counted or a coded pool are left.
    pub(crate) fn left(&self, pool_index: usize) -> u32 {
        if let Some(coupons) = self.pools[pool_index].coupons.as_ref().filter(|all| all.imported) {
            return coupons.free().saturating_sub(self.pools[pool_index].held);
        }
        let taken = self.pools[pool_index].taken(self.settings.units_return);
        self.settings.pools[pool_index].capacity.saturating_sub(taken)
    }

    /// Returns how many units of a pool stand how. Units of cancelled claims that do not return count as confirmed, and
    /// so do imported codes that were revoked or suspended.
    pub fn counts(&self, index: usize) -> UnitCounts {
        let pool = &self.pools[index];
        let Some(hall) = &pool.hall else {
            let confirmed = match pool.coupons.as_ref().filter(|coupons| coupons.imported) {
                Some(coupons) => coupons.shelf.len() as u32 - coupons.free(),
                None => pool.taken(self.settings.units_return) - pool.held,
            };
            let left = self.left(index);
            return UnitCounts { free: left, held: pool.held, confirmed, blocked: 0, left };
        };
        let mut counts = UnitCounts::default();
        for seat in &hall.seats {
            match seat.owner {
                SeatOwner::Nobody => {
                    counts.free += 1;
                    counts.left += u32::from(seat.said.for_sale);
                }
                SeatOwner::Hold(_) => counts.held += 1,
                SeatOwner::Rank(_) => counts.confirmed += 1,
                SeatOwner::Kept => counts.blocked += 1,
            }
        }
        for area in &hall.areas {
            counts.free += area.free();
            counts.left += if area.said.for_sale { area.free() } else { 0 };
            counts.held += area.held;
            counts.confirmed += area.given;
            counts.blocked += area.kept;
        }
        counts
    }

    /// Undoes a claim.
    pub(crate) fn cancel(
        &mut self,
        turn: &Turn,
        (name, subject, rank): (Option<&str>, &'a str, u32),
        by: By,
        made: &mut Vec<Made<'a>>,
    ) -> Result<SaidBy, SaidBy> {
        let index = self.one_pool(name)?;
        let pool = &mut self.pools[index];
        let row = (rank as usize).checked_sub(1).and_then(|row| pool.rows.get_mut(row));
        let row = row.filter(|row| row.subject == subject).ok_or(Refusal::NoSuchClaim)?;
        if let Some(Undone { by, at, entry }) = row.undone {
            return Ok(SaidBy::since(entry, Outcome::Cancelled { by, at }));
        }
        if pool.coupons.as_ref().is_some_and(|coupons| coupons.is_in_use(rank, turn.service)) {
            return Err(CodeRefusal::CodeInUse.into());
        }
        row.undone = Some(Undone { by, at: turn.at, entry: turn.entry });
        pool.undone += 1;
        let (place, hold) = (row.unit, row.hold);
        let unit = pool.hall.as_ref().and_then(|hall| hall.name(place));
        if self.settings.units_return {
            match (place, &mut pool.hall) {
                (Unit::Seat(seat), Some(hall)) => hall.seats[seat].owner = SeatOwner::Nobody,
                (Unit::Area(area), Some(hall)) => hall.areas[area].given -= 1,
                (Unit::Counted, _) | (_, None) => {}
            }
            // An imported code that was cancelled goes to nobody else.
            if !pool.coupons.as_ref().is_some_and(|coupons| coupons.imported) {
                self.came_free(index, Some(place));
            }
        }
        let (kind, pool) = (Kind::Cancel, index);
        made.push(Made { kind, pool, rank, subject, unit, hold, from: None });
        Ok(Outcome::Cancelled { by, at: turn.at }.into())
    }

    /// Changes the campaign to what is asked.
    pub(crate) fn put(&mut self, turn: &Turn, mut asked: Settings) -> Result<Outcome, Refusal> {
        let at = turn.at;
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
        let both = self.settings.pools.iter().zip(&asked.pools);
        let kept = both.take_while(|(old, new)| is_same(old, new)).count();
        let mut gone = self.pools[kept..].iter().filter_map(|pool| pool.coupons.as_ref());
        if gone.any(Coupons::is_any_withdrawn) {
            return Err(Refusal::NotChangeable(Fixed::Pools));
        }
        if (asked.opens, asked.closes_at) != (self.settings.opens, self.settings.closes_at) {
            check_times(at, &asked)?;
        }
        self.pools.truncate(kept);
        self.pools.extend(asked.pools[kept..].iter().map(ModelPool::new));
        let mut clamped = Vec::new();
        for (at, (wanted, pool)) in asked.pools.iter_mut().zip(&self.pools).enumerate() {
            if pool.hall.is_some() || pool.coupons.as_ref().is_some_and(|coupons| coupons.imported)
            {
                continue;
            }
            self.tried.retain(|(of, _)| *of != at);
            let taken = pool.taken(asked.units_return);
            if wanted.capacity < taken {
                wanted.capacity = taken;
                clamped.push(Clamped { pool: wanted.name.clone(), capacity: taken });
            }
        }
        self.settings = asked;
        Ok(self.changed(turn, clamped))
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
    pub(crate) fn steer(&mut self, turn: &Turn, steer: Steer) -> Result<Outcome, Refusal> {
        let closed = self.is_closed(turn.at);
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
            return Ok(self.changed(turn, Vec::new()));
        }
        Ok(Outcome::Unchanged { version: self.version })
    }

    fn changed(&mut self, turn: &Turn, clamped: Vec<Clamped>) -> Outcome {
        self.version += 1;
        self.entry = turn.entry;
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
