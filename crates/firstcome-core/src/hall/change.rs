//! Changes of seats that are there: another name, grade or price.

use super::settings::{BadSeat, Price, SeatSettings, Unfit};
use super::{Hall, Seat, Unit};
use crate::limits::{GRADES, PRICES};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Changed seats whose numbers are neighbours, kept and written together: with the longest names they fit one piece.
const TOGETHER: u32 = 1_024;

/// What is to be changed of one seat. What is left out stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatChange<'a> {
    pub name: &'a str,
    pub new_name: Option<&'a str>,
    /// Its new grade.
    pub grade: Option<&'a str>,
    /// Its new price.
    pub price: Option<Price>,
}

impl SeatChange<'_> {
    /// Accepts a change whose texts and sizes are within bounds.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), Unfit> {
        SeatSettings::named(self.name).check()?;
        let name = self.new_name.unwrap_or(self.name);
        let (grade, price) = (self.grade.unwrap_or_default(), self.price);
        SeatSettings { grade, price, ..SeatSettings::named(name) }.check()
    }
}

pub(super) type NeighbourNames = BTreeMap<u32, Box<str>>;

/// What was changed of seats since they were added; the runs of seats stay as they were.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    /// How many changes there were.
    pub(super) count: u64,
    /// The names of seats that got another one.
    pub(super) names: BTreeMap<u32, Arc<NeighbourNames>>,
    /// The names with which those were added: each stays its own seat's, as the runs of seats have it.
    former: BTreeSet<Box<str>>,
    /// Seats that may have another grade or price than they were added with.
    pub(super) worth: BTreeSet<u32>,
    /// Grades and prices that came with a change, in that order: they count for the limits of the pool for good.
    pub(super) grades: Vec<Box<str>>,
    pub(super) prices: Vec<Price>,
    /// Bytes of the names.
    bytes: usize,
}

impl Changes {
    /// Returns the name of a seat that got another one.
    pub(super) fn name(&self, seat: u32) -> Option<&str> {
        if self.names.is_empty() {
            return None;
        }
        self.names.get(&(seat / TOGETHER))?.get(&seat).map(|name| &**name)
    }

    /// Says whether a seat that got another name was added with this one.
    pub(super) fn had(&self, name: &str) -> bool {
        self.former.contains(name)
    }

    fn rename(&mut self, seat: u32, added_as: &str, name: &str) {
        if self.former.insert(added_as.into()) {
            self.bytes += added_as.len() + 64;
        }
        let names = Arc::make_mut(self.names.entry(seat / TOGETHER).or_default());
        let before = names.insert(seat, name.into());
        self.bytes += name.len() + before.as_ref().map_or(64, |_| 0);
        self.bytes -= before.map_or(0, |before| before.len());
    }

    pub(super) fn memory(&self) -> usize {
        let texts = self.grades.len() * 96 + self.prices.len() * 24;
        self.bytes + self.worth.len() * 16 + texts
    }

    pub(super) fn walked_memory(&self) -> usize {
        let names = self.names.values().flat_map(|names| names.values());
        let names: usize = names.map(|name| name.len() + 64).sum();
        let texts = self.grades.len() * 96 + self.prices.len() * 24;
        let former: usize = self.former.iter().map(|name| name.len() + 64).sum();
        names + former + self.worth.len() * 16 + texts
    }
}

impl Hall {
    /// Returns how many changes of seats there were: two halls of one history with the same number draw the same map.
    pub fn changes(&self) -> u64 {
        self.changes.count
    }

