//! The venue at one moment, as it is shown.

use std::time::Duration;

use crate::terminal::RowOfSeats;

/// How many seats have which status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeatCounts {
    pub free: u64,
    pub held: u64,
    pub confirmed: u64,
    pub blocked: u64,
}

impl SeatCounts {
    /// All seats.
    pub fn all(&self) -> u64 {
        self.free + self.held + self.confirmed + self.blocked
    }

    /// Seats that can be sold: all but the blocked ones.
    pub fn for_sale(&self) -> u64 {
        self.all() - self.blocked
    }

    /// Whether nobody can get a seat any more.
    pub fn sold_out(&self) -> bool {
        self.free == 0 && self.held == 0
    }
}

/// The venue at one moment.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// Since the opening.
    pub elapsed: Duration,
    /// How many seats have which status, seat by seat.
    pub counts: SeatCounts,
    /// How many holds are live.
    pub holds: u64,
    /// How many people have come.
    pub guests: u32,
    /// The status of every seat.
    pub rows: Vec<RowOfSeats>,
}

/// Is called with what happens while it happens.
pub trait Observer: Sync {
    /// Something happened.
    fn say(&self, what: &str);
    /// The venue as it is now, about ten times a second.
    fn frame(&self, now: &Frame);
}
