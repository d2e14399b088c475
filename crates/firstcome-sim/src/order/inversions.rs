//! How far ranks follow the order in which claims arrived at the servers.

use std::time::Duration;

/// The neighbours by rank of which the better rank arrived later.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inversions {
    /// Pairs of claims with ranks next to each other.
    pub pairs: usize,
    /// By how much the better rank arrived later, for each pair that is inverted, in order of size.
    late: Vec<Duration>,
}

impl Inversions {
    /// Counts the inversions of claims, each with its rank and the time when it arrived at its server.
    pub fn count(mut claims: Vec<(u32, Duration)>) -> Self {
        claims.sort_unstable();
        let neighbours =
            || claims.windows(2).filter(|pair| pair[0].0.checked_add(1) == Some(pair[1].0));
        let mut late: Vec<Duration> =
            neighbours().filter_map(|pair| pair[0].1.checked_sub(pair[1].1)).collect();
        late.retain(|late| !late.is_zero());
        late.sort_unstable();
        Self { pairs: neighbours().count(), late }
    }

    /// The share of all pairs that is inverted, 0 to 1.
    pub fn share(&self) -> f64 {
        self.late.len() as f64 / self.pairs.max(1) as f64
    }

    /// By how much the better rank arrived later at most, in this share of the inverted pairs, in milliseconds.
    pub fn late_ms(&self, share: f64) -> f64 {
        let Some(last) = self.late.len().checked_sub(1) else { return 0.0 };
        self.late[(last as f64 * share) as usize].as_secs_f64() * 1e3
    }
}
