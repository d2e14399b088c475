//! The seats of one pool: seats, areas and groups, and the status of each.
//!
//! It knows nothing of subjects, campaigns or holds beyond one number for each taken seat. Three
//! kinds of units have names of their own: *seats*; *areas* of general admission, which are counted;
//! and *groups* such as tables, whose seats are only taken together.
//!
//! | File | Subject |
//! |---|---|
//! | [`settings`] | what an operator says of seats and areas, and why it may be refused |
//! | `add` | taking them in, all or nothing |
//! | `change` | other names, grades and prices of seats that are there |
//! | [`standing`] | free, held, confirmed, blocked, and their counts |
//! | [`best`] | the best seats there are |
//! | [`orphan`] | the single seat nobody would want |
//! | [`bytes`] | seats and areas in a command |
//! | `waiting` | what there is for those who wait, and what is kept for them |
//! | `freed` | the seats that came free last, for waiting requests |
//! | [`pieces`] | the hall in a snapshot |
//! | [`map`] | everything, for drawing |
//!
//! Every outcome follows from the seats, their standing and the order they were added in; nothing depends on
//! the order of a hash table.

mod add;
mod apart;
pub mod best;
pub mod bytes;
mod change;
mod changed;
mod freed;
mod interned;
mod kept;
pub mod map;
pub mod orphan;
pub mod pieces;
mod row;
mod run;
pub mod settings;
pub mod standing;
mod waiting;

pub use best::{Best, NoBest};
pub use bytes::Chunk;
pub use change::SeatChange;
pub use orphan::Orphans;
pub use settings::{AreaSettings, BadSeat, Price, SeatSettings, Unfit};
pub use standing::{Kind, Standing, Standings, UnitCounts};

use crate::index::SubjectIndex;
use crate::names::PieceName;
use change::Changes;
use freed::Freed;
use interned::Interned;
pub(crate) use kept::Kept;
use row::Row;
use run::SeatRun;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use waiting::Offerable;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// A seat, by its number in the order of adding from 0.
    Seat(u32),
    /// An area, by its number in the order of adding from 0.
    Area(u16),
    /// A group, by its number in the order of its first seat from 0.
    Group(u32),
}

const AREA: u32 = 1 << 31;
const GROUP: u32 = 1 << 30;

impl Unit {
    /// Returns the number the index knows it by.
    fn code(self) -> u32 {
        match self {
            Self::Seat(seat) => seat,
            Self::Area(area) => AREA | u32::from(area),
            Self::Group(group) => GROUP | group,
        }
    }

    fn of(code: u32) -> Self {
        if code & AREA != 0 {
            return Self::Area(code as u16);
        }
        if code & GROUP != 0 { Self::Group(code & !GROUP) } else { Self::Seat(code) }
    }
}

const ACCESSIBLE: u8 = 1;
const COMPANION: u8 = 2;
const FOR_SALE: u8 = 4;
const NO_GROUP: u32 = u32::MAX;

/// What the rules look at of a seat. The rest stays in the bytes of its run.
#[derive(Clone, Copy, Debug)]
struct Seat {
    quality: u32,
    row: u32,
    group: u32,
    /// Its index in the row.
    index: u16,
    grade: u16,
    price: u16,
    channel: u16,
    marks: u8,
}

impl Seat {
    fn is_for_sale(&self) -> bool {
        self.marks & FOR_SALE != 0
    }

    /// Says whether it is neither accessible nor a companion's.
    fn is_ordinary(&self) -> bool {
        self.marks & (ACCESSIBLE | COMPANION) == 0
    }

    fn is_sold_through(&self, channel: u16) -> bool {
        self.channel == 0 || self.channel == channel
    }

    /// Says whether it can be taken by itself when it is free.
    fn is_single(&self) -> bool {
        self.is_for_sale() && self.group == NO_GROUP
    }
}

