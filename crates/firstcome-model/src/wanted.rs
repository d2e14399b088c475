//! The model's rules for picks: which units they ask for, whether these are free, and how many a subject may have.

use crate::campaign::ModelCampaign;
use crate::hall::{Hall, Named, SeatOwner, Unit};
use crate::holding::{Fate, Take};
use firstcome_core::command::{BestPick, Pick, Wanted as Asked};
use firstcome_core::outcome::UnitName;
use firstcome_core::settings::GradeLimit;
use firstcome_core::{CodeRefusal, Outcome, Refusal};

/// The most units one hold may have.
const UNITS: usize = 500;

/// Names that a pick cannot have; of each, whether there is such a unit, which is not sold then.
type Wrong<'c> = Vec<(Option<&'c str>, bool)>;

/// What picks ask for. Pools are known by their index in the campaign.
#[derive(Debug, Default)]
pub(crate) struct Wanted<'c> {
    /// Seats that were named, by themselves or with their group, each once and in order.
    pub(crate) seats: Vec<(usize, usize)>,
    /// So many of a counted pool or of an area.
    pub(crate) counts: Vec<(usize, Unit, u32)>,
    /// So many of the best, and through which channel.
    pub(crate) best: Vec<(usize, BestPick<'c>, Option<&'c str>)>,
    /// Whether nothing but names was given.
    pub(crate) named: bool,
}

impl Wanted<'_> {
    pub(crate) fn units(&self) -> usize {
        self.by_pool().map(|(_, count)| count).sum()
    }

    fn by_pool(&self) -> impl Iterator<Item = (usize, usize)> {
        let seats = self.seats.iter().map(|(pool, _)| (*pool, 1));
        let counts = self.counts.iter().map(|(pool, _, count)| (*pool, *count as usize));
        let best = self.best.iter().map(|(pool, best, _)| (*pool, best.count as usize));
        seats.chain(counts).chain(best)
    }

    fn count(&mut self, pool: usize, unit: Unit, more: u32) {
        match self.counts.iter_mut().find(|known| (known.0, known.1) == (pool, unit)) {
            Some((_, _, known)) => *known += more,
            None => self.counts.push((pool, unit, more)),
        }
    }

    /// Gives each unit that is named or counted, with how many of it.
    pub(crate) fn quantities(&self) -> Vec<(usize, Unit, usize)> {
        let seats = self.seats.iter().map(|(pool, seat)| (*pool, Unit::Seat(*seat), 1));
        let counts = self.counts.iter().map(|(pool, unit, n)| (*pool, *unit, *n as usize));
        seats.chain(counts).collect()
    }

    pub(crate) fn check_size(&self, has: usize) -> Result<(), Refusal> {
        if has + self.units() > UNITS { Err(Refusal::TooManyUnits) } else { Ok(()) }
    }
}

/// A refusal that names units.
pub(crate) fn refused(refusal: Refusal, units: Vec<UnitName>) -> Outcome {
    let named = firstcome_core::outcome::RefusedFor { refusal, hold: None, units, seat: None };
    Outcome::RefusedFor(Box::new(named))
}

