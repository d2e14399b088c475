//! Adds seats and areas, all or none.

use super::row::Row;
use super::run::SeatRun;
use super::settings::{AreaSettings, BadSeat, SeatSettings, Unfit};
use super::standing::UnitCounts;
use super::{ACCESSIBLE, Area, COMPANION, FOR_SALE, Group, Hall, NO_GROUP, Price, Seat, Unit};
use crate::limits::{
    AREAS, CHANNELS, CHUNK_SEATS, GRADES, GROUP_SEATS, PRICES, ROW_SEATS, SEATS, SECTIONS,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a chunk would add, as far as the limits ask.
#[derive(Default)]
struct Coming<'a> {
    names: BTreeSet<&'a str>,
    sections: BTreeSet<&'a str>,
    grades: BTreeSet<&'a str>,
    channels: BTreeSet<&'a str>,
    prices: BTreeSet<Price>,
    /// Seats for each row, without those that are in `row`.
    rows: BTreeMap<(&'a str, &'a str), usize>,
    row: Option<ComingRow<'a>>,
    groups: BTreeMap<&'a str, usize>,
    /// Seats, and places of areas.
    units: u64,
}

/// The row of the seat looked at last: neighbours are mostly given together, so few seats need a search.
struct ComingRow<'a> {
    name: (&'a str, &'a str),
    /// Seats that are in it already.
    there: usize,
    more: usize,
}

impl Hall {
    /// Adds seats and areas: all of them, or none.
    ///
    /// The seats are numbered on from those that are there, in the order given.
    ///
    /// # Errors
    ///
    /// The first seat, then the first area, that is not acceptable, and why.
    pub fn add(
        &mut self,
        seats: &[SeatSettings<'_>],
        areas: &[AreaSettings<'_>],
    ) -> Result<(), BadSeat> {
        self.check(seats, areas)?;
        self.seats.reserve_exact(seats.len());
        let mut before: Option<(&SeatSettings<'_>, u32)> = None;
        for seat in seats {
            let same = before.filter(|(before, _)| {
                !seat.row.is_empty() && (before.section, before.row) == (seat.section, seat.row)
            });
            let row = same.map_or_else(|| self.row(seat), |(_, row)| row);
            self.add_seat(seat, row);
            before = Some((seat, row));
        }
        for area in areas {
            self.add_area(area);
        }
        let first = |row: u32| self.rows[row as usize].seats[0];
        let new = self.rows_by_best.len() as u32..self.rows.len() as u32;
        self.rows_by_best.extend(new);
        // What was in order already costs little to sort again.
        self.rows_by_best.sort_by_key(|row| (self.rows[*row as usize].best, first(*row)));
        self.count_memory();
        Ok(())
    }

    fn check(&self, seats: &[SeatSettings<'_>], areas: &[AreaSettings<'_>]) -> Result<(), BadSeat> {
        let mut coming = Coming::default();
        for seat in seats.iter().filter(|seat| !seat.group.is_empty()) {
            coming.groups.insert(seat.group, 0);
        }
        for (at, seat) in seats.iter().enumerate() {
            let bad = |why| BadSeat { at, area: false, name: seat.name.into(), why };
            let before = at.checked_sub(1).map(|before| &seats[before]);
            self.check_seat(at, seat, before, &mut coming).map_err(bad)?;
        }
        for (at, area) in areas.iter().enumerate() {
            let bad = |why| BadSeat { at, area: true, name: area.name.into(), why };
            self.check_area(at, area, &mut coming).map_err(bad)?;
        }
        Ok(())
    }

    /// Refuses with the first that applies: chunk full, its own bounds, name taken, group's name taken, group not
    /// free, then each limit of the pool.
    fn check_seat<'a>(
        &self,
        at: usize,
        seat: &SeatSettings<'a>,
        before: Option<&SeatSettings<'a>>,
        coming: &mut Coming<'a>,
    ) -> Result<(), Unfit> {
        if at >= CHUNK_SEATS {
            return Err(Unfit::ChunkFull);
        }
        seat.check()?;
        self.check_name(seat.name, coming)?;
        if !seat.group.is_empty() {
            self.check_group(seat.group, coming)?;
        }
        at_most("seats", SEATS, self.seats.len() + at + 1)?;
        // What the seat before it has was looked at with that one.
        if before.is_none_or(|before| before.section != seat.section) {
            if self.sections.find(seat.section).is_none() {
                coming.sections.insert(seat.section);
            }
            at_most("sections", SECTIONS, self.sections.len() + coming.sections.len())?;
        }
        let shared = |seat: &SeatSettings<'a>| (seat.grade, seat.channel, seat.price);
        if before.is_none_or(|before| shared(before) != shared(seat)) {
            self.check_shared(seat.grade, seat.channel, seat.price, coming)?;
        }
        if !seat.row.is_empty() {
            let row = self.coming_row((seat.section, seat.row), coming);
            row.more += 1;
            at_most("seats in one row", ROW_SEATS, row.there + row.more)?;
        }
        self.check_units(1, coming)
    }

    /// Returns the row of the seat that is looked at, with the seats that came for it so far.
    fn coming_row<'a, 'c>(
        &self,
        name: (&'a str, &'a str),
        coming: &'c mut Coming<'a>,
    ) -> &'c mut ComingRow<'a> {
        let row = match coming.row.take() {
            Some(row) if row.name == name => row,
            before => {
                if let Some(before) = before {
                    coming.rows.insert(before.name, before.more);
                }
                let there = self.row_named(name.0, name.1).map_or(0, |row| row.seats.len());
                ComingRow { name, there, more: coming.rows.get(&name).copied().unwrap_or_default() }
            }
        };
        coming.row.insert(row)
    }

    fn check_area<'a>(
        &self,
        at: usize,
        area: &AreaSettings<'a>,
        coming: &mut Coming<'a>,
    ) -> Result<(), Unfit> {
        area.check()?;
        self.check_name(area.name, coming)?;
        at_most("areas", AREAS, self.areas.len() + at + 1)?;
        self.check_shared(area.grade, area.channel, area.price, coming)?;
        self.check_units(area.capacity, coming)
    }

    /// Units are counted in 32 bits, all of a pool together: one more would end every node that applies it.
    fn check_units(&self, units: u32, coming: &mut Coming<'_>) -> Result<(), Unfit> {
        coming.units += u64::from(units);
        let all = u64::from(self.counts.all()) + coming.units;
        let most = u32::MAX;
        if all > u64::from(most) {
            return Err(Unfit::TooMany { what: "units", most: most as usize });
        }
        Ok(())
    }

    fn check_name<'a>(&self, name: &'a str, coming: &mut Coming<'a>) -> Result<(), Unfit> {
        let taken = coming.groups.contains_key(name) || !coming.names.insert(name);
        let taken = taken || self.find(name).is_some() || self.changes.had(name);
        if taken { Err(Unfit::NameTaken) } else { Ok(()) }
    }

