//! Rules of operator commands on units: adding seats, blocking, moving.

use super::select::Reach;
use super::{Campaign, Moved};
use crate::command::Pick;
use crate::context::{ApplyContext, NewResult};
use crate::hall::{
    AreaSettings, Chunk, Hall, Kind as UnitKind, SeatChange, SeatSettings, Standing, Unit,
};
use crate::hold::{Allocation, Fate, UnitId};
use crate::outcome::{Missing, Move, Outcome, Refusal, RefusedFor, UnitName};
use crate::results::Kind;
use crate::time::Timestamp;
use firstcome_inject::{Mistake, inject};
use std::collections::BTreeSet;

impl Campaign {
    fn seated(&mut self, name: &str) -> Result<usize, Refusal> {
        let index = self.pools.iter().position(|pool| *pool.name == *name);
        let index = index.ok_or(Refusal::NotFound(Missing::Pool))?;
        if self.pools[index].hall().is_some() { Ok(index) } else { Err(Refusal::NotSeated) }
    }

    /// Adds seats and areas to a seated pool; those that are there just so are left out.
    ///
    /// The first refusal that applies is given, in this order: `not_found` (the pool), `not_seated`,
    /// `closed` where there is something to add, `bad_seat` naming the first that cannot be.
    pub(crate) fn add_seats(&mut self, at: Timestamp, pool: &str, chunk: &Chunk<'_>) -> Outcome {
        let index = match self.seated(pool) {
            Ok(index) => index,
            Err(refusal) => return refusal.into(),
        };
        let closed = self.closed_since(at).is_some();
        let hall = self.pools[index].hall_mut();
        let new_seat = |(_, seat): &(usize, &SeatSettings<'_>)| !matches!(hall.find(seat.name), Some(Unit::Seat(n)) if hall.seat(n) == **seat);
        let new_area = |(_, area): &(usize, &AreaSettings<'_>)| !matches!(hall.find(area.name), Some(Unit::Area(n)) if hall.area(n) == **area);
        let seats: Vec<_> = chunk.seats.iter().enumerate().filter(new_seat).collect();
        let areas: Vec<_> = chunk.areas.iter().enumerate().filter(new_area).collect();
        if closed && (!seats.is_empty() || !areas.is_empty()) {
            return Refusal::Closed.into();
        }
        let new_seats: Vec<_> = seats.iter().map(|(_, seat)| **seat).collect();
        let new_areas: Vec<_> = areas.iter().map(|(_, area)| **area).collect();
        match hall.add(&new_seats, &new_areas) {
            Ok(()) => {
                self.pools[index].all_came_free();
                Outcome::Imported { seats: new_seats.len() as u32, areas: new_areas.len() as u32 }
            }
            Err(mut bad) => {
                bad.at = if bad.area { areas[bad.at].0 } else { seats[bad.at].0 };
                let unit = UnitName { pool: pool.into(), unit: Some(bad.name.clone()) };
                Outcome::RefusedFor(Box::new(RefusedFor {
                    refusal: Refusal::BadSeat,
                    hold: None,
                    units: vec![unit],
                    seat: Some(bad),
                }))
            }
        }
    }

    /// Changes names, grades and prices of seats, each by its name: all of them or none.
    ///
    /// The first refusal that applies is given, in this order: `not_found` (the pool), `not_seated`, `closed`,
    /// `no_such_unit` naming the first that is no seat; once the campaign has opened `unit_taken` naming every one that
    /// somebody has or had, `bad_seat` naming the first that cannot be so.
    pub(crate) fn change_seats(
        &mut self,
        at: Timestamp,
        pool: &str,
        wanted: &[SeatChange<'_>],
    ) -> Outcome {
        let index = match self.seated(pool) {
            Ok(index) => index,
            Err(refusal) => return refusal.into(),
        };
        if self.closed_since(at).is_some() {
            return Refusal::Closed.into();
        }
        let named = |name: &str| UnitName { pool: pool.into(), unit: Some(name.into()) };
        let mut seats = Vec::with_capacity(wanted.len());
        for change in wanted {
            let Some(Unit::Seat(seat)) = self.pools[index].hall_mut().find(change.name) else {
                return Outcome::refused_for(Refusal::NoSuchUnit, vec![named(change.name)]);
            };
            seats.push((seat, *change));
        }
        if self.has_opened(at) && !inject(Mistake::ChangeSoldSeats) {
            let had = self.had_by_somebody(index);
            let taken: Vec<UnitName> = seats
                .iter()
                .filter(|(seat, _)| had.contains(seat) || self.is_taken(index, *seat))
                .map(|(_, change)| named(change.name))
                .collect();
            if !taken.is_empty() {
                return Outcome::refused_for(Refusal::UnitTaken, taken);
            }
        }
        match self.pools[index].hall_mut().change(&seats) {
            Ok(seats) => {
                // A seat of another grade may be one that somebody waits for.
                self.pools[index].all_came_free();
                Outcome::SeatsChanged { seats }
            }
            Err(bad) => Outcome::RefusedFor(Box::new(RefusedFor {
                refusal: Refusal::BadSeat,
                hold: None,
                units: vec![named(&bad.name)],
                seat: Some(bad),
            })),
        }
    }

    fn is_taken(&self, index: usize, seat: u32) -> bool {
        let standing = self.pools[index].hall().map(|hall| hall.standing(seat));
        matches!(standing, Some(Standing::Held(_) | Standing::Confirmed(_)))
    }

    /// Returns the seats of a pool that stand in a result, today's and those of long ago.
    ///
    /// It looks through the ranks of the pool once: an operator changes seats now and then.
    fn had_by_somebody(&self, index: usize) -> BTreeSet<u32> {
        let pool = &self.pools[index];
        let granted =
            pool.grants.runs.iter().flat_map(|run| run.iter().map(|(_, grant)| grant.unit));
        let moved = self.moves.iter().filter(|moved| usize::from(moved.pool) == index);
        let moved = moved.flat_map(|moved| [moved.from, moved.to]);
        let refunded = self.refunds.iter().map(|refund| refund.unit);
        let seat = |unit| if let UnitId::Seat(seat) = unit { Some(seat) } else { None };
        granted.chain(moved).chain(refunded).filter_map(seat).collect()
    }

    /// Takes units out of sale, or puts them back.
    ///
    /// The first refusal that applies is given, in this order: `not_found` (the pool), `pool_required`,
    /// `not_seated`, `no_such_unit`, `not_for_sale` (a seat of a group by itself); where units are to be blocked
    /// `unit_taken` naming every taken one, `sold_out` (an area has fewer free ones).
    pub(crate) fn block(&mut self, units: &[Pick<'_>], blocked: bool) -> Outcome {
        self.try_block(units, blocked).unwrap_or_else(|no| no)
    }

    fn try_block(&mut self, units: &[Pick<'_>], blocked: bool) -> Result<Outcome, Outcome> {
        for pick in units {
            if self.pools[self.pool_of(pick)?].hall().is_none() {
                return Err(Refusal::NotSeated.into());
            }
        }
        let selection = self.select(units, Reach::Any)?;
        let (from, to) = match blocked {
            true => (UnitKind::Free, UnitKind::Blocked),
            false => (UnitKind::Blocked, UnitKind::Free),
        };
        let standing =
            |pool: u16, seat: u32| self.pools[usize::from(pool)].hall().map(|h| h.standing(seat));
        let taken = |(pool, seat): &&(u16, u32)| {
            matches!(standing(*pool, *seat), Some(Standing::Held(_) | Standing::Confirmed(_)))
        };
        let taken: Vec<_> = selection.seats.iter().filter(taken).collect();
        if blocked && !taken.is_empty() {
            let names = taken.iter().map(|(pool, seat)| self.unit_name(*pool, UnitId::Seat(*seat)));
            return Err(Outcome::refused_for(Refusal::UnitTaken, names.collect()));
        }
        let enough = |(pool, unit, count): &(u16, UnitId, u32)| {
            self.pools[usize::from(*pool)].free(*unit) >= *count
        };
        if blocked && !selection.quantities.iter().all(enough) {
            return Err(Refusal::SoldOut.into());
        }
        let mut units = 0;
        for (pool, seat) in selection.seats {
            let hall = self.pools[usize::from(pool)].hall_mut();
            if hall.standing(seat).kind() == from {
                hall.set(seat, if blocked { Standing::Blocked } else { Standing::Free });
                units += 1;
                if !blocked {
                    self.pools[usize::from(pool)].came_free(UnitId::Seat(seat));
                }
            }
        }
        for (pool, unit, count) in selection.quantities {
            let UnitId::Area(area) = unit else { continue };
            let hall = self.pools[usize::from(pool)].hall_mut();
            // Of what is to be free again there may be less than asked.
            let count = if blocked { count } else { count.min(hall.area_counts(area).blocked) };
            assert!(hall.shift(area, count, from, to), "it was looked whether there are enough");
            units += count;
            if !blocked && count > 0 {
                self.pools[usize::from(pool)].came_free(unit);
            }
        }
        Ok(if blocked { Outcome::Blocked { units } } else { Outcome::Unblocked { units } })
    }

    /// Exchanges a seat that is held or confirmed for a free one.
    ///
    /// The first refusal that applies is given, in this order: `not_found` (the pool), `not_seated`,
    /// `no_such_unit`, `not_for_sale` (one of a group, or the new one is blocked), `not_held` (nobody has it, or its
    /// claim was cancelled), `unit_taken`.
    pub(crate) fn move_seat(
        &mut self,
        context: &mut ApplyContext<'_>,
        pool: &str,
        (from, to): (&str, &str),
        (reason, who): (&str, &str),
    ) -> Outcome {
        let index = match self.seated(pool) {
            Ok(index) => index,
            Err(refusal) => return refusal.into(),
        };
        let refused = |refusal, name: &str| {
            let unit = UnitName { pool: pool.into(), unit: Some(name.into()) };
            Outcome::refused_for(refusal, vec![unit])
        };
        let hall = self.pools[index].hall_mut();
        let single = |hall: &Hall, name: &str| match hall.find(name) {
            None => Err(refused(Refusal::NoSuchUnit, name)),
            Some(Unit::Seat(seat)) if hall.group_of(seat).is_none() => Ok(seat),
            Some(_) => Err(refused(Refusal::NotForSale, name)),
        };
        let (old, new) = match (single(hall, from), single(hall, to)) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(no), _) | (_, Err(no)) => return no,
        };
        if hall.standing(new) == Standing::Blocked {
            return refused(Refusal::NotForSale, to);
        }
        let standing = hall.standing(old);
        let cancelled = match standing {
            Standing::Free | Standing::Blocked => true,
            Standing::Held(_) => false,
            Standing::Confirmed(rank) => !self.pools[index].is_live(rank),
        };
        if cancelled {
            return refused(Refusal::NotHeld, from);
        }
        let hall = self.pools[index].hall_mut();
        if !hall.standing(new).is_free() {
            return refused(Refusal::UnitTaken, to);
        }
        hall.set(old, Standing::Free);
        hall.set(new, standing);
        self.pools[index].came_free(UnitId::Seat(old));
        let (old, new) = ((index as u16, UnitId::Seat(old)), (index as u16, UnitId::Seat(new)));
        let moved = self.hand_over(context.at, standing, (old, new), (reason, who));
        let (subject, rank) = (moved.subject.clone(), moved.rank);
        self.moves.push(moved);
        let result =
            NewResult { kind: Kind::Moved, pool: index as u16, rank: self.moves.len() as u32 };
        context.emit(&subject, result);
        let (pool, from, to) = (pool.into(), from.into(), to.into());
        Outcome::Moved(Box::new(Move { pool, from, to, rank }))
    }

    /// Replaces the old seat by the new one in grants, holders and holds; gives the record of the move.
    fn hand_over(
        &mut self,
        at: Timestamp,
        standing: Standing,
        (old, new): ((u16, UnitId), (u16, UnitId)),
        (reason, who): (&str, &str),
    ) -> Moved {
        let ((index, from), (_, to)) = (old, new);
        let pool = &mut self.pools[usize::from(index)];
        let (hold, subject, rank) = match standing {
            Standing::Held(number) => {
                let hold = self.holds.at(number);
                (Some(number), hold.subject.clone(), 0)
            }
            Standing::Confirmed(rank) => {
                let subject = pool.claim(rank).expect("a confirmed seat has its claim").subject;
                let subject: Box<str> = subject.into();
                let grant = pool.grants.of(rank).expect("a seat's claim came from a hold");
                let known = self.holds.find(grant.hold).map(|hold| hold.number);
                (known, subject, rank)
            }
            Standing::Free | Standing::Blocked => unreachable!("nobody has it"),
        };
        let fate = if rank == 0 { Fate::Held } else { Fate::Confirmed(rank) };
        let id: Box<str> = match (rank, hold) {
            (0, Some(number)) => self.holds.at(number).id.clone(),
            _ => pool.grants.of(rank).map_or("".into(), |grant| grant.hold.into()),
        };
        if rank > 0 {
            pool.grants.moved.insert(rank, to);
            let holder = self.holds.holder_mut(&subject);
            let had = holder.has.iter_mut().find(|has| **has == old);
            *had.expect("whoever has a seat is known to") = new;
        }
        // The hold may be forgotten, and its id given anew.
        let had = Allocation { pool: index, unit: from, fate };
        let takes = hold.map(|number| &mut self.holds.at_mut(number).takes);
        if let Some(takes) = takes
            && let Some(take) = takes.iter_mut().find(|take| **take == had)
        {
            take.unit = to;
            takes.sort_by_key(|take| (take.pool, take.unit));
        }
        let (reason, who) = (reason.into(), who.into());
        Moved { pool: index, from, to, rank, subject, hold: id, at, reason, who }
    }
}
