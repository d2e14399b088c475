//! What people want of seats, and what they do.

use std::time::Duration;

/// What people do, as shares of all of them, 0 to 1; those who do none of it pay in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// Choose seats on the map; the others ask for the best.
    pub browse: f64,
    /// Leave without a word while they hold seats.
    pub abandon: f64,
    /// Say that the seats are not wanted.
    pub give_back: f64,
    /// Pay when their hold is over.
    pub late: f64,
    /// Ask for more than one may have.
    pub greedy: f64,
    /// Pay twice.
    pub repeat: f64,
}

impl Default for Shares {
    fn default() -> Self {
        Self { browse: 0.5, abandon: 0.1, give_back: 0.05, late: 0.1, greedy: 0.05, repeat: 0.2 }
    }
}

/// What people want of seats, and what they do.
#[derive(Debug)]
pub struct Seats {
    /// The names of the seats of the pool by rows, as far as people may choose among them.
    pub rows: Vec<Vec<String>>,
    /// Units one subject may have, if the campaign says so.
    pub limit: Option<u32>,
    /// How long a hold lasts.
    pub hold: Duration,
    /// What they do.
    pub shares: Shares,
    /// After so long everybody who comes pays in time, so that the seats run out.
    pub all_pay_after: Option<Duration>,
}
