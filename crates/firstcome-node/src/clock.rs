//! What the store's clock says, as far as this node knows.

use firstcome_core::Timestamp;
use firstcome_inject::{Mistake, inject};
use firstcome_journal::Clock;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How old what the store said may be for somebody to be told by it that nothing is open yet.
///
/// A store's clock may be set forward: who did not hear from it since does not know. A node asks every second.
const KNOWN_FOR: Duration = Duration::from_secs(2);

/// The store's clock.
///
/// A node that reads the same clock as its store asks it. The others go by what the store said last
/// and what has passed since on their own: never beyond it by more than a hundredth of that.
#[derive(Debug)]
pub enum StoreClock {
    /// This process reads the store's clock itself.
    Own(Clock),
    /// What the store said last, and when it was asked.
    Learned(Mutex<(Timestamp, Instant)>),
}

impl StoreClock {
    /// Begins with what the store said, asked at `asked`.
    pub(crate) fn learned(said: Timestamp, asked: Instant) -> Self {
        Self::Learned(Mutex::new((said, asked)))
    }

    /// Takes in what the store said, asked at `asked`.
    pub(crate) fn heard(&self, said: Timestamp, asked: Instant) {
        if let Self::Learned(last) = self {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            // Answers may overtake each other.
            if asked >= last.1 {
                *last = (said, asked);
            }
        }
    }

    /// Returns about what the store's clock says now.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::Own(clock) => clock.now(),
            Self::Learned(last) => passed(last, 0),
        }
    }

    /// Returns the latest that the store's clock can say now, unless it was set forward within two seconds; none
    /// where it was not heard for as long.
    pub(crate) fn latest(&self) -> Option<Timestamp> {
        match self {
            Self::Own(clock) => Some(clock.now()),
            Self::Learned(last) => {
                let (said, asked) = *last.lock().unwrap_or_else(PoisonError::into_inner);
                if inject(Mistake::NotOpenWithoutElapsed) {
                    return Some(said);
                }
                (asked.elapsed() < KNOWN_FOR).then(|| passed(last, 100))
            }
        }
    }
}

/// Returns what was said, with what has passed since and one part in `slack` more.
fn passed(last: &Mutex<(Timestamp, Instant)>, slack: i64) -> Timestamp {
    let (said, asked) = *last.lock().unwrap_or_else(PoisonError::into_inner);
    let passed = i64::try_from(asked.elapsed().as_micros()).unwrap_or(i64::MAX / 2);
    let more = if slack == 0 { 0 } else { passed / slack };
    said.plus_micros(passed.saturating_add(more))
}