impl<'c> Wanted<'c> {
    /// Adds what a pick wants of a counted pool. Returns names of units, of which such a pool has none.
    fn look_for_counted(&mut self, pool: usize, pick: &Pick<'c>) -> Result<Wrong<'c>, Outcome> {
        match &pick.wanted {
            Asked::Units(names) => Ok(names.iter().map(|name| (Some(*name), false)).collect()),
            Asked::Quantity { area: Some(name), .. } => Ok(vec![(Some(*name), false)]),
            Asked::Quantity { count, area: None } => {
                self.named = false;
                self.count(pool, Unit::Counted, *count);
                Ok(Vec::new())
            }
            Asked::Best(_) => Err(Refusal::NotSeated.into()),
        }
    }
}

impl Hall<'_> {
    /// Adds what a pick wants of this hall. Returns what it cannot have.
    fn look_for<'c>(
        &self,
        pool: usize,
        pick: &Pick<'c>,
        buying: bool,
        wanted: &mut Wanted<'c>,
    ) -> Wrong<'c> {
        let mut wrong = Vec::new();
        let area_sold = |area: usize| {
            let said = &self.areas[area].said;
            said.for_sale && (said.channel.is_empty() || Some(said.channel) == pick.channel)
        };
        match &pick.wanted {
            Asked::Units(names) => {
                for name in names {
                    let found = self.find(name);
                    let is_known = found.is_some();
                    let sold = match found {
                        None => false,
                        Some(Named::Seat(seat)) => {
                            wanted.seats.push((pool, seat));
                            self.seats[seat].said.group.is_empty()
                                && (!buying || self.is_sold(seat, pick.channel))
                        }
                        Some(Named::Group(seats)) => {
                            let sold = seats.iter().all(|at| self.is_sold(*at, pick.channel));
                            wanted.seats.extend(seats.into_iter().map(|seat| (pool, seat)));
                            !buying || sold
                        }
                        Some(Named::Area(area)) => {
                            wanted.count(pool, Unit::Area(area), 1);
                            !buying || area_sold(area)
                        }
                    };
                    if !sold {
                        wrong.push((Some(*name), is_known));
                    }
                }
            }
            Asked::Quantity { count, area } => {
                wanted.named &= area.is_none();
                match area.and_then(|area| self.find(area)) {
                    Some(Named::Area(at)) => {
                        if buying && !area_sold(at) {
                            wrong.push((*area, true));
                        }
                        wanted.count(pool, Unit::Area(at), *count);
                    }
                    Some(Named::Seat(_) | Named::Group(_)) | None => wrong.push((*area, false)),
                }
            }
            Asked::Best(best) => {
                wanted.named = false;
                wanted.best.push((pool, *best, pick.channel));
            }
        }
        wrong
    }
}

