//! How often a request is sent again, and after which pauses.

use std::time::Duration;

/// How a request is sent again that got no answer to rely on.
///
/// Only what changes nothing twice is sent again; see [`Client`](crate::Client). The pause before a retry grows from
/// [`first`](Retry::first) to [`most`](Retry::most), twice as long each time, less a random part of up to a half. Where the
/// server says how long to wait, it is at least that. There is no pause before another server is tried that was not tried
/// in this round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    first: Duration,
    most: Duration,
    attempts: u32,
}

impl Default for Retry {
    /// Pauses from 50 ms to 2 s, as often as the deadline of the call lets it.
    fn default() -> Self {
        Self { first: Duration::from_millis(50), most: Duration::from_secs(2), attempts: u32::MAX }
    }
}

impl Retry {
    /// Sends every request once.
    pub fn never() -> Self {
        Self::default().attempts(1)
    }

    /// Sets the first pause: at least 1 ms.
    #[must_use]
    pub fn first(self, first: Duration) -> Self {
        Self { first: first.max(Duration::from_millis(1)), ..self }
    }

    /// Sets the longest pause; it is not shorter than the first.
    #[must_use]
    pub fn most(self, most: Duration) -> Self {
        Self { most, ..self }
    }

    /// Sets how often a request is sent at most, the first time included: at least 1.
    #[must_use]
    pub fn attempts(self, attempts: u32) -> Self {
        Self { attempts: attempts.max(1), ..self }
    }

    /// Whether so many attempts are all.
    pub(crate) fn is_over(&self, attempts: u32) -> bool {
        attempts >= self.attempts
    }

    /// Returns the pause after so many rounds, the first one is 1; `random` is 0 to 1.
    pub(crate) fn pause(&self, round: u32, random: f64) -> Duration {
        let doubled = 1_u32.checked_shl(round.saturating_sub(1)).unwrap_or(u32::MAX);
        let pause = self.first.saturating_mul(doubled).min(self.most.max(self.first));
        pause.mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_the_longest_and_a_random_part_is_less() {
        let retry = Retry::default().most(Duration::from_millis(300));
        let pauses = [1, 2, 3, 4, 5, 40, u32::MAX].map(|round| retry.pause(round, 0.0).as_millis());
        assert_eq!(pauses, [50, 100, 200, 300, 300, 300, 300]);
        assert_eq!(retry.pause(2, 1.0), Duration::from_millis(50));
        let short = Retry::default().first(Duration::from_secs(5)).most(Duration::ZERO);
        assert_eq!(short.pause(3, 0.0), Duration::from_secs(5));
        assert!(Retry::never().is_over(1) && !Retry::default().is_over(1_000));
    }
}
