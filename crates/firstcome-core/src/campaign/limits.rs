//! How many units one subject may have: held and live claims together.

use super::Campaign;
use super::select::Selection;
use crate::hold::{Allocation, Fate, Hold, UnitId};
use crate::holds::Holder;
use crate::limits::CLAIMS_OF_SUBJECT;
use crate::outcome::Refusal;
use crate::settings::GradeLimit;
use std::collections::BTreeMap;

impl Campaign {
    /// Returns the units a subject has: those of live holds, then those of live claims.
    pub(super) fn units_of<'a>(
        &'a self,
        holder: &'a Holder,
    ) -> impl Iterator<Item = (u16, UnitId)> + 'a {
        let held = holder.live.iter().flat_map(|number| &self.holds.at(*number).takes);
        let held = held.filter(|take| take.fate == Fate::Held).map(|take| (take.pool, take.unit));
        held.chain(holder.has.iter().copied())
    }

    /// Returns what a subject nobody knows as a holder has: at most one claim in each pool.
    pub(super) fn new_holder(&self, subject: &str) -> Holder {
        let mut holder = Holder::new(subject);
        for (index, pool) in self.pools.iter().enumerate() {
            if pool.latest(subject).is_some_and(|rank| pool.is_live(rank)) {
                holder.has.push((index as u16, UnitId::Counted));
            }
        }
        holder
    }

    fn has_limits(&self) -> bool {
        self.limit.is_some()
            || !self.holding.grades.is_empty()
            || self.pools.iter().any(|pool| pool.limit.is_some())
    }

    /// Returns how many units a subject has, over all pools and in each.
    fn count(&self, subject: &str) -> (u64, Vec<u64>) {
        let new;
        let holder = match self.holds.holder(subject) {
            Some(holder) => holder,
            None => {
                new = self.new_holder(subject);
                &new
            }
        };
        let (mut all, mut pools) = (0, vec![0; self.pools.len()]);
        for (pool, _) in self.units_of(holder) {
            all += 1;
            pools[usize::from(pool)] += 1;
        }
        (all, pools)
    }

    /// Returns how many units of the campaign one subject may have: `said` came with a command, the smaller one counts.
    pub(super) fn most(&self, said: Option<u32>) -> Option<u32> {
        self.limit.into_iter().chain(said).min()
    }

    /// Says whether more units of a pool keep a subject within [`CLAIMS_OF_SUBJECT`].
    fn keeps_history(&self, subject: &str, (index, more): (u16, u64)) -> bool {
        let pool = usize::from(index);
        let live = self.holds.holder(subject).map_or(&[][..], |holder| &holder.live);
        let takes = live.iter().flat_map(|number| &self.holds.at(*number).takes);
        let held = takes.filter(|take| take.pool == index && take.fate == Fate::Held).count();
        let has = u64::from(self.pools[pool].claims_had(subject)) + held as u64;
        has + more <= u64::from(CLAIMS_OF_SUBJECT)
    }

    /// Refuses with `limit_reached` what would give a subject more than it may have. Of `said` see [`Self::most`].
    pub(super) fn check_limits(
        &self,
        subject: &str,
        selection: &Selection<'_>,
        said: Option<u32>,
    ) -> Result<(), Refusal> {
        // Who gives back only has less then, even where a limit went down below it.
        if selection.units() == 0 {
            return Ok(());
        }
        let mut wanted = BTreeMap::<u16, u64>::new();
        selection.by_pool().for_each(|(pool, count)| *wanted.entry(pool).or_default() += count);
        if !wanted.into_iter().all(|wanted| self.keeps_history(subject, wanted)) {
            return Err(Refusal::LimitReached);
        }
        if said.is_none() && !self.has_limits() {
            return Ok(());
        }
        let (mut all, mut pools) = self.count(subject);
        for (pool, count) in selection.by_pool() {
            all += count;
            pools[usize::from(pool)] += count;
        }
        if self.most(said).is_some_and(|most| all > u64::from(most)) {
            return Err(Refusal::LimitReached);
        }
        let over = |(index, count): (usize, u64)| {
            self.pools[index].limit.is_some_and(|limit| count > u64::from(limit))
        };
        let asked_of =
            |index: usize| selection.by_pool().any(|(pool, _)| usize::from(pool) == index);
        // Where a limit went down, what one has already is no reason to refuse something else.
        if pools.into_iter().enumerate().any(|pool| asked_of(pool.0) && over(pool)) {
            return Err(Refusal::LimitReached);
        }
        if self.holding.grades.is_empty() {
            return Ok(());
        }
        let take = |pool, unit| Allocation { pool, unit, fate: Fate::Held };
        let mut takes: Vec<Allocation> =
            selection.seats.iter().map(|(pool, seat)| take(*pool, UnitId::Seat(*seat))).collect();
        for (pool, unit, count) in &selection.quantities {
            takes.extend((0..*count).map(|_| take(*pool, *unit)));
        }
        if self.grades_allow(subject, &takes) { Ok(()) } else { Err(Refusal::LimitReached) }
    }

    /// Says whether units in addition to those a subject has keep every limit of a grade.
    pub(super) fn grades_allow(&self, subject: &str, takes: &[Allocation]) -> bool {
        self.holding.grades.iter().all(|GradeLimit { grade, limit }| {
            let of_grade = |(pool, unit): &(u16, UnitId)| self.grade(*pool, *unit) == Some(grade);
            let more = takes.iter().map(|take| (take.pool, take.unit)).filter(of_grade).count();
            let has = match self.holds.holder(subject) {
                Some(holder) if more > 0 => self.units_of(holder).filter(of_grade).count(),
                Some(_) | None => 0,
            };
            more == 0 || more + has <= *limit as usize
        })
    }

    /// Says whether units of a hold that expired keep every limit if the subject has them again.
    pub(super) fn may_have_again(&self, hold: &Hold, takes: &[Allocation]) -> bool {
        let mut selection = Selection::default();
        for take in takes {
            match take.unit {
                UnitId::Seat(seat) => selection.seats.push((take.pool, seat)),
                UnitId::Counted | UnitId::Area(_) => {
                    selection.quantities.push((take.pool, take.unit, 1))
                }
            }
        }
        self.check_limits(&hold.subject, &selection, hold.limit).is_ok()
    }

    fn grade(&self, pool: u16, unit: UnitId) -> Option<&str> {
        let hall = self.pools[usize::from(pool)].hall()?;
        match unit {
            UnitId::Counted => None,
            UnitId::Seat(seat) => Some(hall.grade_of(seat)),
            UnitId::Area(area) => Some(hall.area(area).grade),
        }
    }
}
