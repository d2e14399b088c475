//! The model's rules for an operator's commands on seats: add, block and exchange.

use crate::campaign::ModelCampaign;
use crate::hall::{Area, Named, Seat, SeatOwner, Unit};
use crate::holding::{Fate, Made, Turn};
use crate::reseating::bad_seat;
use crate::wanted::refused;
use firstcome_core::command::Pick;
use firstcome_core::hall::Chunk;
use firstcome_core::outcome::{Missing, Move, UnitName};
use firstcome_core::results::Kind;
use firstcome_core::{Outcome, Refusal};

impl<'a> ModelCampaign<'a> {
    pub(crate) fn seated(&self, name: &str) -> Result<usize, Outcome> {
        let pool =
            self.pool_index(name).ok_or(Outcome::Refused(Refusal::NotFound(Missing::Pool)))?;
        if self.pools[pool].hall.is_some() { Ok(pool) } else { Err(Refusal::NotSeated.into()) }
    }

    pub(crate) fn add_seats(
        &mut self,
        turn: &Turn,
        name: &str,
        chunk: &Chunk<'a>,
    ) -> Result<Outcome, Outcome> {
        let pool = self.seated(name)?;
        let closed = self.is_closed(turn.at);
        let Some(hall) = &mut self.pools[pool].hall else { unreachable!("it is seated") };
        let seats = chunk.seats.iter().filter(|new| !hall.seats.iter().any(|it| it.said == **new));
        let areas = chunk.areas.iter().filter(|new| !hall.areas.iter().any(|it| it.said == **new));
        let (seats, areas): (Vec<_>, Vec<_>) = (seats.collect(), areas.collect());
        if closed && (!seats.is_empty() || !areas.is_empty()) {
            return Err(Refusal::Closed.into());
        }
        // Nobody in these worlds says something else of an area that is there.
        if let Some(taken) = seats.iter().find(|seat| hall.is_given(seat.name)) {
            let at = chunk.seats.iter().position(|seat| seat == *taken).unwrap_or_default();
            return Err(bad_seat(name, at, taken.name));
        }
        if areas.iter().any(|area| hall.is_given(area.name)) {
            return Err(Refusal::BadSeat.into());
        }
        let count = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
        let imported = Outcome::Imported { seats: count(seats.len()), areas: count(areas.len()) };
        hall.seats.extend(seats.into_iter().map(|said| Seat {
            said: *said,
            added_as: said.name,
            names_before: Vec::new(),
            had: false,
            owner: SeatOwner::Nobody,
        }));
        let area = |said: &_| Area { said: *said, held: 0, given: 0, kept: 0 };
        hall.areas.extend(areas.into_iter().map(area));
        self.came_free(pool, None);
        Ok(imported)
    }

