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
    /// All there is in the pool, where nobody else has any of it: then people also stand in the area, change their holds,
    /// and pay in part, and the map, the counts and every refusal are compared with it.
    pub hall: Option<HallPlan>,
}

impl Seats {
    /// Returns how many may have a unit at a time.
    pub(super) fn most(&self, unit: &str) -> u32 {
        let area = self.hall.as_ref().map(|hall| &hall.area).filter(|(name, _)| name == unit);
        area.map_or(1, |(_, places)| *places)
    }
}

/// All there is in a pool; any seats in it can be had together.
#[derive(Debug, Clone)]
pub struct HallPlan {
    /// Its seats by rows, in the order of the map.
    pub rows: Vec<Vec<String>>,
    /// Seats that nobody may have.
    pub blocked: Vec<String>,
    /// The name of its area, and the places there.
    pub area: (String, u32),
    /// How long a hold can be extended to.
    pub longest: Duration,
}

impl HallPlan {
    /// Returns all seats, as the map has them.
    pub(super) fn seats(&self) -> impl Iterator<Item = &String> {
        self.rows.iter().flatten()
    }

    /// Returns how many units there are.
    pub(super) fn capacity(&self) -> u64 {
        self.seats().count() as u64 + u64::from(self.area.1)
    }

    /// Whether anybody may have a unit.
    pub(super) fn sells(&self, unit: &str) -> bool {
        let seat = |name: &String| name == unit;
        (unit == self.area.0 || self.seats().any(seat)) && !self.blocked.iter().any(seat)
    }
}
