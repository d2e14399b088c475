//! Everything in a hall, for whoever draws it.

use super::{Hall, Standing};

/// A row as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowView<'a> {
    /// The section it is in.
    pub section: &'a str,
    /// Its name; empty for a seat that has no row.
    pub name: &'a str,
    /// Its seats, in their order.
    pub seats: &'a [u32],
}

impl Hall {
    /// Gives the rows in the order of their first seats; a seat without a row is one of its own.
    pub fn rows(&self) -> impl Iterator<Item = RowView<'_>> {
        self.rows.iter().map(|row| RowView {
            section: self.sections.get(row.section),
            name: &row.name,
            seats: &row.seats,
        })
    }

    /// Gives how every seat stands in one letter a seat, in the order of adding: `.` free, `-` not for sale, `h` held,
    /// `c` confirmed, `b` blocked.
    pub fn letters(&self) -> impl Iterator<Item = u8> {
        (0..self.seats()).map(|seat| self.letter(seat))
    }

    /// Gives how a seat stands in one letter, as [`Hall::letters`] does.
    pub fn letter(&self, seat: u32) -> u8 {
        match self.standing(seat) {
            Standing::Free if self.is_for_sale(seat) => b'.',
            Standing::Free => b'-',
            Standing::Held(_) => b'h',
            Standing::Confirmed(_) => b'c',
            Standing::Blocked => b'b',
        }
    }
}
