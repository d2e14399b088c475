//! A sample venue for demonstrations and load tests: three sections, rows with grades and prices.

use serde_json::{Value, json};

/// One seat of the sample venue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VenueSeat {
    /// Section, row and number, such as `B3-12`.
    pub name: String,
    /// `A`, `B` or `C`.
    pub section: &'static str,
    /// Counted from the stage, from 1.
    pub row: String,
    /// Counted within section and row, from 1.
    pub number: String,
    /// How good it is, 0 best: by rows.
    pub quality: u32,
    /// `R`, `S` or `A`.
    pub grade: &'static str,
    /// In cents.
    pub price_minor: i64,
    /// Where it is drawn.
    pub x: u16,
    /// Where it is drawn.
    pub y: u16,
}

/// The fewest seats a venue has, so that every section has some in every row.
pub const LEAST: u32 = 40;

/// Makes a venue of so many seats, at least [`LEAST`], the best first.
pub fn venue(seats: u32) -> Vec<VenueSeat> {
    let seats = seats.max(LEAST);
    let rows = seats.div_ceil(25).clamp(4, 24);
    let mut made = Vec::with_capacity(seats as usize);
    for row in 0..rows {
        let in_row = seats / rows + u32::from(row < seats % rows);
        let side = in_row * 3 / 10;
        let (grade, price_minor) = match row * 3 / rows {
            0 => ("R", 9_000),
            1 => ("S", 6_000),
            _ => ("A", 4_000),
        };
        let mut x = 0;
        for (section, width) in [("A", side), ("B", in_row - 2 * side), ("C", side)] {
            for number in 1..=width {
                made.push(VenueSeat {
                    name: format!("{section}{}-{number}", row + 1),
                    section,
                    row: (row + 1).to_string(),
                    number: number.to_string(),
                    quality: row,
                    grade,
                    price_minor,
                    x,
                    y: u16::try_from(row).expect("there are few rows"),
                });
                x = x.saturating_add(1);
            }
            x = x.saturating_add(2);
        }
    }
    made
}

impl VenueSeat {
    /// The seat as it travels over HTTP.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name, "section": self.section, "row": self.row, "number": self.number,
            "x": self.x, "y": self.y, "quality": self.quality, "grade": self.grade,
            "price_minor": self.price_minor, "currency": "EUR",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_venue_has_as_many_seats_as_asked_for_and_each_name_once() {
        for seats in [40, 41, 300, 301, 2_000] {
            let venue = venue(seats);
            assert_eq!(venue.len() as u32, seats);
            let names: std::collections::BTreeSet<_> =
                venue.iter().map(|seat| &seat.name).collect();
            assert_eq!(names.len() as u32, seats);
        }
    }

    #[test]
    fn three_hundred_seats_stand_in_twelve_rows_of_three_sections() {
        let venue = venue(300);
        let rows: std::collections::BTreeSet<_> = venue.iter().map(|seat| &seat.row).collect();
        let sections: std::collections::BTreeSet<_> =
            venue.iter().map(|seat| seat.section).collect();
        let grades: std::collections::BTreeSet<_> = venue.iter().map(|seat| seat.grade).collect();
        assert_eq!((rows.len(), sections.len(), grades.len()), (12, 3, 3));
    }
}