    /// Changes seats, each by its name: all of them, or none. Gives how many are other than they were.
    ///
    /// Every name is one of a seat. How seats stand is the caller's to look at.
    ///
    /// # Errors
    ///
    /// The first seat that cannot be as it is wanted, and why.
    pub(crate) fn change(&mut self, wanted: &[(u32, SeatChange<'_>)]) -> Result<u32, BadSeat> {
        self.check_changes(wanted)?;
        let mut changed = 0;
        for (seat, change) in wanted {
            let before = self.seat(*seat);
            let other = change.new_name.is_some_and(|name| name != before.name)
                || change.grade.is_some_and(|grade| grade != before.grade)
                || change.price.is_some_and(|price| Some(price) != before.price);
            if other {
                self.change_seat(*seat, change);
                changed += 1;
            }
        }
        if changed > 0 {
            self.changes.count += 1;
            self.count_memory();
        }
        Ok(changed)
    }

    fn check_changes(&self, wanted: &[(u32, SeatChange<'_>)]) -> Result<(), BadSeat> {
        let (mut names, mut grades, mut prices) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut seats = BTreeSet::new();
        for (at, (seat, change)) in wanted.iter().enumerate() {
            let bad = |why| BadSeat { at, area: false, name: change.name.into(), why };
            change.check().map_err(bad)?;
            if !seats.insert(*seat) {
                return Err(bad(Unfit::NameTaken));
            }
            if let Some(name) = change.new_name.filter(|name| *name != change.name)
                && (self.is_given(*seat, name) || !names.insert(name))
            {
                return Err(bad(Unfit::NameTaken));
            }
            grades.extend(change.grade.filter(|grade| self.grades.find(*grade).is_none()));
            if self.grades.len() + grades.len() > GRADES {
                return Err(bad(Unfit::TooMany { what: "grades", most: GRADES }));
            }
            prices.extend(change.price.filter(|price| self.prices.find(&Some(*price)).is_none()));
            if self.prices.len() + prices.len() > PRICES {
                return Err(bad(Unfit::TooMany { what: "prices", most: PRICES }));
            }
        }
        Ok(())
    }

    /// Says whether a name is, or was, that of another unit.
    pub(super) fn is_given(&self, seat: u32, name: &str) -> bool {
        let own = || self.run(seat).name(seat) == name.as_bytes();
        self.find(name).is_some_and(|unit| unit != Unit::Seat(seat))
            || self.changes.had(name) && !own()
    }

    fn change_seat(&mut self, seat: u32, change: &SeatChange<'_>) {
        if let Some(name) = change.new_name {
            self.rename(seat, name);
        }
        if let Some(grade) = change.grade {
            let number = self.changed_grade(grade);
            self.set_grade(seat, number);
        }
        if let Some(price) = change.price {
            let number = self.changed_price(price);
            self.seats[seat as usize].price = number as u16;
        }
        if change.grade.is_some() || change.price.is_some() {
            self.changes.worth.insert(seat);
        }
    }

    pub(super) fn rename(&mut self, seat: u32, name: &str) {
        let before: Box<str> = self.name(Unit::Seat(seat)).into();
        let code = Unit::Seat(seat).code();
        self.names.remove(before.as_bytes(), |known| known == code);
        let added_as = std::str::from_utf8(self.run(seat).name(seat));
        let added_as: Box<str> = added_as.expect("a name is text when it comes in").into();
        self.changes.rename(seat, &added_as, name);
        self.names.set(name.as_bytes(), code, |_| false);
    }

    /// Returns the number of a grade that a change brings.
    pub(super) fn changed_grade(&mut self, grade: &str) -> u32 {
        if self.grades.find(grade).is_none() {
            self.changes.grades.push(grade.into());
        }
        self.grade(grade)
    }

    /// Returns the number of a price that a change brings.
    pub(super) fn changed_price(&mut self, price: Price) -> u32 {
        if self.prices.find(&Some(price)).is_none() {
            self.changes.prices.push(price);
        }
        self.prices.number(&Some(price))
    }

    pub(super) fn set_grade(&mut self, seat: u32, grade: u32) {
        let kind = self.standing(seat).kind();
        let known = &mut self.seats[seat as usize];
        let for_sale = known.is_for_sale();
        let other = Seat { grade: grade as u16, ..*known };
        if self.rows[known.row as usize].is_open(usize::from(known.index)) {
            self.offerable.count(known, false);
            self.offerable.count(&other, true);
        }
        let before = std::mem::replace(known, other).grade;
        self.by_grade[usize::from(before)].leave(1, kind, for_sale);
        self.by_grade[grade as usize].join(1, kind, for_sale);
    }
}