#[derive(Clone, Debug)]
struct Group {
    name: Box<str>,
    seats: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Area {
    name: Box<str>,
    grade: u32,
    price: u32,
    channel: u32,
    for_sale: bool,
    extra: Box<[u8]>,
    counts: UnitCounts,
}

/// The seats, areas and groups of one pool.
#[derive(Debug)]
pub struct Hall {
    runs: Vec<Arc<SeatRun>>,
    seats: Vec<Seat>,
    standings: Standings,
    rows: Vec<Row>,
    /// For each section, its rows by name.
    rows_by_name: Vec<BTreeMap<Box<str>, u32>>,
    /// Rows by their best seat, then by their first.
    rows_by_best: Vec<u32>,
    sections: Interned<Box<str>>,
    grades: Interned<Box<str>>,
    channels: Interned<Box<str>>,
    prices: Interned<Option<Price>>,
    groups: Vec<Group>,
    areas: Vec<Area>,
    names: SubjectIndex,
    counts: UnitCounts,
    by_grade: Vec<UnitCounts>,
    offerable: Offerable,
    /// Where the last run came from while a hall is being restored.
    last_piece: Option<PieceName>,
    freed: Freed,
    changes: Changes,
    /// Bytes of what only changes when seats are added.
    added: usize,
}

impl Default for Hall {
    fn default() -> Self {
        Self::new()
    }
}

impl Hall {
    /// Creates a hall with nothing in it.
    pub fn new() -> Self {
        Self {
            runs: Vec::new(),
            seats: Vec::new(),
            standings: Standings::default(),
            rows: Vec::new(),
            rows_by_name: vec![BTreeMap::new()],
            rows_by_best: Vec::new(),
            sections: Interned::new("".into()),
            grades: Interned::new("".into()),
            channels: Interned::new("".into()),
            prices: Interned::new(None),
            groups: Vec::new(),
            areas: Vec::new(),
            names: SubjectIndex::new(),
            counts: UnitCounts::default(),
            by_grade: vec![UnitCounts::default()],
            offerable: Offerable::default(),
            last_piece: None,
            freed: Freed::default(),
            changes: Changes::default(),
            added: 0,
        }
    }

    /// Returns the unit of a name.
    pub fn find(&self, name: &str) -> Option<Unit> {
        let is = |code: u32| self.name_bytes(Unit::of(code)) == name.as_bytes();
        self.names.find(name.as_bytes(), is).map(Unit::of)
    }

    /// Says whether a unit has a name, or had it before it was changed.
    pub fn has_named(&self, name: &str) -> bool {
        self.find(name).is_some() || self.changes.had(name)
    }

    /// Returns the name of a unit.
    ///
    /// # Panics
    ///
    /// There is no such unit. That goes for every method that takes a seat, an area or a group.
    pub fn name(&self, unit: Unit) -> &str {
        std::str::from_utf8(self.name_bytes(unit)).expect("a name is text when it comes in")
    }

    /// Returns how many seats there are; they are numbered from 0 in the order of adding.
    pub fn seats(&self) -> u32 {
        self.seats.len() as u32
    }

    /// Returns how many areas there are.
    pub fn areas(&self) -> u16 {
        self.areas.len() as u16
    }

    /// Returns how many groups there are.
    pub fn groups(&self) -> u32 {
        self.groups.len() as u32
    }

    /// Returns a seat as it is now.
    pub fn seat(&self, seat: u32) -> SeatSettings<'_> {
        let known = &self.seats[seat as usize];
        let row = &self.rows[known.row as usize];
        let own = self.run(seat).own(seat);
        SeatSettings {
            section: self.sections.get(row.section),
            row: &row.name,
            quality: known.quality,
            grade: self.grades.get(u32::from(known.grade)),
            price: *self.prices.get(u32::from(known.price)),
            channel: self.channels.get(u32::from(known.channel)),
            accessible: known.marks & ACCESSIBLE != 0,
            companion: known.marks & COMPANION != 0,
            for_sale: known.is_for_sale(),
            group: self.groups.get(known.group as usize).map_or("", |group| &*group.name),
            name: self.changes.name(seat).unwrap_or(own.name),
            ..own
        }
    }