impl<'a> ModelCampaign<'a> {
    pub(crate) fn check_pools<'p>(
        &self,
        mut picks: impl Iterator<Item = &'p Pick<'p>>,
    ) -> Result<(), Refusal> {
        picks.try_for_each(|pick| self.one_pool(pick.pool).map(|_| ()))
    }

    pub(crate) fn unit_name(&self, pool: usize, unit: Unit) -> UnitName {
        let unit = self.pools[pool].hall.as_ref().and_then(|hall| hall.name(unit));
        self.named(pool, unit)
    }

    fn named(&self, pool: usize, unit: Option<&str>) -> UnitName {
        UnitName { pool: self.settings.pools[pool].name.clone(), unit: unit.map(Into::into) }
    }

    /// Says what picks ask for. Who is `buying` cannot have what is not sold now.
    pub(crate) fn wanted<'c>(
        &self,
        picks: &[Pick<'c>],
        buying: bool,
    ) -> Result<Wanted<'c>, Outcome> {
        let mut wanted = Wanted { named: true, ..Wanted::default() };
        let (mut unknown, mut not_sold) = (Vec::new(), Vec::new());
        for pick in picks {
            let pool = self.one_pool(pick.pool)?;
            if self.pools[pool].coupons.is_some() {
                return Err(Refusal::Code(CodeRefusal::ClaimRequired).into());
            }
            let wrong = match &self.pools[pool].hall {
                Some(hall) => hall.look_for(pool, pick, buying, &mut wanted),
                None => wanted.look_for_counted(pool, pick)?,
            };
            for (name, is_known) in wrong {
                let names = if is_known { &mut not_sold } else { &mut unknown };
                names.push(self.named(pool, name));
            }
        }
        if !unknown.is_empty() {
            return Err(refused(Refusal::NoSuchUnit, unknown));
        }
        if !not_sold.is_empty() {
            return Err(refused(Refusal::NotForSale, not_sold));
        }
        wanted.seats.sort_unstable();
        wanted.seats.dedup();
        Ok(wanted)
    }

    /// Returns the units a subject has now, held and claimed.
    fn units_of(&self, subject: &str) -> Vec<(usize, Unit)> {
        let holds = self.holds.iter().filter(|hold| hold.subject == subject && hold.live);
        let held = holds.flat_map(|hold| &hold.takes).filter(|take| take.fate == Fate::Held);
        let mut units: Vec<_> = held.map(|take| (take.pool, take.unit)).collect();
        for (at, pool) in self.pools.iter().enumerate() {
            let rows =
                pool.rows.iter().filter(|row| row.subject == subject && row.undone.is_none());
            units.extend(rows.map(|row| (at, row.unit)));
        }
        units
    }

    /// Refuses what would give a subject more than it may have; `said` came with the command, and the smaller one counts.
    pub(crate) fn check_limits(
        &self,
        subject: &str,
        wanted: &Wanted<'_>,
        said: Option<u32>,
    ) -> Result<(), Refusal> {
        let reached = || Err(Refusal::LimitReached);
        let pool_limits = self.settings.pools.iter().any(|pool| pool.limit.is_some());
        let grades = &self.settings.holding.grades;
        let limit = self.settings.limit.into_iter().chain(said).min();
        if wanted.units() == 0 {
            return Ok(());
        }
        let has = self.units_of(subject);
        for (at, pool) in self.pools.iter().enumerate() {
            let more: usize = wanted.by_pool().filter(|(of, _)| *of == at).map(|(_, n)| n).sum();
            let ever = pool.rows.iter().filter(|row| row.subject == subject).count();
            let holds = self.holds.iter().filter(|hold| hold.subject == subject && hold.live);
            let held = holds.flat_map(|hold| &hold.takes);
            let held = held.filter(|take| take.pool == at && take.fate == Fate::Held).count();
            if more > 0 && ever + held + more > 1_000 {
                return reached();
            }
        }
        if limit.is_none() && !pool_limits && grades.is_empty() {
            return Ok(());
        }
        if limit.is_some_and(|most| has.len() + wanted.units() > most as usize) {
            return reached();
        }
        for (at, pool) in self.settings.pools.iter().enumerate() {
            let more: usize = wanted.by_pool().filter(|(of, _)| *of == at).map(|(_, n)| n).sum();
            let before = has.iter().filter(|(of, _)| *of == at).count();
            let over = pool.limit.is_some_and(|most| before + more > most as usize);
            if wanted.by_pool().any(|(of, _)| of == at) && over {
                return reached();
            }
        }
        let units = wanted.quantities();
        let takes = units.iter().flat_map(|(pool, unit, n)| vec![(*pool, *unit); *n]);
        if self.keeps_grades(subject, &takes.collect::<Vec<_>>()) { Ok(()) } else { reached() }
    }

    /// Says whether more units keep every limit of a grade.
    pub(crate) fn keeps_grades(&self, subject: &str, more: &[(usize, Unit)]) -> bool {
        let of = |grade: &str, units: &[(usize, Unit)]| {
            let mine = units.iter().filter(|(pool, unit)| {
                let hall = self.pools[*pool].hall.as_ref();
                hall.and_then(|hall| hall.grade(*unit)) == Some(grade)
            });
            mine.count()
        };
        self.settings.holding.grades.iter().all(|GradeLimit { grade, limit }| {
            let more = of(grade, more);
            more == 0 || more + of(grade, &self.units_of(subject)) <= *limit as usize
        })
    }

    /// Returns the seats that were named and are not free.
    pub(crate) fn taken(&self, wanted: &Wanted<'_>) -> Vec<(usize, usize)> {
        let is_free = |pool: usize, seat: usize| {
            self.pools[pool].hall.as_ref().is_some_and(|hall| hall.is_free(seat))
        };
        wanted.seats.iter().copied().filter(|(pool, seat)| !is_free(*pool, *seat)).collect()
    }

    /// Sets aside what is wanted for a hold: all of it, or none.
    pub(crate) fn choose(
        &mut self,
        subject: &str,
        hold: usize,
        wanted: &Wanted<'_>,
    ) -> Result<Vec<Take>, Outcome> {
        let before = self.pools.clone();
        let chosen = self.try_choose(subject, hold, wanted);
        if chosen.is_err() {
            self.pools = before;
        }
        chosen
    }

    fn try_choose(
        &mut self,
        subject: &str,
        hold: usize,
        wanted: &Wanted<'_>,
    ) -> Result<Vec<Take>, Outcome> {
        let taken = self.taken(wanted);
        if !taken.is_empty() {
            let names = taken.into_iter().map(|(pool, at)| self.unit_name(pool, Unit::Seat(at)));
            return Err(refused(Refusal::UnitTaken, names.collect()));
        }
        if wanted.counts.iter().any(|(pool, unit, n)| self.free(*pool, *unit) < *n) {
            return Err(Refusal::SoldOut.into());
        }
        let mut chosen: Vec<(usize, Unit)> = Vec::new();
        for (pool, unit, count) in wanted.quantities() {
            chosen.extend(vec![(pool, unit); count]);
        }
        for (pool, unit) in &chosen {
            self.set_aside(*pool, *unit, hold);
        }
        for (pool, best, channel) in &wanted.best {
            let hall = self.pools[*pool].hall.as_ref();
            let allow = self.settings.holding.allow_orphans;
            let seats = hall.and_then(|hall| hall.best(best, *channel, allow));
            for seat in seats.ok_or(Outcome::Refused(Refusal::SoldOut))? {
                self.set_aside(*pool, Unit::Seat(seat), hold);
                chosen.push((*pool, Unit::Seat(seat)));
            }
        }
        if !wanted.best.is_empty() && !self.keeps_grades(subject, &chosen) {
            return Err(Refusal::LimitReached.into());
        }
        if !wanted.seats.is_empty() && !self.settings.holding.allow_orphans {
            self.leaves_nobody_alone(&chosen, hold)?;
        }
        chosen.sort_unstable();
        let take = |(pool, unit)| Take { pool, unit, fate: Fate::Held };
        Ok(chosen.into_iter().map(take).collect())
    }

    fn leaves_nobody_alone(
        &mut self,
        chosen: &[(usize, Unit)],
        hold: usize,
    ) -> Result<(), Outcome> {
        for pool in 0..self.pools.len() {
            let seats = chosen.iter().filter(|(of, _)| *of == pool).filter_map(|(_, unit)| {
                if let Unit::Seat(seat) = unit { Some(*seat) } else { None }
            });
            let seats: Vec<usize> = seats.collect();
            let Some(hall) = self.pools[pool].hall.as_mut().filter(|_| !seats.is_empty()) else {
                continue;
            };
            seats.iter().for_each(|seat| hall.seats[*seat].owner = SeatOwner::Nobody);
            let orphan = hall.orphan(&seats);
            seats.iter().for_each(|seat| hall.seats[*seat].owner = SeatOwner::Hold(hold));
            if let Some(orphan) = orphan {
                let name = self.unit_name(pool, Unit::Seat(orphan));
                return Err(refused(Refusal::OrphanLeft, vec![name]));
            }
        }
        Ok(())
    }

    /// Returns how many units like this one are free.
    pub(crate) fn free(&self, pool: usize, unit: Unit) -> u32 {
        match (unit, &self.pools[pool].hall) {
            (Unit::Seat(seat), Some(hall)) => u32::from(hall.is_free(seat)),
            (Unit::Area(area), Some(hall)) => hall.areas[area].free(),
            (Unit::Counted, _) | (_, None) => self.left(pool),
        }
    }

    /// Sets a free unit aside.
    pub(crate) fn set_aside(&mut self, pool: usize, unit: Unit, hold: usize) {
        assert!(self.free(pool, unit) > 0, "the model gives a unit twice");
        let pool = &mut self.pools[pool];
        match (unit, &mut pool.hall) {
            (Unit::Seat(seat), Some(hall)) => hall.seats[seat].owner = SeatOwner::Hold(hold),
            (Unit::Area(area), Some(hall)) => hall.areas[area].held += 1,
            (Unit::Counted, _) | (_, None) => pool.held += 1,
        }
    }

    /// Gives a unit back that was set aside.
    pub(crate) fn put_back(&mut self, pool: usize, unit: Unit) {
        self.came_free(pool, Some(unit));
        let pool = &mut self.pools[pool];
        match (unit, &mut pool.hall) {
            (Unit::Seat(seat), Some(hall)) => hall.seats[seat].owner = SeatOwner::Nobody,
            (Unit::Area(area), Some(hall)) => hall.areas[area].held -= 1,
            (Unit::Counted, _) | (_, None) => pool.held -= 1,
        }
    }
}
