//! Holds against each other: who had what when.

use super::super::heard::{Basket, Glance, Wish};
use super::super::house::{FLOOR, House};
use super::walk::{Kind, Refusal};
use super::{Bounds, Breach, Promise, Span, Times};
use std::collections::{BTreeMap, BTreeSet};

/// Who had which unit, from when until when.
pub(super) struct Crossing<'a> {
    house: &'a House,
    by_unit: BTreeMap<&'a str, Vec<&'a Span>>,
}

impl<'a> Crossing<'a> {
    pub(super) fn of(house: &'a House, spans: &'a [Span]) -> Self {
        let mut by_unit = BTreeMap::<&str, Vec<&Span>>::new();
        for span in spans {
            by_unit.entry(&span.unit).or_default().push(span);
        }
        Self { house, by_unit }
    }

    fn of_unit(&self, unit: &str) -> &[&'a Span] {
        self.by_unit.get(unit).map_or(&[][..], Vec::as_slice)
    }

    /// Checks that no seat had two owners at a time, and the floor no more than it has places.
    pub(super) fn owners(&self, found: &mut Vec<Breach>) {
        for (unit, spans) in &self.by_unit {
            let known = *unit == FLOOR || self.house.seats().any(|seat| seat == unit);
            if !known || self.house.pillars.iter().any(|pillar| pillar == unit) {
                let evidence = format!("{unit} is not for sale, and {} had it", spans[0].hold);
                found.push(Breach { promise: Promise::OneOwner, evidence });
            }
            let most = if *unit == FLOOR { self.house.floor } else { 1 };
            for span in spans {
                // Right after it began, whoever had it for certain.
                let begun = Bounds { lo: span.begin.hi, hi: span.begin.hi };
                let have: Vec<_> = spans.iter().filter(|other| other.covers(begun)).collect();
                let given: u32 = have.iter().map(|other| other.count).sum();
                if given > most {
                    let who: Vec<_> = have.iter().map(|other| (&other.hold, other.end)).collect();
                    let evidence = format!("{given} of {unit} were had at {begun:?} by {who:?}");
                    found.push(Breach { promise: Promise::OneOwner, evidence });
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
    pub(super) fn refusals(&self, refusals: &[Refusal], found: &mut Vec<Breach>) {
        for Refusal { hold, when, kind } in refusals {
            let (promise, wrong) = match kind {
                Kind::Taken { asked, named } => {
                    (Promise::Taken, self.wrongly_taken(hold, *when, asked, named))
                }
                Kind::SoldOut(wish) => {
                    let wrong = self.could_be_had(hold, *when, wish);
                    (Promise::Taken, wrong.then(|| format!("sold out of {wish:?}")))
                }
                Kind::Refund(units) => {
                    let wrong = !self.somebody_has_of(hold, *when, units);
                    (Promise::Refunds, wrong.then(|| format!("a refund for {units:?}")))
                }
            };
            if let Some(wrong) = wrong {
                let evidence = format!("hold {hold} was told at {when:?}: {wrong}");
                found.push(Breach { promise, evidence });
            }
        }
    }

    fn wrongly_taken(
        &self,
        hold: &str,
        when: Bounds,
        asked: &BTreeSet<String>,
        named: &Basket,
    ) -> Option<String> {
        if named.is_empty() {
            return Some("something is taken, and not what".to_owned());
        }
        for seat in named.keys() {
            if !asked.contains(seat) || self.of_others(hold, seat, when) == 0 {
                return Some(format!("{seat} is taken, and nobody had it"));
            }
        }
        // An entry has an order of its own: what began or ended in this one may be on either side.
        let covers = |span: &&Span| span.covers(when) && span.begin.hi < when.lo;
        let all = asked.iter().filter(|seat| !named.contains_key(*seat));
        let missed = all.filter(|seat| self.of_unit(seat).iter().any(covers));
        missed.map(|seat| format!("{seat} is not named, and somebody had it")).next()
    }

    fn could_be_had(&self, hold: &str, when: Bounds, wish: &Wish) -> bool {
        let floor = wish.units.get(FLOOR).copied().unwrap_or(0);
        // What the hold has of it already is not to be had either.
        if floor > 0 && self.of_others("", FLOOR, when) + floor > self.house.floor {
            return false;
        }
        if wish.best == 0 {
            return true;
        }
        let is_free = |seat: &String| {
            !self.house.pillars.contains(seat)
                && !wish.units.contains_key(seat)
                && self.of_others(hold, seat, when) == 0
        };
        if wish.apart {
            return self.house.seats().filter(|seat| is_free(seat)).count() >= wish.best as usize;
        }
        let mut rows = self.house.rows.iter();
        rows.any(|row| row.windows(wish.best as usize).any(|run| run.iter().all(is_free)))
    }

    /// Says whether somebody else may have had one of these.
    fn somebody_has_of(&self, hold: &str, when: Bounds, units: &Basket) -> bool {
        units.iter().any(|(unit, count)| {
            let most = if unit == FLOOR { self.house.floor } else { 1 };
            self.of_others(hold, unit, when) + count > most
        })
    }

    /// Checks what the map showed.
    pub(super) fn map(&self, times: &Times, glances: &[Glance], found: &mut Vec<Breach>) {
        for glance in glances {
            let when = times.at(glance.position);
            let seats = self.house.seats().zip(glance.letters.chars());
            for (seat, letter) in seats {
                let spans = self.of_unit(seat);
                let right = match letter {
                    '.' => !spans.iter().any(|span| span.covers(when)),
                    'h' | 'c' => spans.iter().any(|span| span.may_meet(when)),
                    'b' => self.house.pillars.contains(seat),
                    _ => false,
                };
                if !right {
                    let evidence = format!("{seat} is shown as {letter} at {when:?}: {spans:?}");
                    found.push(Breach { promise: Promise::Map, evidence });
                }
            }
            let spans = self.of_unit(FLOOR).iter();
            let sure = spans.clone().filter(|span| span.covers(when)).map(|span| span.count).sum();
            let most = spans.filter(|span| span.may_meet(when)).map(|span| span.count).sum();
            let [left, held, confirmed, blocked] = glance.floor;
            let given: u32 = held + confirmed;
            let all = left + given + blocked == self.house.floor;
            let letters = glance.letters.len() == self.house.seats().count();
            if !all || !letters || given < sure || given > most {
                let evidence =
                    format!("{glance:?} at {when:?}, and the floor has {sure} to {most}");
                found.push(Breach { promise: Promise::Map, evidence });
            }
        }
    }
}
