//! The units of a pool: holding, giving back, confirming.

use super::Pool;
use crate::codes::Codes;
use crate::hall::{Hall, Kind, Standing, UnitCounts};
use crate::hold::UnitId;
use crate::settings::{PoolKind, PoolSettings};
use crate::time::Timestamp;
use firstcome_inject::{Mistake, inject};

impl Pool {
    /// Returns the settings as they stand.
    pub(crate) fn settings(&self) -> PoolSettings {
        let (name, limit) = ((*self.name).into(), self.limit);
        let waitlist = self.waitlist;
        let codes = self.codes().map(|codes| Box::new(codes.settings.clone()));
        let capacity = if self.has_stock() { 0 } else { self.capacity };
        PoolSettings { name, capacity, kind: self.kind(), limit, waitlist, codes }
    }

    /// Says what its units are.
    pub fn kind(&self) -> PoolKind {
        match (&self.hall, &self.codes) {
            (Some(_), _) => PoolKind::Seated,
            (None, Some(_)) => PoolKind::Coded,
            (None, None) => PoolKind::Counted,
        }
    }

    /// Returns the codes of a coded pool.
    pub fn codes(&self) -> Option<&Codes> {
        self.codes.as_deref()
    }

    pub(crate) fn codes_mut(&mut self) -> Option<&mut Codes> {
        self.codes.as_deref_mut()
    }

    /// Returns how many imported codes are in stock, given or not.
    pub(crate) fn stock_committed(&self) -> u32 {
        let stock = self.codes().and_then(|codes| codes.stock.as_deref());
        stock.map_or(0, |stock| stock.committed)
    }

    /// Says whether its units are imported codes.
    pub(crate) fn has_stock(&self) -> bool {
        self.codes().is_some_and(|codes| codes.stock.is_some())
    }

    /// Returns how many units one subject may have, held and live claims together, if that is limited.
    pub fn limit(&self) -> Option<u32> {
        self.limit
    }

    /// Returns the seats of a seated pool.
    pub fn hall(&self) -> Option<&Hall> {
        self.hall.as_deref()
    }

    pub(crate) fn hall_mut(&mut self) -> &mut Hall {
        self.hall.as_deref_mut().expect("it was looked whether the pool is seated")
    }

    /// Returns how many units stand how. Free, held, confirmed and blocked are all there are.
    ///
    /// Units of cancelled claims that do not return count as confirmed.
    pub fn counts(&self) -> UnitCounts {
        if let Some(hall) = self.hall() {
            return hall.counts();
        }
        // Imported codes may be withdrawn while they are offered: then less than nothing is free.
        let free = self.capacity.saturating_sub(self.taken);
        let confirmed = self.taken - self.held;
        UnitCounts { free, held: self.held, confirmed, blocked: 0, left: free }
    }

    /// Says whether the pool has a unit.
    pub(crate) fn has_unit(&self, unit: UnitId) -> bool {
        match (unit, self.hall()) {
            (UnitId::Counted, None) => true,
            (UnitId::Seat(seat), Some(hall)) => seat < hall.seats(),
            (UnitId::Area(area), Some(hall)) => area < hall.areas(),
            (UnitId::Counted, Some(_)) | (UnitId::Seat(_) | UnitId::Area(_), None) => false,
        }
    }

    /// Returns a unit's name; none of a counted pool.
    pub fn unit_name(&self, unit: UnitId) -> Option<&str> {
        let unit = match unit {
            UnitId::Counted => return None,
            UnitId::Seat(seat) => crate::hall::Unit::Seat(seat),
            UnitId::Area(area) => crate::hall::Unit::Area(area),
        };
        self.hall().map(|hall| hall.name(unit))
    }

    /// Returns the unit a claim was given and the id of the hold it came from, if it came from one.
    pub fn granted(&self, rank: u32) -> Option<(UnitId, &str)> {
        self.grants.of(rank).map(|grant| (grant.unit, grant.hold))
    }

