//! Chooses the best free seats.

use super::{ACCESSIBLE, Criteria, Hall, Kept, Orphans, Price};
use crate::limits::BEST_SEATS;
use std::cell::Cell;
use std::ops::Range;

/// What is asked of the best seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best<'a> {
    /// How many: 1 to [`BEST_SEATS`].
    pub quantity: u32,
    /// Of this grade only.
    pub grade: Option<&'a str>,
    /// At this price only.
    pub price: Option<Price>,
    /// Through this channel: seats of this channel and seats of none. Without one, seats of none.
    pub channel: Option<&'a str>,
    /// Accessible and companion seats, and at least one that is accessible. Otherwise neither.
    pub accessible: bool,
    /// All next to each other, or none.
    pub adjacent: bool,
    /// What becomes of single seats.
    pub orphans: Orphans,
}

impl Best<'_> {
    /// Asks for so many seats, next to each other if that can be.
    pub fn of(quantity: u32) -> Self {
        Self {
            quantity,
            grade: None,
            price: None,
            channel: None,
            accessible: false,
            adjacent: false,
            orphans: Orphans::LastResort,
        }
    }
}

/// Why there is no best choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBest {
    /// Fewer seats that fit are free than were asked for.
    #[error("only {left} seats that fit are free")]
    TooFew {
        /// How many are free.
        left: u32,
    },
    /// As many are free, but not next to each other.
    #[error("as many seats are free, but not next to each other")]
    Apart,
    /// As many are free, but every choice would leave a single seat.
    #[error("every choice would leave a single seat")]
    Orphan,
}

/// What a choice of neighbours is measured by, less is better: the sum of their qualities, and the first of them.
pub(super) type Measure = (u64, u32);

impl Hall {
    /// Returns the best seats, in ascending order of their numbers. All are free, for sale and of no group.
    ///
    /// The first of these steps that finds seats decides:
    ///
    /// 1. seats next to each other in one row that leave no [orphan](Orphans);
    /// 2. with [`Orphans::LastResort`]: seats next to each other in one row;
    /// 3. unless `adjacent`: seats apart, as near to each other as is reasonable, that leave no orphan;
    /// 4. unless `adjacent`, with [`Orphans::LastResort`]: the same, orphans or not.
    ///
    /// With [`Orphans::Allowed`] there are steps 2 and 4 only. Of seats next to each other those are the best whose
    /// qualities add up to least; on a tie, those that were added first.
    ///
    /// The work is bounded by the seats of the hall, and mostly ends with the rows that can still be better.
    ///
    /// # Errors
    ///
    /// Why there is none. A quantity outside 1 to [`BEST_SEATS`] is never to be had.
    pub fn best(&self, ask: &Best<'_>) -> Result<Vec<u32>, NoBest> {
        self.best_but(ask, &[], &Cell::new(0))
    }

    /// Returns the best seats as [`Hall::best`] does, but none that is kept; counts the rows and seats it looks at.
    pub(crate) fn best_but(
        &self,
        ask: &Best<'_>,
        kept: &[Kept],
        looked: &Cell<u32>,
    ) -> Result<Vec<u32>, NoBest> {
        let Some(wanted) = self.wanted(ask, kept, looked) else {
            return Err(NoBest::TooFew { left: 0 });
        };
        if wanted.quantity == 0 || wanted.quantity > BEST_SEATS {
            return Err(NoBest::TooFew { left: self.left(&wanted, usize::MAX) });
        }
        let strict = ask.orphans != Orphans::Allowed;
        let lenient = ask.orphans != Orphans::Never;
        let together = || self.together(&wanted, strict);
        let apart = |strict| self.apart(&wanted, strict);
        let found = together()
            .or_else(|| (strict && lenient).then(|| self.together(&wanted, false)).flatten());
        if let Some(found) = found {
            return Ok(found);
        }
        let found = if ask.adjacent {
            None
        } else {
            apart(strict).or_else(|| (strict && lenient).then(|| apart(false)).flatten())
        };
        if let Some(found) = found {
            return Ok(found);
        }
        let left = self.left(&wanted, wanted.quantity);
        if (left as usize) < wanted.quantity {
            return Err(NoBest::TooFew { left });
        }
        // Every choice leaves an orphan, or there would be one.
        let orphan = !ask.adjacent || (!lenient && self.together(&wanted, false).is_some());
        Err(if orphan { NoBest::Orphan } else { NoBest::Apart })
    }

