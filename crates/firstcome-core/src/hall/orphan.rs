//! The orphan rule: no single seat is left that nobody would want.

use super::{Criteria, Hall};
use std::cell::Cell;

/// What is said to a choice of seats that leaves an orphan.
///
/// An *orphan* is a single free seat with nobody's to its left and right, which had a free neighbour before. Precisely: seats of a
/// row that are next to each other, free, for sale, of one grade, and neither accessible, a companion's nor part of a group form a
/// *stretch*. Everything else ends a stretch, as the ends of the row do: seats that are held, confirmed, blocked or
/// not for sale, seats of another grade, accessible and companion seats, and groups. A choice leaves an orphan where it makes a
/// stretch of one seat out of a longer one. So to take a whole stretch, or a single seat that is one already, is always fine;
/// accessible seats and groups neither become orphans nor make any.
///
/// The meaning is that of seats.io's `noOrphanSeats`
/// (<https://docs.seats.io/docs/renderer/config-selectionvalidators/>), which goes by categories as this goes by grades.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Orphans {
    Never,
    /// Only if as many seats, next to each other, are nowhere to be had without. This is what seats.io does.
    #[default]
    LastResort,
    /// As many as you like.
    Allowed,
}

impl Hall {
    /// Returns the first seat, by number, that taking these would leave as an orphan; `taken` in any order, all free.
    ///
    /// With [`Orphans::LastResort`] it is excused if as many adjacent seats cannot be had without: seats of the same
    /// grade, if these are of one, and sold through the same channel as the first of these that has one.
    pub fn orphan(&self, taken: &[u32], orphans: Orphans) -> Option<u32> {
        if orphans == Orphans::Allowed {
            return None;
        }
        let index = |seat: &u32| (self.seats[*seat as usize].row, self.seats[*seat as usize].index);
        let mut seats: Vec<(u32, u16)> = taken.iter().map(index).collect();
        seats.sort_unstable();
        let beside = |(row, index): &(u32, u16)| {
            let (row, index) = (*row, usize::from(*index));
            let taken = |row: u32, index: usize| seats.binary_search(&(row, index as u16)).is_ok();
            let left = [index.wrapping_sub(1), index + 1]
                .into_iter()
                .filter(|index| self.leaves_alone(row, *index, |index| taken(row, index)));
            left.map(|index| self.rows[row as usize].seats[index]).min()
        };
        let orphan = seats.iter().filter_map(beside).min()?;
        if orphans == Orphans::LastResort
            && self.together(&self.like(taken, &Cell::new(0)), true).is_none()
        {
            return None;
        }
        Some(orphan)
    }

    /// Says whether a free seat would lose its last free neighbour if others of its row were taken.
    pub(super) fn leaves_alone(
        &self,
        row: u32,
        index: usize,
        taken: impl Fn(usize) -> bool,
    ) -> bool {
        let Some(grade) = self.stretch(row, index).filter(|_| !taken(index)) else { return false };
        let with = |index: &usize| self.stretch(row, *index) == Some(grade);
        let mut neighbours = [index.wrapping_sub(1), index + 1].into_iter().filter(with).peekable();
        neighbours.peek().is_some() && neighbours.all(taken)
    }

    /// Returns the grade of the stretch that a seat of a row is in, if it is in one.
    pub(super) fn stretch(&self, row: u32, index: usize) -> Option<u16> {
        let row = &self.rows[row as usize];
        let seat = row.seats.get(index).filter(|_| row.is_open(index))?;
        let seat = &self.seats[*seat as usize];
        seat.is_ordinary().then_some(seat.grade)
    }

    /// Returns what as many seats like these would be.
    fn like<'a>(&self, taken: &[u32], looked: &'a Cell<u32>) -> Criteria<'a> {
        let mut taken: Vec<u32> = taken.to_vec();
        taken.sort_unstable();
        let seats = || taken.iter().map(|seat| &self.seats[*seat as usize]);
        let grade = seats().next().map(|seat| seat.grade);
        Criteria {
            quantity: taken.len(),
            grade: grade.filter(|grade| seats().all(|seat| seat.grade == *grade)),
            price: None,
            channel: seats().map(|seat| seat.channel).find(|channel| *channel != 0).unwrap_or(0),
            accessible: false,
            kept: &[],
            looked,
        }
    }
}
