//! What was seen before: conditions that come and go, and counts that are said once a minute.

use std::time::Duration;
use tokio::time::Instant;

/// The least time between two lines about a count.
const EVERY: Duration = Duration::from_secs(60);

/// A condition that may be bad: bad is said at once, good when it has been so for a while.
#[derive(Debug)]
pub(super) struct Debounced {
    good_for: Duration,
    /// Since when it is bad, as was said.
    bad: Option<Instant>,
    /// Since when it is good, though bad was said.
    good: Option<Instant>,
    lasted: Duration,
}

impl Debounced {
    pub(super) fn new(good_for: Duration) -> Self {
        Self { good_for, bad: None, good: None, lasted: Duration::ZERO }
    }

    /// Returns what is to be said: that it is bad now, or not any more.
    pub(super) fn sees(&mut self, is_bad: bool) -> Option<bool> {
        let now = Instant::now();
        let Some(bad) = self.bad else {
            self.bad = is_bad.then_some(now);
            return is_bad.then_some(true);
        };
        if is_bad {
            self.good = None;
            return None;
        }
        let good = *self.good.get_or_insert(now);
        if now - good < self.good_for {
            return None;
        }
        (self.lasted, self.bad, self.good) = (good - bad, None, None);
        Some(false)
    }

    /// Returns how long it was bad the last time.
    pub(super) fn lasted(&self) -> Duration {
        self.lasted
    }
}

/// A count: a log line gives the number since the last line, at most once a minute.
#[derive(Debug, Default)]
pub(super) struct Counted {
    told: u64,
    said: Option<Instant>,
}

impl Counted {
    /// Returns how many there were since the last line, if a line is due.
    pub(super) fn due(&mut self, count: u64, at_end: bool) -> Option<u64> {
        let is_late = self.said.is_none_or(|said| said.elapsed() >= EVERY);
        let untold = count.saturating_sub(self.told);
        if untold == 0 || !is_late && !at_end {
            return None;
        }
        (self.told, self.said) = (count, Some(Instant::now()));
        Some(untold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn what_comes_and_goes_is_said_once_until_it_stays_away() {
        let mut seen = Debounced::new(Duration::from_secs(2));
        assert_eq!(seen.sees(false), None);
        assert_eq!(seen.sees(true), Some(true));
        for _ in 0..10 {
            advance(Duration::from_secs(1)).await;
            assert_eq!(seen.sees(false), None);
            assert_eq!(seen.sees(true), None);
        }
        assert_eq!(seen.sees(false), None);
        advance(Duration::from_secs(2)).await;
        assert_eq!(seen.sees(false), Some(false));
        assert_eq!(seen.lasted(), Duration::from_secs(10));
        assert_eq!(seen.sees(false), None);
        assert_eq!(seen.sees(true), Some(true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_count_is_said_once_a_minute_and_nothing_of_it_is_left_out() {
        let mut counted = Counted::default();
        assert_eq!(counted.due(0, false), None);
        assert_eq!(counted.due(3, false), Some(3));
        assert_eq!(counted.due(1_000, false), None);
        advance(Duration::from_secs(59)).await;
        assert_eq!(counted.due(2_000, false), None);
        advance(Duration::from_secs(1)).await;
        assert_eq!(counted.due(2_003, false), Some(2_000));
        assert_eq!(counted.due(2_003, true), None);
        assert_eq!(counted.due(2_004, true), Some(1));
    }
}
