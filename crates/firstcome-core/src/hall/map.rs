//! Lists all seats and areas, for drawing a map.

use super::{Hall, Kind, Standings};

/// A row as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowView<'a> {
    pub section: &'a str,
    /// Its name; empty for a seat that has no row.
    pub name: &'a str,
    /// Its seats, in their order.
    pub seats: &'a [u32],
}

impl Hall {
    /// Returns the rows in the order of their first seats; a seat without a row is one of its own.
    pub fn rows(&self) -> impl Iterator<Item = RowView<'_>> {
        self.rows.iter().map(|row| RowView {
            section: self.sections.get(row.section),
            name: &row.name,
            seats: &row.seats,
        })
    }

    /// Returns the status of every seat, to read it after the seat map has changed.
    ///
    /// Costs a count for each 4,096 seats; this number is copied when one of them changes while a reader has this.
    pub fn standings(&self) -> Standings {
        self.standings.clone()
    }

    /// Returns how every seat stands in one letter a seat, in the order of adding: `.` free, `-` not for sale, `h` held,
    /// `c` confirmed, `b` blocked.
    pub fn letters(&self) -> impl Iterator<Item = u8> {
        (0..self.seats()).map(|seat| self.letter(seat))
    }

    /// Returns how a seat stands in one letter, as [`Hall::letters`] does.
    pub fn letter(&self, seat: u32) -> u8 {
        self.standing(seat).kind().letter(self.is_for_sale(seat))
    }
}

impl Kind {
    /// Returns the letter a map has for a seat of this kind.
    pub fn letter(self, for_sale: bool) -> u8 {
        match self {
            Self::Free if for_sale => b'.',
            Self::Free => b'-',
            Self::Held => b'h',
            Self::Confirmed => b'c',
            Self::Blocked => b'b',
        }
    }
}