    pub(crate) fn block(&mut self, units: &[Pick<'_>], blocked: bool) -> Result<Outcome, Outcome> {
        for pick in units {
            if self.pools[self.one_pool(pick.pool)?].hall.is_none() {
                return Err(Refusal::NotSeated.into());
            }
        }
        let wanted = self.wanted(units, false)?;
        let owner = |pool: usize, seat: usize| {
            self.pools[pool].hall.as_ref().map(|hall| hall.seats[seat].owner)
        };
        let taken = wanted.seats.iter().filter(|(pool, seat)| {
            matches!(owner(*pool, *seat), Some(SeatOwner::Hold(_) | SeatOwner::Rank(_)))
        });
        let taken = taken.map(|(pool, seat)| self.unit_name(*pool, Unit::Seat(*seat)));
        let taken: Vec<UnitName> = taken.collect();
        if blocked && !taken.is_empty() {
            return Err(refused(Refusal::UnitTaken, taken));
        }
        if blocked && wanted.counts.iter().any(|(pool, unit, n)| self.free(*pool, *unit) < *n) {
            return Err(Refusal::SoldOut.into());
        }
        let mut units = 0;
        let (from, to) = match blocked {
            true => (SeatOwner::Nobody, SeatOwner::Kept),
            false => (SeatOwner::Kept, SeatOwner::Nobody),
        };
        for (pool, seat) in wanted.seats {
            let Some(hall) = &mut self.pools[pool].hall else { continue };
            if hall.seats[seat].owner == from {
                hall.seats[seat].owner = to;
                units += 1;
                if !blocked {
                    self.came_free(pool, Some(Unit::Seat(seat)));
                }
            }
        }
        for (pool, unit, count) in wanted.counts {
            let (Some(hall), Unit::Area(area)) = (&mut self.pools[pool].hall, unit) else {
                continue;
            };
            let kept = &mut hall.areas[area].kept;
            let count = if blocked { count } else { count.min(*kept) };
            *kept = if blocked { *kept + count } else { *kept - count };
            units += count;
        }
        Ok(if blocked { Outcome::Blocked { units } } else { Outcome::Unblocked { units } })
    }

    pub(crate) fn exchange(
        &mut self,
        turn: &Turn,
        name: &'a str,
        (from, to): (&'a str, &'a str),
        made: &mut Vec<Made<'a>>,
    ) -> Result<Outcome, Outcome> {
        let pool = self.seated(name)?;
        let no = |refusal, unit: &str| {
            refused(refusal, vec![UnitName { pool: name.into(), unit: Some(unit.into()) }])
        };
        let Some(hall) = &mut self.pools[pool].hall else { unreachable!("it is seated") };
        let single = |unit: &str| match hall.find(unit) {
            None => Err(no(Refusal::NoSuchUnit, unit)),
            Some(Named::Seat(seat)) if hall.seats[seat].said.group.is_empty() => Ok(seat),
            Some(_) => Err(no(Refusal::NotForSale, unit)),
        };
        let (old, new) = (single(from)?, single(to)?);
        if hall.seats[new].owner == SeatOwner::Kept {
            return Err(no(Refusal::NotForSale, to));
        }
        let owner = hall.seats[old].owner;
        let rows = &self.pools[pool].rows;
        let row_of = |rank: u32| (rank as usize).checked_sub(1).filter(|row| *row < rows.len());
        let has = match owner {
            SeatOwner::Nobody | SeatOwner::Kept => false,
            SeatOwner::Hold(_) => true,
            SeatOwner::Rank(rank) => row_of(rank).is_some_and(|row| rows[row].undone.is_none()),
        };
        if !has {
            return Err(no(Refusal::NotHeld, from));
        }
        let Some(hall) = &mut self.pools[pool].hall else { unreachable!("it is seated") };
        if hall.seats[new].owner != SeatOwner::Nobody {
            return Err(no(Refusal::UnitTaken, to));
        }
        hall.seats[old].owner = SeatOwner::Nobody;
        hall.seats[new].owner = owner;
        self.came_free(pool, Some(Unit::Seat(old)));
        let (old, new) = (Unit::Seat(old), Unit::Seat(new));
        let (hold, fate, rank) = match owner {
            SeatOwner::Rank(rank) => {
                let row = &mut self.pools[pool].rows[rank as usize - 1];
                row.unit = new;
                (row.hold.and_then(|id| self.find_hold(id)), Fate::Confirmed(rank), rank)
            }
            SeatOwner::Hold(at) => (Some(at), Fate::Held, 0),
            SeatOwner::Nobody | SeatOwner::Kept => unreachable!("somebody has it"),
        };
        let Some(at) = hold else { unreachable!("no hold is forgotten here") };
        let hold = &mut self.holds[at];
        let take = hold
            .takes
            .iter_mut()
            .find(|take| (take.pool, take.unit, take.fate) == (pool, old, fate));
        if let Some(take) = take {
            take.unit = new;
        }
        hold.takes.sort_by_key(|take| (take.pool, take.unit));
        hold.entry = turn.entry;
        let (subject, id) = (hold.subject, Some(hold.id));
        let (kind, unit, from_name) = (Kind::Moved, Some(to), Some(from));
        made.push(Made { kind, pool, rank, subject, unit, hold: id, from: from_name });
        let moved = Move { pool: name.into(), from: from.into(), to: to.into(), rank };
        Ok(Outcome::Moved(Box::new(moved)))
    }
}
