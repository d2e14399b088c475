//! Holds against each other: who had what when.

use super::super::plan::{HallPlan, Seats};
use super::super::promised::Promised;
use super::super::record::{Basket, Glance, WishedUnits};
use super::times::{Bounds, Span, Times};
use super::walk::{Kind, RefusedUnits};
use crate::people::Found;
use std::collections::{BTreeMap, BTreeSet};

/// Who had which unit, from when until when.
pub(super) struct Crossing<'a> {
    seats: &'a Seats,
    by_unit: BTreeMap<&'a str, Vec<&'a Span>>,
}

impl<'a> Crossing<'a> {
    pub(super) fn of(seats: &'a Seats, spans: &'a [Span]) -> Self {
        let mut by_unit = BTreeMap::<&str, Vec<&Span>>::new();
        for span in spans {
            by_unit.entry(&span.unit).or_default().push(span);
        }
        Self { seats, by_unit }
    }

    fn of_unit(&self, unit: &str) -> &[&'a Span] {
        self.by_unit.get(unit).map_or(&[][..], Vec::as_slice)
    }

    /// Checks that no seat had two owners at a time, and the floor no more than it has places.
    pub(super) fn owners(&self, found: &mut Found) {
        for (unit, spans) in &self.by_unit {
            if self.seats.hall.as_ref().is_some_and(|hall| !hall.sells(unit)) {
                let evidence = format!("{unit} is not for sale, and {} had it", spans[0].hold);
                found.add(Promised::Seats, evidence);
            }
            let most = self.seats.most(unit);
            for span in spans {
                // Right after it began, whoever had it for certain.
                let begun = Bounds { lo: span.begin.hi, hi: span.begin.hi };
                let have: Vec<_> = spans.iter().filter(|other| other.covers(begun)).collect();
                let given: u32 = have.iter().map(|other| other.count).sum();
                if given > most {
                    let who: Vec<_> = have.iter().map(|other| (&other.hold, other.end)).collect();
                    let evidence = format!("{given} of {unit} were had at {begun:?} by {who:?}");
                    found.add(Promised::Seats, evidence);
                }
            }
        }
    }

    /// Returns how much of a unit others may have had at some time between.
    fn of_others(&self, hold: &str, unit: &str, when: Bounds) -> u32 {
        let others = self.of_unit(unit).iter().filter(|span| span.hold != hold);
        others.filter(|span| span.may_meet(when)).map(|span| span.count).sum()
    }

    /// Checks that what was refused could not be had.
    ///
    /// Where somebody else may have had something that is not recorded, only what is named can be compared.
    pub(super) fn refusals(
        &self,
        refusals: &[RefusedUnits],
        (incomplete, alone): (bool, bool),
        found: &mut Found,
    ) {
        let all_known = alone && !incomplete;
        for RefusedUnits { hold, when, kind } in refusals {
            let (promise, wrong) = match kind {
                Kind::Taken { asked, named } => {
                    let wrong = self.wrongly_taken(hold, (*when, incomplete), asked, named);
                    (Promised::Taken, wrong)
                }
                Kind::SoldOut(wish) => {
                    let hall = self.seats.hall.as_ref().filter(|_| all_known);
                    let wrong = hall.is_some_and(|hall| self.could_be_had(hall, hold, *when, wish));
                    (Promised::Taken, wrong.then(|| format!("sold out of {wish:?}")))
                }
                Kind::Refund(units) => {
                    let wrong = all_known && !self.somebody_has_of(hold, *when, units);
                    (Promised::Late, wrong.then(|| format!("a refund for {units:?}")))
                }
            };
            if let Some(wrong) = wrong {
                let evidence = format!("hold {hold} was told at {when:?}: {wrong}");
                found.add(promise, evidence);
            }
        }
    }

    fn wrongly_taken(
        &self,
        hold: &str,
        (when, incomplete): (Bounds, bool),
        asked: &BTreeSet<String>,
        named: &Basket,
    ) -> Option<String> {
        if named.is_empty() {
            return Some("something is taken, and not what".to_owned());
        }
        for seat in named.keys() {
            if !asked.contains(seat) {
                return Some(format!("{seat} is taken, for which it did not ask"));
            }
            if !incomplete && self.of_others(hold, seat, when) == 0 {
                return Some(format!("{seat} is taken, and nobody had it"));
            }
        }
        // An entry has an order of its own: what began or ended in this one may be on either side.
        let covers = |span: &&Span| span.covers(when) && span.begin.hi < when.lo;
        let all = asked.iter().filter(|seat| !named.contains_key(*seat));
        let missed = all.filter(|seat| self.of_unit(seat).iter().any(covers));
        missed.map(|seat| format!("{seat} is not named, and somebody had it")).next()
    }

    fn could_be_had(&self, hall: &HallPlan, hold: &str, when: Bounds, wish: &WishedUnits) -> bool {
        let (area, places) = &hall.area;
        let standing = wish.units.get(area).copied().unwrap_or(0);
        // What the hold has of it already is not to be had either.
        if standing > 0 && self.of_others("", area, when) + standing > *places {
            return false;
        }
        if wish.best == 0 {
            return true;
        }
        let is_free = |seat: &String| {
            !hall.blocked.contains(seat)
                && !wish.units.contains_key(seat)
                && self.of_others(hold, seat, when) == 0
        };
        if wish.apart {
            return hall.seats().filter(|seat| is_free(seat)).count() >= wish.best as usize;
        }
        let mut rows = hall.rows.iter();
        rows.any(|row| row.windows(wish.best as usize).any(|run| run.iter().all(is_free)))
    }

    /// Says whether somebody else may have had one of these.
    fn somebody_has_of(&self, hold: &str, when: Bounds, units: &Basket) -> bool {
        units.iter().any(|(unit, count)| {
            let most = self.seats.most(unit);
            self.of_others(hold, unit, when) + count > most
        })
    }

    /// Checks what the map showed.
    pub(super) fn map(
        &self,
        hall: &HallPlan,
        times: &Times,
        glances: &[Glance],
        found: &mut Found,
    ) {
        for glance in glances {
            let when = times.at(glance.position);
            for (seat, letter) in hall.seats().zip(glance.letters.chars()) {
                let spans = self.of_unit(seat);
                let right = match letter {
                    '.' => !spans.iter().any(|span| span.covers(when)),
                    'h' | 'c' => spans.iter().any(|span| span.may_meet(when)),
                    'b' => hall.blocked.contains(seat),
                    _ => false,
                };
                if !right {
                    let evidence = format!("{seat} is shown as {letter} at {when:?}: {spans:?}");
                    found.add(Promised::Counts, evidence);
                }
            }
            let (area, places) = &hall.area;
            let spans = self.of_unit(area).iter();
            let sure = spans.clone().filter(|span| span.covers(when)).map(|span| span.count).sum();
            let most = spans.filter(|span| span.may_meet(when)).map(|span| span.count).sum();
            let [left, held, confirmed, blocked] = glance.area;
            let given: u32 = held + confirmed;
            let all = left + given + blocked == *places;
            let letters = glance.letters.len() == hall.seats().count();
            if !all || !letters || given < sure || given > most {
                let evidence = format!("{glance:?} at {when:?}, and the area has {sure} to {most}");
                found.add(Promised::Counts, evidence);
            }
        }
    }
}
