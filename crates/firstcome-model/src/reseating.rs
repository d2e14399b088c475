//! The model's rules for barring subjects and for changing seats.

use crate::campaign::ModelCampaign;
use crate::hall::{Hall, Named, SeatOwner};
use crate::holding::{Fate, SaidBy, Turn};
use crate::wanted::refused;
use firstcome_core::hall::{BadSeat, SeatChange, Unfit};
use firstcome_core::outcome::{RefusedFor, UnitName};
use firstcome_core::{Outcome, Refusal};

/// Refuses a seat whose name is another's.
pub(crate) fn bad_seat(pool: &str, at: usize, name: &str) -> Outcome {
    let seat = BadSeat { at, area: false, name: name.into(), why: Unfit::NameTaken };
    let units = vec![UnitName { pool: pool.into(), unit: Some(name.into()) }];
    let (refusal, seat) = (Refusal::BadSeat, Some(seat));
    Outcome::RefusedFor(Box::new(RefusedFor { refusal, hold: None, units, seat }))
}

impl Hall<'_> {
    /// Says whether a name is a unit's, or was the one a seat was added with that has another now.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        let was =
            |seat: &super::hall::Seat<'_>| !seat.names_before.is_empty() && seat.added_as == name;
        self.find(name).is_some() || self.seats.iter().any(was)
    }
}

impl<'a> ModelCampaign<'a> {
    pub(crate) fn bar(&mut self, turn: &Turn, subject: &'a str) -> SaidBy {
        if let Some((at, entry)) = self.bars.get(subject) {
            return SaidBy::since(*entry, Outcome::BarSet { at: *at, holds: 0 });
        }
        self.bars.insert(subject, (turn.at, turn.entry));
        self.lists.retain(|waiter| waiter.subject != subject);
        let mut holds = 0;
        for hold in 0..self.holds.len() {
            if !self.holds[hold].live || self.holds[hold].subject != subject {
                continue;
            }
            holds += 1;
            self.give_back(turn, hold, 0..self.holds[hold].takes.len(), Fate::Released);
        }
        SaidBy::from(Outcome::BarSet { at: turn.at, holds })
    }

    pub(crate) fn unbar(&mut self, subject: &str) -> Outcome {
        Outcome::BarLifted { was_barred: self.bars.remove(subject).is_some() }
    }

    pub(crate) fn check_barred(&self, subject: &str) -> Result<(), Refusal> {
        if self.bars.contains_key(subject) { Err(Refusal::Barred) } else { Ok(()) }
    }

    /// Notes that units of a pool stand in a result.
    pub(crate) fn note_had(&mut self, pool: usize, units: [Option<&str>; 2]) {
        let Some(hall) = &mut self.pools[pool].hall else { return };
        for name in units.into_iter().flatten() {
            if let Some(Named::Seat(seat)) = hall.find(name) {
                hall.seats[seat].had = true;
            }
        }
    }

    pub(crate) fn change_seats(
        &mut self,
        turn: &Turn,
        name: &str,
        wanted: &[SeatChange<'a>],
    ) -> Result<Outcome, Outcome> {
        let pool = self.seated(name)?;
        if self.is_closed(turn.at) {
            return Err(Refusal::Closed.into());
        }
        let opened = self.settings.opens.at().is_some_and(|opens_at| opens_at <= turn.at);
        let Some(hall) = &mut self.pools[pool].hall else { unreachable!("it is seated") };
        let unit = |unit: &str| UnitName { pool: name.into(), unit: Some(unit.into()) };
        let mut found = Vec::new();
        for change in wanted {
            match hall.find(change.name) {
                Some(Named::Seat(seat)) => found.push((seat, change)),
                Some(Named::Area(_) | Named::Group(_)) | None => {
                    return Err(refused(Refusal::NoSuchUnit, vec![unit(change.name)]));
                }
            }
        }
        let taken = found.iter().filter(|(seat, _)| {
            let seat = &hall.seats[*seat];
            seat.had || matches!(seat.owner, SeatOwner::Hold(_) | SeatOwner::Rank(_))
        });
        let taken: Vec<UnitName> = taken.map(|(_, change)| unit(change.name)).collect();
        if opened && !taken.is_empty() {
            return Err(refused(Refusal::UnitTaken, taken));
        }
        // Nobody in these worlds changes a seat twice at once.
        for (at, (seat, change)) in found.iter().enumerate() {
            let given = change.new_name.filter(|new| *new != change.name);
            let given = given.filter(|new| *new != hall.seats[*seat].added_as);
            if given.is_some_and(|new| hall.is_given(new)) {
                return Err(bad_seat(name, at, change.name));
            }
        }
        let mut changed = 0;
        for (seat, change) in found {
            let seat = &mut hall.seats[seat];
            let before = seat.said;
            seat.said.name = change.new_name.unwrap_or(before.name);
            seat.said.grade = change.grade.unwrap_or(before.grade);
            seat.said.price = change.price.or(before.price);
            if seat.said.name != before.name {
                seat.names_before.push(before.name);
            }
            changed += u32::from(seat.said != before);
        }
        // A seat of another price category may be one that somebody waits for.
        self.came_free(pool, None);
        Ok(Outcome::SeatsChanged { seats: changed })
    }
}
