//! Which seats fit a search for the best ones.

use super::Seat;

/// What is asked of the best seats, in the numbers that the hall has for names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Criteria {
    pub(super) quantity: usize,
    pub(super) grade: Option<u16>,
    pub(super) price: Option<u16>,
    pub(super) channel: u16,
    pub(super) accessible: bool,
}

impl Criteria {
    /// Says whether a seat that can be taken fits.
    pub(super) fn fits(&self, seat: &Seat) -> bool {
        self.accessible != seat.is_ordinary()
            && self.grade.is_none_or(|grade| grade == seat.grade)
            && self.price.is_none_or(|price| price == seat.price)
            && (seat.channel == 0 || seat.channel == self.channel)
    }
}