    fn check_group<'a>(&self, name: &'a str, coming: &mut Coming<'a>) -> Result<(), Unfit> {
        let there: &[u32] = match self.find(name) {
            None if self.changes.had(name) => return Err(Unfit::GroupNameTaken),
            None => &[],
            Some(Unit::Group(group)) => self.group(group),
            Some(Unit::Seat(_) | Unit::Area(_)) => return Err(Unfit::GroupNameTaken),
        };
        if !there.iter().all(|seat| self.standing(*seat).is_free()) {
            return Err(Unfit::GroupNotFree);
        }
        let more = coming.groups.entry(name).or_default();
        *more += 1;
        at_most("seats in one group", GROUP_SEATS, there.len() + *more)
    }

    fn check_shared<'a>(
        &self,
        grade: &'a str,
        channel: &'a str,
        price: Option<Price>,
        coming: &mut Coming<'a>,
    ) -> Result<(), Unfit> {
        if self.grades.find(grade).is_none() {
            coming.grades.insert(grade);
        }
        at_most("grades", GRADES, self.grades.len() + coming.grades.len())?;
        if self.channels.find(channel).is_none() {
            coming.channels.insert(channel);
        }
        at_most("channels", CHANNELS, self.channels.len() + coming.channels.len())?;
        if let Some(new) = price.filter(|_| self.prices.find(&price).is_none()) {
            coming.prices.insert(new);
        }
        at_most("prices", PRICES, self.prices.len() + coming.prices.len())
    }

    fn row_named(&self, section: &str, row: &str) -> Option<&Row> {
        let section = self.sections.find(section)?;
        let row = self.rows_by_name[section as usize].get(row)?;
        self.rows.get(*row as usize)
    }

    fn add_seat(&mut self, wanted: &SeatSettings<'_>, row: u32) {
        let seat = self.seats.len() as u32;
        self.push_to_run(wanted, seat);
        let group = if wanted.group.is_empty() { NO_GROUP } else { self.add_group(wanted.group) };
        if let Some(group) = self.groups.get_mut(group as usize) {
            group.seats.push(seat);
        }
        let grade = self.grade(wanted.grade);
        let mut marks = 0;
        for (yes, mark) in [
            (wanted.accessible, ACCESSIBLE),
            (wanted.companion, COMPANION),
            (wanted.for_sale, FOR_SALE),
        ] {
            marks |= if yes { mark } else { 0 };
        }
        let of_row = &mut self.rows[row as usize];
        let index = of_row.seats.len();
        of_row.push(seat, wanted.quality);
        let known = Seat {
            quality: wanted.quality,
            row,
            group,
            index: index as u16,
            grade: grade as u16,
            price: self.prices.number(&wanted.price) as u16,
            channel: self.channels.number(wanted.channel) as u16,
            marks,
        };
        if of_row.set_open(index, known.is_single()) {
            self.offerable.count(&known, true);
        }
        self.seats.push(known);
        self.standings.push();
        self.counts.come(1, wanted.for_sale);
        self.by_grade[grade as usize].come(1, wanted.for_sale);
        self.point(wanted.name, Unit::Seat(seat));
    }

    fn add_area(&mut self, wanted: &AreaSettings<'_>) {
        let grade = self.grade(wanted.grade);
        let mut counts = UnitCounts::default();
        for counts in [&mut counts, &mut self.by_grade[grade as usize], &mut self.counts] {
            counts.come(wanted.capacity, wanted.for_sale);
        }
        let area = Unit::Area(self.areas.len() as u16);
        self.areas.push(Area {
            name: wanted.name.into(),
            grade,
            price: self.prices.number(&wanted.price),
            channel: self.channels.number(wanted.channel),
            for_sale: wanted.for_sale,
            extra: wanted.extra.into(),
            counts,
        });
        self.point(wanted.name, area);
    }

    fn add_group(&mut self, name: &str) -> u32 {
        if let Some(Unit::Group(group)) = self.find(name) {
            return group;
        }
        let group = self.groups.len() as u32;
        self.groups.push(Group { name: name.into(), seats: Vec::new() });
        self.point(name, Unit::Group(group));
        group
    }

    pub(super) fn grade(&mut self, name: &str) -> u32 {
        let grade = self.grades.number(name);
        self.by_grade.resize(self.grades.len() + 1, UnitCounts::default());
        grade
    }

    /// Returns the row a seat goes to. A seat without one gets a row of its own.
    fn row(&mut self, seat: &SeatSettings<'_>) -> u32 {
        let section = self.sections.number(seat.section);
        let new = self.rows.len() as u32;
        self.rows_by_name.resize_with(self.sections.len() + 1, BTreeMap::new);
        let named = &mut self.rows_by_name[section as usize];
        if let Some(row) = named.get(seat.row) {
            return *row;
        }
        if !seat.row.is_empty() {
            named.insert(seat.row.into(), new);
        }
        self.rows.push(Row::new(seat.row, section));
        new
    }

    fn push_to_run(&mut self, wanted: &SeatSettings<'_>, seat: u32) {
        if !self.runs.last().is_some_and(|run| run.has_room(wanted)) {
            self.begin_run(seat);
        }
        let open = self.runs.last_mut().expect("one was begun");
        // A snapshot under way may hold the open run: then this copies it, 256 KiB at most.
        Arc::make_mut(open).push(wanted);
    }

    /// Seals the last run, if there is one, and begins the next.
    pub(super) fn begin_run(&mut self, seat: u32) {
        if let Some(full) = self.runs.last_mut() {
            Arc::make_mut(full).seal();
        }
        self.runs.push(Arc::new(SeatRun::new(seat)));
    }

    fn point(&mut self, name: &str, unit: Unit) {
        // It is new: nothing that is there has its name.
        let before = self.names.set(name.as_bytes(), unit.code(), |_| false);
        assert!(before.is_none(), "a name is given once");
    }
}

fn at_most(what: &'static str, most: usize, would_be: usize) -> Result<(), Unfit> {
    if would_be > most { Err(Unfit::TooMany { what, most }) } else { Ok(()) }
}