    /// Translates what is asked, unless it names what the hall does not have.
    pub(super) fn wanted<'a>(
        &self,
        ask: &Best<'_>,
        kept: &'a [Kept],
        looked: &'a Cell<u32>,
    ) -> Option<Criteria<'a>> {
        let grade = match ask.grade {
            Some(grade) => Some(self.grades.find(grade)? as u16),
            None => None,
        };
        let price = match ask.price {
            Some(_) => Some(self.prices.find(&ask.price)? as u16),
            None => None,
        };
        let channel = ask.channel.and_then(|channel| self.channels.find(channel)).unwrap_or(0);
        let (quantity, channel) = (ask.quantity as usize, channel as u16);
        let accessible = ask.accessible;
        Some(Criteria { quantity, grade, price, channel, accessible, kept, looked })
    }

    /// Returns how many seats fit and can be taken, counted up to `enough` or a little beyond; none, if one must be
    /// accessible and none is.
    fn left(&self, wanted: &Criteria<'_>, enough: usize) -> u32 {
        let (mut left, mut accessible) = (0, !wanted.accessible);
        for row in &self.rows {
            let mut from = 0;
            while let Some(run) = row.next_run(from) {
                from = run.end;
                for seat in &row.seats[run] {
                    let seat = &self.seats[*seat as usize];
                    if wanted.fits(seat) {
                        left += 1;
                        accessible |= seat.marks & ACCESSIBLE != 0;
                    }
                }
                if accessible && left as usize >= enough {
                    return left;
                }
            }
        }
        if accessible { left } else { 0 }
    }

    /// Returns the best seats next to each other; with `strict`, of those that leave no orphan.
    pub(super) fn together(&self, wanted: &Criteria<'_>, strict: bool) -> Option<Vec<u32>> {
        let mut best: Option<(Measure, u32, usize)> = None;
        for number in &self.rows_by_best {
            let row = &self.rows[*number as usize];
            // No choice of this row is better than this, nor one of any later row.
            let bound = (u64::from(row.best) * wanted.quantity as u64, row.seats[0]);
            if best.is_some_and(|(key, ..)| key < bound) {
                break;
            }
            wanted.look_at(1);
            if !row.has_run(wanted.quantity) {
                continue;
            }
            let known = best.map(|(key, ..)| key);
            if let Some((key, index)) = self.together_in(*number, wanted, strict, known) {
                best = Some((key, *number, index));
            }
        }
        let (_, row, index) = best?;
        Some(self.rows[row as usize].seats[index..index + wanted.quantity].to_vec())
    }

    /// Returns the best choice in one row that is better than `known`: what it is measured by, and the index of its first seat.
    fn together_in(
        &self,
        number: u32,
        wanted: &Criteria<'_>,
        strict: bool,
        known: Option<Measure>,
    ) -> Option<(Measure, usize)> {
        let row = &self.rows[number as usize];
        let (mut best, mut found, mut from) = (known, None, 0);
        while let Some(run) = row.next_run(from) {
            from = run.end;
            if run.len() < wanted.quantity {
                continue;
            }
            wanted.look_at(run.len());
            if let Some(better) = self.best_window(number, run, wanted, strict, best) {
                (best, found) = (Some(better.0), Some(better));
            }
        }
        found
    }

    /// Returns the best choice of neighbours within a run of open seats, as [`Hall::together_in`] does.
    pub(super) fn best_window(
        &self,
        number: u32,
        run: Range<usize>,
        wanted: &Criteria<'_>,
        strict: bool,
        known: Option<Measure>,
    ) -> Option<(Measure, usize)> {
        let seats = &self.rows[number as usize].seats;
        let seat = |index: usize| &self.seats[seats[index] as usize];
        let (mut best, mut found) = (known, None);
        let (mut fitting, mut sum, mut accessible) = (0, 0, 0);
        for index in run {
            let coming = seat(index);
            if !wanted.fits(coming) {
                (fitting, sum, accessible) = (0, 0, 0);
                continue;
            }
            fitting += 1;
            sum += u64::from(coming.quality);
            accessible += u32::from(coming.marks & ACCESSIBLE);
            if fitting > wanted.quantity {
                let going = seat(index - wanted.quantity);
                sum -= u64::from(going.quality);
                accessible -= u32::from(going.marks & ACCESSIBLE);
            }
            if fitting < wanted.quantity || (wanted.accessible && accessible == 0) {
                continue;
            }
            let first = index + 1 - wanted.quantity;
            let measure = (sum, seats[first]);
            if best.is_none_or(|best| measure < best)
                && !(strict && self.orphans_beside(number, first..index + 1))
            {
                (best, found) = (Some(measure), Some((measure, first)));
            }
        }
        found
    }

    /// Says whether taking a run of seats leaves an orphan at either side.
    fn orphans_beside(&self, row: u32, run: Range<usize>) -> bool {
        let taken = |index: usize| run.contains(&index);
        self.leaves_alone(row, run.start.wrapping_sub(1), taken)
            || self.leaves_alone(row, run.end, taken)
    }
}
