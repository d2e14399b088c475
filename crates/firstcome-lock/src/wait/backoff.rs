//! Pauses between attempts, which increase and differ from client to client.

use std::time::Duration;

/// The pauses from one attempt to the next, as factors of the base.
const GROWTH: [f64; 4] = [1.5, 2.0, 2.5, 3.0];

/// How much shorter or longer a pause may be, as a part of it.
const JITTER: [f64; 4] = [0.15, 0.136, 0.125, 0.115];

/// A base of zero would poll without a pause; one of centuries would overflow.
const LEAST_BASE: Duration = Duration::from_millis(1);
const LONGEST_BASE: Duration = Duration::from_secs(3600);

/// Pauses between attempts if there is no message about a release: they increase, with a jitter that decreases.
///
/// The pauses are 1.5, 2, 2.5 and 3 times the base, from then on 3 times, each up to 15, 13.6, 12.5 and 11.5 % shorter
/// or longer. So waiters that began together soon try at different times, and none waits much longer than the others.
#[derive(Debug, Clone)]
pub struct Backoff {
    base: Duration,
    most: Duration,
    tries: Option<u32>,
}

impl Backoff {
    /// Begins with a base, 1 ms to an hour; a value outside counts as the nearest one. The first pause is 1.5 times the base.
    #[must_use]
    pub fn new(base: Duration) -> Self {
        Self { base: base.clamp(LEAST_BASE, LONGEST_BASE), most: Duration::MAX, tries: None }
    }

    /// Sets the longest pause, 1 ms or more; by default 3.4 times the base.
    #[must_use]
    pub fn most(mut self, pause: Duration) -> Self {
        self.most = pause.max(LEAST_BASE);
        self
    }

    /// Ends after this number of pauses; by default there is no end.
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = Some(tries);
        self
    }

    /// Returns the pauses, one after the other.
    pub(crate) fn pauses(&self) -> Pauses {
        Pauses { base: self.base, most: self.most, left: self.tries, done: 0 }
    }
}

impl Default for Backoff {
    /// A base of 50 ms, without an end.
    fn default() -> Self {
        Self::new(Duration::from_millis(50))
    }
}

/// The pauses of a [`Backoff`].
#[derive(Debug, Clone)]
pub(crate) struct Pauses {
    base: Duration,
    most: Duration,
    left: Option<u32>,
    done: usize,
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        let step = self.done.min(GROWTH.len() - 1);
        self.done += 1;
        let swing = JITTER[step] * (2.0 * fastrand::f64() - 1.0);
        let pause = self.base.mul_f64(GROWTH[step] * (1.0 + swing));
        // At the most they differ, too.
        let longest = || self.most.mul_f64(1.0 - JITTER[step] * fastrand::f64());
        Some(if pause > self.most { longest() } else { pause })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_jitter_shrinks() {
        for _ in 0..1000 {
            let pauses = Backoff::new(Duration::from_secs(1)).pauses().take(6);
            let growth = [1.5, 2.0, 2.5, 3.0, 3.0, 3.0];
            let jitter = [0.15, 0.136, 0.125, 0.115, 0.115, 0.115];
            for (pause, (factor, part)) in pauses.zip(growth.into_iter().zip(jitter)) {
                let seconds: f64 = pause.as_secs_f64();
                assert!((seconds / factor - 1.0).abs() <= part + 1e-6, "{seconds} of {factor}");
            }
        }
    }

    #[test]
    fn any_base_can_be_counted_with() {
        for base in [Duration::ZERO, Duration::MAX] {
            for pause in Backoff::new(base).pauses().take(6) {
                assert!(pause >= LEAST_BASE && pause <= LONGEST_BASE * 4, "{base:?}: {pause:?}");
            }
        }
    }

    #[test]
    fn pauses_are_capped() {
        let most = Duration::from_millis(200);
        let backoff = Backoff::new(Duration::from_millis(100)).most(most);
        let pauses: Vec<_> = backoff.pauses().take(50).collect();
        assert!(pauses.iter().all(|pause| *pause <= most));
        assert!(pauses.iter().skip(4).all(|pause| *pause >= most * 8 / 10 && *pause > pauses[0]));
        assert!(backoff.most(Duration::ZERO).pauses().take(5).all(|pause| !pause.is_zero()));
    }

    #[test]
    fn tries_are_capped() {
        assert_eq!(Backoff::default().tries(3).pauses().count(), 3);
        assert_eq!(Backoff::default().tries(0).pauses().count(), 0);
    }
}