    /// Returns an area as it was added.
    pub fn area(&self, area: u16) -> AreaSettings<'_> {
        let known = &self.areas[usize::from(area)];
        AreaSettings {
            name: &known.name,
            capacity: known.counts.all(),
            grade: self.grades.get(known.grade),
            price: *self.prices.get(known.price),
            channel: self.channels.get(known.channel),
            for_sale: known.for_sale,
            extra: &known.extra,
        }
    }

    /// Returns the seats of a group, in the order of adding.
    pub fn group(&self, group: u32) -> &[u32] {
        &self.groups[group as usize].seats
    }

    /// Returns the group a seat is sold with.
    pub fn group_of(&self, seat: u32) -> Option<u32> {
        Some(self.seats[seat as usize].group).filter(|group| *group != NO_GROUP)
    }

    /// Says whether a seat is sold at all. It says nothing of how it stands.
    pub fn is_for_sale(&self, seat: u32) -> bool {
        self.seats[seat as usize].is_for_sale()
    }

    /// Returns the grade of a seat.
    pub fn grade_of(&self, seat: u32) -> &str {
        self.grades.get(u32::from(self.seats[seat as usize].grade))
    }

    /// Returns the price of a seat.
    pub fn price_of(&self, seat: u32) -> Option<Price> {
        *self.prices.get(u32::from(self.seats[seat as usize].price))
    }

    /// Returns the channel of a seat; empty if it is sold through any.
    pub fn channel_of(&self, seat: u32) -> &str {
        self.channels.get(u32::from(self.seats[seat as usize].channel))
    }

    /// Says whether any seat or area is sold through a channel only: that never changes once it was added.
    pub fn has_channel(&self, channel: &str) -> bool {
        self.channels.find(channel).is_some()
    }

    /// Returns how a seat stands.
    pub fn standing(&self, seat: u32) -> Standing {
        self.standings.get(seat)
    }

    /// Sets how a seat stands, whatever it was before.
    ///
    /// For a seat of a group it is up to the caller to do the same with the whole group.
    pub fn set(&mut self, seat: u32, standing: Standing) {
        let known = self.seats[seat as usize];
        let before = self.standings.set(seat, standing).kind();
        let (after, for_sale) = (standing.kind(), known.is_for_sale());
        self.counts.shift(1, before, after, for_sale);
        self.by_grade[usize::from(known.grade)].shift(1, before, after, for_sale);
        if after == Kind::Free && before != Kind::Free {
            self.freed.push(seat);
        }
        let open = after == Kind::Free && known.is_single();
        if self.rows[known.row as usize].set_open(usize::from(known.index), open) {
            self.offerable.count(&known, open);
        }
    }

    /// Returns how many seats came free since this node put the hall together: for [`Hall::freed_since`].
    pub fn freed(&self) -> u64 {
        self.freed.count()
    }

    /// Returns the seats that came free after [`Hall::freed`] gave a count, in that order; some may be taken again.
    /// None if there were too many since, or the count is of another hall.
    pub fn freed_since(&self, count: u64) -> Option<impl Iterator<Item = u32>> {
        self.freed.since(count)
    }

    /// Returns how many units of an area stand how.
    pub fn area_counts(&self, area: u16) -> UnitCounts {
        self.areas[usize::from(area)].counts
    }

    /// Makes some units of an area stand otherwise; changes nothing and says no if there are not that many to change.
    ///
    /// Whether the area is for sale is the caller's to look at.
    #[must_use]
    pub fn shift(&mut self, area: u16, count: u32, from: Kind, to: Kind) -> bool {
        let known = &mut self.areas[usize::from(area)];
        if *known.counts.of(from) < count {
            return false;
        }
        let for_sale = known.for_sale;
        let grade = &mut self.by_grade[known.grade as usize];
        for counts in [&mut known.counts, grade, &mut self.counts] {
            counts.shift(count, from, to, for_sale);
        }
        true
    }

    /// Returns how many units of the whole hall stand how, those of areas among them.
    pub fn counts(&self) -> UnitCounts {
        self.counts
    }

    /// Returns how many units of a grade stand how, those of areas among them.
    pub fn grade_counts(&self, grade: &str) -> UnitCounts {
        self.grades.find(grade).map_or_else(UnitCounts::default, |n| self.by_grade[n as usize])
    }

    /// Gives each grade with its counts, in the order of their names.
    pub fn grades(&self) -> impl Iterator<Item = (&str, UnitCounts)> {
        let grades = self.grades.iter().map(|(name, n)| (&**name, self.by_grade[n as usize]));
        grades.filter(|(_, counts)| counts.all() > 0)
    }

    /// Returns about how many bytes of memory the hall takes, as of the last seats that were added.
    pub fn memory(&self) -> usize {
        self.added + self.standings.memory() + self.names.memory() + self.changes.memory()
    }

    /// Returns [`Hall::memory`] by looking at every row.
    pub(crate) fn walked_memory(&self) -> usize {
        let named = self.names.walked_memory() + self.changes.walked_memory();
        self.added_memory() + self.standings.memory() + named
    }

    /// Counts the bytes once more after seats were added.
    pub(crate) fn count_memory(&mut self) {
        self.added = self.added_memory();
    }

    fn added_memory(&self) -> usize {
        let runs: usize = self.runs.iter().map(|run| run.memory()).sum();
        let rows: usize = self.rows.iter().map(|row| row.memory() + size_of::<Row>()).sum();
        let groups: usize = self.groups.iter().map(|g| g.seats.capacity() * 4 + 64).sum();
        let areas: usize = self.areas.iter().map(|a| a.extra.len() + size_of::<Area>() + 64).sum();
        let seats = self.seats.capacity() * size_of::<Seat>();
        let texts = self.sections.len() + self.grades.len() + self.channels.len();
        let counts = self.by_grade.capacity() * (20 + 24 + (self.channels.len() + 1) * 4);
        let interned = (texts + self.prices.len()) * 96 + counts;
        let rows_named = self.rows.len() * (4 + 48);
        runs + rows + rows_named + groups + areas + seats + interned
    }

    fn run(&self, seat: u32) -> &SeatRun {
        let after = self.runs.partition_point(|run| run.first <= seat);
        &self.runs[after - 1]
    }

    fn name_bytes(&self, unit: Unit) -> &[u8] {
        match unit {
            Unit::Seat(seat) => match self.changes.name(seat) {
                Some(name) => name.as_bytes(),
                None => self.run(seat).name(seat),
            },
            Unit::Area(area) => self.areas[usize::from(area)].name.as_bytes(),
            Unit::Group(group) => self.groups[group as usize].name.as_bytes(),
        }
    }
}

/// What is asked of the best seats, in the numbers that the hall has for names.
#[derive(Clone, Copy, Debug)]
struct Criteria<'a> {
    quantity: usize,
    grade: Option<u16>,
    price: Option<u16>,
    channel: u16,
    accessible: bool,
    /// What is kept for others.
    kept: &'a [Kept],
    /// Counts rows and seats that are looked at.
    looked: &'a Cell<u32>,
}

impl Criteria<'_> {
    /// Says whether a seat that can be taken fits.
    fn fits(&self, seat: &Seat) -> bool {
        self.accessible != seat.is_ordinary()
            && self.grade.is_none_or(|grade| grade == seat.grade)
            && self.price.is_none_or(|price| price == seat.price)
            && seat.is_sold_through(self.channel)
            && !self.kept.iter().any(|kept| kept.has(seat))
    }
}
