//! Seats that are kept for those who wait.

use super::{Hall, Seat};

/// Seats that are kept for those who wait: of a grade, or of any, and sold through this channel or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kept {
    pub(super) grade: Option<u16>,
    pub(super) channel: u16,
}

impl Kept {
    pub(super) fn has(&self, seat: &Seat) -> bool {
        seat.is_single()
            && seat.is_ordinary()
            && self.grade.is_none_or(|grade| grade == seat.grade)
            && seat.is_sold_through(self.channel)
    }
}

impl Hall {
    /// Returns what a wish for seats of a grade through a channel keeps from others; nothing, if the hall has no such grade.
    pub(crate) fn keeps(&self, grade: Option<&str>, channel: Option<&str>) -> Option<Kept> {
        let grade = match grade {
            Some(grade) => Some(self.grades.find(grade)? as u16),
            None => None,
        };
        let channel = channel.and_then(|channel| self.channels.find(channel)).unwrap_or(0);
        Some(Kept { grade, channel: channel as u16 })
    }

    /// Says whether a seat, once it is free, is among those that are kept.
    pub(crate) fn is_kept(&self, seat: u32, kept: Kept) -> bool {
        kept.has(&self.seats[seat as usize])
    }
}
