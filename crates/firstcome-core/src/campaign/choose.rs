//! Sets units aside for a hold: all it asks for, or none.

use super::Campaign;
use super::select::Selection;
use crate::hall::{Best, Hall, NoBest, Orphans, Standing};
use crate::hold::{Allocation, Fate, UnitId};
use crate::outcome::{Outcome, Refusal};
use firstcome_inject::{Mistake, inject};
use std::cell::Cell;

impl Campaign {
    /// Holds the selected units under a hold's number, and gives them in order.
    ///
    /// The first refusal that applies is given, and then nothing is set aside: `unit_taken` naming every
    /// taken unit, `sold_out`, `limit_reached` for a grade of the best seats, `orphan_left`.
    pub(super) fn choose(
        &mut self,
        subject: &str,
        number: u32,
        selection: &Selection<'_>,
    ) -> Result<Vec<Allocation>, Outcome> {
        let taken = self.taken(selection);
        let mut rest;
        let mut selection = selection;
        if inject(Mistake::PartialHolds) && taken.len() < selection.seats.len() {
            rest = selection.clone();
            rest.seats.retain(|seat| !taken.contains(seat));
            selection = &rest;
        } else if !taken.is_empty() {
            let names = taken.iter().map(|(pool, seat)| self.unit_name(*pool, UnitId::Seat(*seat)));
            return Err(Outcome::refused_for(Refusal::UnitTaken, names.collect()));
        }
        for (pool, unit, count) in &selection.quantities {
            if self.pools[usize::from(*pool)].free_to_all(*unit) < *count {
                return Err(Refusal::SoldOut.into());
            }
        }
        let mut takes = Vec::with_capacity(selection.units() as usize);
        let take = |pool, unit| Allocation { pool, unit, fate: Fate::Held };
        takes.extend(selection.seats.iter().map(|(pool, seat)| take(*pool, UnitId::Seat(*seat))));
        for (pool, unit, count) in &selection.quantities {
            takes.extend((0..*count).map(|_| take(*pool, *unit)));
        }
        for take in &takes {
            self.pools[usize::from(take.pool)].hold(take.unit, number);
        }
        let named = selection.seats.len();
        match self.choose_best(subject, number, selection, &mut takes) {
            Ok(()) => {}
            Err(outcome) => {
                self.give_back(&takes);
                return Err(outcome);
            }
        }
        if named > 0
            && !self.holding.allow_orphans
            && let Err(outcome) = self.leaves_no_orphan(number, &takes)
        {
            self.give_back(&takes);
            return Err(outcome);
        }
        takes.sort_unstable_by_key(|take| (take.pool, take.unit));
        Ok(takes)
    }

    /// Returns the seats selected by name that are not free.
    pub(super) fn taken(&self, selection: &Selection<'_>) -> Vec<(u16, u32)> {
        let hall = |pool: u16| self.pools[usize::from(pool)].hall();
        let is_free = |pool, seat| {
            let standing = hall(pool).map(|hall| hall.standing(seat));
            standing.is_some_and(|standing| {
                standing.is_free() && !self.pools[usize::from(pool)].is_kept(UnitId::Seat(seat))
                    || inject(Mistake::HoldTakenSeats) && matches!(standing, Standing::Held(_))
            })
        };
        selection.seats.iter().copied().filter(|(pool, seat)| !is_free(*pool, *seat)).collect()
    }

    fn choose_best(
        &mut self,
        subject: &str,
        number: u32,
        selection: &Selection<'_>,
        takes: &mut Vec<Allocation>,
    ) -> Result<(), Outcome> {
        let orphans =
            if self.holding.allow_orphans { Orphans::Allowed } else { Orphans::LastResort };
        for (pool, best, channel) in &selection.best {
            let wanted = Best {
                quantity: best.count,
                grade: best.grade,
                price: best.price,
                channel: *channel,
                accessible: best.accessible,
                adjacent: best.adjacent,
                orphans,
            };
            let index = usize::from(*pool);
            let hall = self.pools[index].hall().expect("the best of a seated pool was asked for");
            // A look at the counts spares looking for what cannot be there.
            let counts = best.grade.map_or(hall.counts(), |grade| hall.grade_counts(grade));
            if counts.left < best.count {
                return Err(Refusal::SoldOut.into());
            }
            let kept = self.pools[index].kept();
            let seats = hall.best_but(&wanted, &kept, &Cell::new(0)).map_err(|why| match why {
                NoBest::TooFew { .. } | NoBest::Apart => Refusal::SoldOut,
                NoBest::Orphan => Refusal::OrphanLeft,
            })?;
            for seat in seats {
                let unit = UnitId::Seat(seat);
                self.pools[index].hold(unit, number);
                takes.push(Allocation { pool: *pool, unit, fate: Fate::Held });
            }
        }
        if !selection.best.is_empty() && !self.grades_allow(subject, takes) {
            return Err(Refusal::LimitReached.into());
        }
        Ok(())
    }

    /// Looks whether seats that were set aside leave a single one between them and others.
    fn leaves_no_orphan(&mut self, number: u32, takes: &[Allocation]) -> Result<(), Outcome> {
        for index in 0..self.pools.len() {
            let seats: Vec<u32> = takes.iter().filter_map(|take| seat_of(take, index)).collect();
            if seats.is_empty() {
                continue;
            }
            let pool = &mut self.pools[index];
            // The hall is asked about seats that are still free.
            seats.iter().for_each(|seat| pool.give_back(UnitId::Seat(*seat)));
            let orphan =
                pool.hall().and_then(|hall: &Hall| hall.orphan(&seats, Orphans::LastResort));
            seats.iter().for_each(|seat| pool.hold(UnitId::Seat(*seat), number));
            if let Some(orphan) = orphan {
                let name = self.unit_name(index as u16, UnitId::Seat(orphan));
                return Err(Outcome::refused_for(Refusal::OrphanLeft, vec![name]));
            }
        }
        Ok(())
    }

    /// Makes units free that were set aside.
    pub(super) fn give_back(&mut self, takes: &[Allocation]) {
        for take in takes {
            self.pools[usize::from(take.pool)].give_back(take.unit);
        }
    }
}

fn seat_of(take: &Allocation, pool: usize) -> Option<u32> {
    match take.unit {
        UnitId::Seat(seat) if usize::from(take.pool) == pool => Some(seat),
        UnitId::Seat(_) | UnitId::Counted | UnitId::Area(_) => None,
    }
}
