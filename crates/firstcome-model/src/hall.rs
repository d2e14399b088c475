//! The model's seat map: the owner of each seat, and the best and the single seats, found by trying everything.

use firstcome_core::command::{BestPick, Wish};
use firstcome_core::hall::{AreaSettings, SeatSettings};
use std::collections::{BTreeMap, BTreeSet};

/// Which unit of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unit {
    /// One of a counted pool.
    Counted,
    /// A seat, by its index in the order of adding.
    Seat(usize),
    /// A unit of an area, by the area's index in the order of adding.
    Area(usize),
}

/// Whose a seat is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeatOwner {
    Nobody,
    /// That of a live hold, by its index in the campaign's list.
    Hold(usize),
    /// That of a claim, by its rank.
    Rank(u32),
    /// An operator keeps it back.
    Kept,
}

#[derive(Clone, Debug)]
pub(crate) struct Seat<'a> {
    pub(crate) said: SeatSettings<'a>,
    /// The name it was added with.
    pub(crate) added_as: &'a str,
    /// The names that it had before, the first one first.
    pub(crate) names_before: Vec<&'a str>,
    /// Whether it stands in a result.
    pub(crate) had: bool,
    pub(crate) owner: SeatOwner,
}

#[derive(Clone, Debug)]
pub(crate) struct Area<'a> {
    pub(crate) said: AreaSettings<'a>,
    pub(crate) held: u32,
    pub(crate) given: u32,
    pub(crate) kept: u32,
}

impl Area<'_> {
    pub(crate) fn free(&self) -> u32 {
        self.said.capacity - self.held - self.given - self.kept
    }
}

/// What a name is the name of.
#[derive(Clone, Debug)]
pub(crate) enum Named {
    Seat(usize),
    Group(Vec<usize>),
    Area(usize),
}

/// The seats and areas of a pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hall<'a> {
    pub(crate) seats: Vec<Seat<'a>>,
    pub(crate) areas: Vec<Area<'a>>,
}

impl<'a> Hall<'a> {
    pub(crate) fn find(&self, name: &str) -> Option<Named> {
        if let Some(seat) = self.seats.iter().position(|seat| seat.said.name == name) {
            return Some(Named::Seat(seat));
        }
        if let Some(area) = self.areas.iter().position(|area| area.said.name == name) {
            return Some(Named::Area(area));
        }
        let seats = self.seats.iter().enumerate();
        let group: Vec<usize> =
            seats.filter(|(_, seat)| seat.said.group == name).map(|(at, _)| at).collect();
        (!group.is_empty() && !name.is_empty()).then_some(Named::Group(group))
    }

