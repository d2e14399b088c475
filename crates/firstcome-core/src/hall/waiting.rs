//! Seats for those who wait: how many there can be, the best where something came free, and what is kept from others.
//!
//! A wish is for *offerable* seats: free, for sale, of no group, and neither accessible nor a companion's.

use super::best::Measure;
use super::{Best, Criteria, Hall, Kept, Orphans, Seat, Unit};
use std::cell::Cell;

/// How many seats are offerable, by grade and channel.
#[derive(Debug, Default)]
pub(super) struct Offerable(Vec<Vec<u32>>);

impl Offerable {
    /// Counts a seat that became offerable, or is so no more.
    pub(super) fn count(&mut self, seat: &Seat, comes: bool) {
        if !seat.is_ordinary() {
            return;
        }
        let (grade, channel) = (usize::from(seat.grade), usize::from(seat.channel));
        if self.0.len() <= grade {
            self.0.resize_with(grade + 1, Vec::new);
        }
        let of_grade = &mut self.0[grade];
        if of_grade.len() <= channel {
            of_grade.resize(channel + 1, 0);
        }
        if comes {
            of_grade[channel] += 1;
        } else {
            of_grade[channel] -= 1;
        }
    }

    /// Returns how many there are of a grade, or of any, that are sold through this channel or any.
    fn sum(&self, grade: Option<u16>, channel: u16) -> u32 {
        let of = |channels: &Vec<u32>| {
            let of = |channel: u16| channels.get(usize::from(channel)).copied().unwrap_or(0);
            of(0) + if channel > 0 { of(channel) } else { 0 }
        };
        match grade {
            Some(grade) => self.0.get(usize::from(grade)).map_or(0, of),
            None => self.0.iter().map(of).sum(),
        }
    }
}

impl Hall {
    /// Returns the area of a name, if somebody can have places of it through a channel.
    pub(crate) fn area_through(&self, name: &str, channel: Option<&str>) -> Option<u16> {
        let Some(Unit::Area(area)) = self.find(name) else { return None };
        let known = &self.areas[usize::from(area)];
        let through = known.channel == 0 || channel == Some(self.channels.get(known.channel));
        (known.for_sale && through).then_some(area)
    }

    /// Says whether two seats are for the same wishes.
    pub(crate) fn are_like(&self, one: u32, other: u32) -> bool {
        let what = |seat: u32| {
            let seat = &self.seats[seat as usize];
            (seat.grade, seat.channel, seat.is_single(), seat.is_ordinary())
        };
        what(one) == what(other)
    }

    /// Returns how many seats somebody who waits can have of a grade, or of any, and through a channel.
    pub(crate) fn offerable(&self, grade: Option<&str>, channel: Option<&str>) -> u32 {
        let kept = self.keeps(grade, channel);
        kept.map_or(0, |Kept { grade, channel }| self.offerable.sum(grade, channel))
    }

    /// Returns the best seats next to each other among which is one of these, as [`Hall::best`] chooses.
    ///
    /// Where all others are known not to do, these are the best of all.
    pub(crate) fn best_near(
        &self,
        ask: &Best<'_>,
        seats: impl Iterator<Item = u32> + Clone,
        looked: &Cell<u32>,
    ) -> Option<Vec<u32>> {
        let wanted = self.wanted(ask, &[], looked)?;
        let near = |strict| {
            let mut best: Option<(Measure, u32, usize)> = None;
            for seat in seats.clone() {
                let Seat { row, index, .. } = self.seats[seat as usize];
                let around =
                    self.rows[row as usize].run_around(usize::from(index), wanted.quantity - 1);
                wanted.look_at(1 + around.len());
                let known = best.map(|(measure, ..)| measure);
                if let Some((measure, first)) =
                    self.best_window(row, around, &wanted, strict, known)
                {
                    best = Some((measure, row, first));
                }
            }
            let (_, row, first) = best?;
            Some(self.rows[row as usize].seats[first..first + wanted.quantity].to_vec())
        };
        let strict = ask.orphans != Orphans::Allowed;
        near(strict).or_else(|| strict.then(|| near(false)).flatten())
    }
}

impl Criteria<'_> {
    /// Counts rows and seats that are looked at.
    pub(super) fn look_at(&self, many: usize) {
        self.looked.set(self.looked.get().saturating_add(many as u32));
    }
}
