//! A circuit breaker: after enough failures in a row nobody is asked, but for one probe now and then.

use std::time::Duration;
use tokio::time::Instant;

/// The state of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Everybody may call.
    Closed,
    /// Nobody may.
    Open,
    /// One is calling, to see.
    HalfOpen,
}

/// That a call was let through, and whether it is the one that is made to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    probe: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen,
}

/// Counts failures in a row. The caller gives the time: it reads no clock.
#[derive(Debug)]
pub struct Breaker {
    failures: u32,
    probe_every: Duration,
    state: State,
}

impl Breaker {
    /// Begins closed; opens after so many failures in a row, never if that is zero, and then lets one
    /// probe through each `probe_every`.
    pub fn new(failures: u32, probe_every: Duration) -> Self {
        Self { failures, probe_every, state: State::Closed { failures: 0 } }
    }

    /// Lets a call through, or gives how long nobody may.
    ///
    /// Each pass has to be given back: as [`succeeded`](Self::succeeded), [`failed`](Self::failed)
    /// or [`gone`](Self::gone).
    ///
    /// # Errors
    ///
    /// The time until the next probe; while one is under way, the time between probes.
    pub fn admit(&mut self, now: Instant) -> Result<Pass, Duration> {
        match self.state {
            State::Closed { .. } => Ok(Pass { probe: false }),
            State::Open { until } if now < until => Err(until - now),
            State::Open { .. } => {
                self.state = State::HalfOpen;
                Ok(Pass { probe: true })
            }
            State::HalfOpen => Err(self.probe_every),
        }
    }

    /// The call was answered. What was sent before the breaker opened does not close it.
    pub fn succeeded(&mut self, pass: Pass) {
        let counts = matches!(self.state, State::Closed { .. });
        if pass.probe || counts {
            self.state = State::Closed { failures: 0 };
        }
    }

    /// The call was not answered, or wrongly.
    pub fn failed(&mut self, pass: Pass, now: Instant) {
        let opens = match &mut self.state {
            State::Closed { failures } => {
                *failures = failures.saturating_add(1);
                self.failures > 0 && *failures >= self.failures
            }
            State::HalfOpen => pass.probe,
            State::Open { .. } => false,
        };
        if opens {
            self.state = State::Open { until: now + self.probe_every };
        }
    }

    /// Takes a pass back whose caller went away before the call ended: the next caller may probe.
    pub fn gone(&mut self, pass: Pass, now: Instant) {
        if pass.probe && matches!(self.state, State::HalfOpen) {
            self.state = State::Open { until: now };
        }
    }

    /// Returns its state.
    pub fn state(&self) -> BreakerState {
        match self.state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::HalfOpen => BreakerState::HalfOpen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn it_opens_after_failures_in_a_row_and_closes_after_one_probe() {
        let now = Instant::now();
        let mut breaker = Breaker::new(3, SECOND);
        for good in [false, false, true, false, false] {
            let pass = breaker.admit(now).unwrap();
            if good { breaker.succeeded(pass) } else { breaker.failed(pass, now) }
        }
        assert_eq!(
            breaker.state(),
            BreakerState::Closed,
            "five failures, but never three in a row"
        );
        let (early, pass) = (breaker.admit(now).unwrap(), breaker.admit(now).unwrap());
        breaker.failed(pass, now);
        assert_eq!(breaker.admit(now), Err(SECOND));
        // What was sent before does not count any more, whichever way it ends.
        breaker.succeeded(early);
        breaker.failed(early, now + SECOND / 2);
        assert_eq!(breaker.admit(now + SECOND / 2), Err(SECOND / 2));
        // One probe, and nobody beside it.
        let probe = breaker.admit(now + SECOND).unwrap();
        assert_eq!(
            (breaker.state(), breaker.admit(now + SECOND)),
            (BreakerState::HalfOpen, Err(SECOND))
        );
        breaker.failed(probe, now + SECOND * 2);
        assert_eq!(breaker.admit(now + SECOND * 2), Err(SECOND));
        let probe = breaker.admit(now + SECOND * 3).unwrap();
        breaker.succeeded(probe);
        assert_eq!(breaker.state(), BreakerState::Closed);
        assert!(breaker.admit(now + SECOND * 3).is_ok());
    }

    #[test]
    fn a_probe_that_is_given_up_makes_room_for_the_next() {
        let now = Instant::now();
        let mut breaker = Breaker::new(1, SECOND);
        let pass = breaker.admit(now).unwrap();
        breaker.failed(pass, now);
        let probe = breaker.admit(now + SECOND).unwrap();
        breaker.gone(probe, now + SECOND);
        assert_eq!(breaker.state(), BreakerState::Open);
        assert!(breaker.admit(now + SECOND).is_ok_and(|pass| pass.probe));
    }

    #[test]
    fn without_a_number_of_failures_it_never_opens() {
        let now = Instant::now();
        let mut breaker = Breaker::new(0, SECOND);
        for _ in 0..1_000 {
            let pass = breaker.admit(now).unwrap();
            breaker.failed(pass, now);
        }
        assert_eq!(breaker.state(), BreakerState::Closed);
    }
}