    pub(crate) fn name(&self, unit: Unit) -> Option<&'a str> {
        match unit {
            Unit::Counted => None,
            Unit::Seat(seat) => Some(self.seats[seat].said.name),
            Unit::Area(area) => Some(self.areas[area].said.name),
        }
    }

    pub(crate) fn grade(&self, unit: Unit) -> Option<&'a str> {
        match unit {
            Unit::Counted => None,
            Unit::Seat(seat) => Some(self.seats[seat].said.grade),
            Unit::Area(area) => Some(self.areas[area].said.grade),
        }
    }

    /// Says whether any seat or area is of a grade.
    pub(crate) fn has_grade(&self, grade: &str) -> bool {
        let seats = self.seats.iter().any(|seat| seat.said.grade == grade);
        seats || self.areas.iter().any(|area| area.said.grade == grade)
    }

    /// Says whether any seat or area is sold through a channel.
    pub(crate) fn has_channel(&self, channel: &str) -> bool {
        let seats = self.seats.iter().any(|seat| seat.said.channel == channel);
        seats || self.areas.iter().any(|area| area.said.channel == channel)
    }

    pub(crate) fn is_free(&self, seat: usize) -> bool {
        self.seats[seat].owner == SeatOwner::Nobody
    }

    /// Says whether a subject that names it may have it, if it is free: not what is kept back, not sold, or sold
    /// through another channel.
    pub(crate) fn is_sold(&self, seat: usize, channel: Option<&str>) -> bool {
        let said = &self.seats[seat].said;
        let through = said.channel.is_empty() || Some(said.channel) == channel;
        said.for_sale && through && self.seats[seat].owner != SeatOwner::Kept
    }

    /// Says whether a seat can be taken by itself now.
    fn is_open(&self, seat: usize) -> bool {
        let said = &self.seats[seat].said;
        self.is_free(seat) && said.for_sale && said.group.is_empty()
    }

    /// Says whether a seat, once it is free, may be for somebody who waits with this wish.
    pub(crate) fn is_for(&self, seat: usize, wish: &Wish<'_>) -> bool {
        let said = &self.seats[seat].said;
        let through = said.channel.is_empty() || Some(said.channel) == wish.channel;
        let single = said.for_sale && said.group.is_empty();
        let grade = wish.grade.is_none_or(|grade| grade == said.grade);
        single && through && grade && self.is_ordinary(seat)
    }

    fn is_ordinary(&self, seat: usize) -> bool {
        let said = &self.seats[seat].said;
        !said.accessible && !said.companion
    }

    /// Returns the seats row by row; one without a row is by itself.
    fn rows(&self) -> Vec<Vec<usize>> {
        let mut rows: BTreeMap<(&str, &str, usize), Vec<usize>> = BTreeMap::new();
        for (at, seat) in self.seats.iter().enumerate() {
            let alone = if seat.said.row.is_empty() { at + 1 } else { 0 };
            rows.entry((seat.said.section, seat.said.row, alone)).or_default().push(at);
        }
        rows.into_values().collect()
    }

    /// Returns the seats that are a stretch of one once these are taken: free ordinary seats of one grade next to each
    /// other form a stretch.
    fn single(&self, taken: &[usize]) -> BTreeSet<usize> {
        let mut single = BTreeSet::new();
        for row in self.rows() {
            let within =
                |at: usize| self.is_open(at) && self.is_ordinary(at) && !taken.contains(&at);
            let same = |one: usize, other: usize| {
                within(other) && self.seats[one].said.grade == self.seats[other].said.grade
            };
            for (unit, at) in row.iter().enumerate().filter(|(_, at)| within(**at)) {
                let left = unit.checked_sub(1).map(|left| row[left]);
                let right = row.get(unit + 1).copied();
                if ![left, right].into_iter().flatten().any(|beside| same(*at, beside)) {
                    single.insert(*at);
                }
            }
        }
        single
    }

    /// Returns the single seats that taking these makes.
    fn orphans(&self, taken: &[usize]) -> Vec<usize> {
        let before = self.single(&[]);
        self.single(taken).into_iter().filter(|seat| !before.contains(seat)).collect()
    }

    /// Returns the first single seat that taking these makes, unless as many like them are nowhere to be had without.
    pub(crate) fn orphan(&self, taken: &[usize]) -> Option<usize> {
        let orphan = self.orphans(taken).into_iter().next()?;
        let mut taken = taken.to_vec();
        taken.sort_unstable();
        let said = |at: &usize| &self.seats[*at].said;
        let grade = said(&taken[0]).grade;
        let like = BestPick {
            count: u32::try_from(taken.len()).unwrap_or(u32::MAX),
            grade: taken.iter().all(|at| said(at).grade == grade).then_some(grade),
            price: None,
            adjacent: true,
            accessible: false,
        };
        let channel = taken.iter().map(|at| said(at).channel).find(|channel| !channel.is_empty());
        self.neighbours(&like, channel, true).map(|_| orphan)
    }

    /// Returns the best seats, next to each other.
    ///
    /// Nobody in these worlds asks for several that may be apart: which they get then is not written down.
    pub(crate) fn best(
        &self,
        best: &BestPick<'_>,
        channel: Option<&str>,
        allow_orphans: bool,
    ) -> Option<Vec<usize>> {
        assert!(best.adjacent || best.count == 1, "only neighbours are asked for");
        let whole = (!allow_orphans).then(|| self.neighbours(best, channel, true)).flatten();
        whole.or_else(|| self.neighbours(best, channel, false))
    }

    /// Returns those neighbours whose qualities add up to least, the first ones on a tie; `whole`: only such as leave
    /// nobody alone.
    fn neighbours(
        &self,
        best: &BestPick<'_>,
        channel: Option<&str>,
        whole: bool,
    ) -> Option<Vec<usize>> {
        let fits = |at: &usize| {
            let said = &self.seats[*at].said;
            self.is_open(*at)
                && self.is_ordinary(*at) != best.accessible
                && best.grade.is_none_or(|grade| grade == said.grade)
                && best.price.is_none_or(|price| Some(price) == said.price)
                && (said.channel.is_empty() || Some(said.channel) == channel)
        };
        let count = usize::try_from(best.count).unwrap_or(usize::MAX);
        let mut found: Option<(u64, Vec<usize>)> = None;
        for row in self.rows() {
            for choice in row.windows(count).filter(|choice| choice.iter().all(fits)) {
                let accessible = choice.iter().any(|at| self.seats[*at].said.accessible);
                if best.accessible && !accessible || whole && !self.orphans(choice).is_empty() {
                    continue;
                }
                let quality = choice.iter().map(|at| u64::from(self.seats[*at].said.quality)).sum();
                let better =
                    |(known, seats): &(u64, Vec<usize>)| (quality, choice[0]) < (*known, seats[0]);
                if found.as_ref().is_none_or(better) {
                    found = Some((quality, choice.to_vec()));
                }
            }
        }
        found.map(|(_, seats)| seats)
    }
}