    /// Returns the unit a claim has now, if it came from a hold.
    pub fn unit_of(&self, rank: u32) -> Option<UnitId> {
        self.grants.unit(rank)
    }

    /// Returns how many units like this one are free.
    pub(crate) fn free(&self, unit: UnitId) -> u32 {
        match (unit, self.hall()) {
            (UnitId::Counted, _) => self.capacity.saturating_sub(self.taken),
            (UnitId::Seat(seat), Some(hall)) => u32::from(hall.standing(seat).is_free()),
            (UnitId::Area(area), Some(hall)) => hall.area_counts(area).free,
            (UnitId::Seat(_) | UnitId::Area(_), None) => 0,
        }
    }

    /// Says whether a code is there for somebody who was offered one: the operator may have withdrawn them meanwhile.
    pub(crate) fn has_code_left(&self) -> bool {
        self.taken - self.held < self.capacity && self.ranks_left() > 0
    }

    /// Returns how many units like this one are free, and not for somebody who waits.
    pub(crate) fn free_to_all(&self, unit: UnitId) -> u32 {
        if self.is_kept(unit) { 0 } else { self.free(unit) }
    }

    /// Sets a free unit aside for the hold of a number.
    pub(crate) fn hold(&mut self, unit: UnitId, number: u32) {
        assert!(self.free(unit) > 0 || gives_twice(), "only what is free is held");
        match unit {
            UnitId::Counted => {
                self.taken += 1;
                self.held += 1;
            }
            UnitId::Seat(seat) => self.hall_mut().set(seat, Standing::Held(number)),
            UnitId::Area(area) => self.shift(area, Kind::Free, Kind::Held),
        }
    }

    /// Makes a unit free that was set aside.
    pub(crate) fn give_back(&mut self, unit: UnitId) {
        match unit {
            UnitId::Counted => {
                self.taken -= 1;
                self.held -= 1;
            }
            UnitId::Seat(seat) => {
                let hall = self.hall_mut();
                let held = matches!(hall.standing(seat), Standing::Held(_));
                assert!(held || gives_twice(), "it was held");
                hall.set(seat, Standing::Free);
            }
            UnitId::Area(area) => self.shift(area, Kind::Held, Kind::Free),
        }
    }

    /// Gives a unit that was set aside for good, with the next rank. `whose` is the subject and the hold's id.
    pub(crate) fn confirm(
        &mut self,
        unit: UnitId,
        (subject, hold): (&str, &str),
        at: Timestamp,
    ) -> u32 {
        let rank = self.rank(subject, at);
        match unit {
            UnitId::Counted => self.held -= 1,
            UnitId::Seat(seat) => {
                let hall = self.hall_mut();
                let held = matches!(hall.standing(seat), Standing::Held(_));
                assert!(held || gives_twice(), "it was held");
                hall.set(seat, Standing::Confirmed(rank));
            }
            UnitId::Area(area) => self.shift(area, Kind::Held, Kind::Confirmed),
        }
        self.grants.push(rank, unit, hold);
        rank
    }

    /// Makes the unit of a cancelled claim free, and returns it.
    pub(super) fn free_confirmed(&mut self, rank: u32) -> UnitId {
        let unit = self.grants.unit(rank).unwrap_or(UnitId::Counted);
        match unit {
            UnitId::Counted => self.taken -= 1,
            UnitId::Seat(seat) => {
                let hall = self.hall_mut();
                let has = hall.standing(seat) == Standing::Confirmed(rank);
                assert!(has || gives_twice(), "the claim has its seat");
                hall.set(seat, Standing::Free);
            }
            UnitId::Area(area) => self.shift(area, Kind::Confirmed, Kind::Free),
        }
        unit
    }

    fn shift(&mut self, area: u16, from: Kind, to: Kind) {
        assert!(self.hall_mut().shift(area, 1, from, to), "an area has what was counted");
    }
}

/// Says whether a seat may have been given twice on purpose.
fn gives_twice() -> bool {
    inject(Mistake::HoldTakenSeats) || inject(Mistake::RetakeFromOthers)
}
