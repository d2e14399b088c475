//! Everything that was heard, with when it was asked and answered.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use firstcome_core::names::Position;
use hdrhistogram::Histogram;

use super::super::away::Away;
use super::super::report::Latency;
use super::report::SeatsProgress;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    Units(Vec<String>),
    Best(u32),
}

/// How a hold ended, as its subject was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// They said nothing more: time ended it.
    Left,
    /// They gave it back; when that was answered.
    Released { answered: Duration },
    /// It was paid for. A seat and its rank each.
    Confirmed { units: Vec<(String, u64)>, retaken: bool },
    /// It was paid for too late, and nothing of it could be had.
    Refund { units: Vec<String> },
    /// It was refused as expired; when that was answered.
    Expired { answered: Duration },
    /// Anything else.
    Other(String),
}

/// A hold that was answered with yes, noted when it was: whoever breaks off later has held it all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeldOnce {
    pub(super) subject: String,
    pub(super) hold: String,
    pub(super) wanted: Wanted,
    pub(super) units: Vec<String>,
    /// Since the rush began.
    pub(super) sent: Duration,
    pub(super) answered: Duration,
    /// Whether its subject came to pay after it was over.
    pub(super) late: bool,
    pub(super) end: End,
}

/// A refusal that named seats as taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) subject: String,
    pub(super) asked: Vec<String>,
    pub(super) named: Vec<String>,
    pub(super) sent: Duration,
    pub(super) answered: Duration,
}

/// Everything that was heard.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) holds: Vec<HeldOnce>,
    pub(super) taken: Vec<Taken>,
    /// Confirms that were answered otherwise when they were repeated.
    pub(super) changed: Vec<String>,
    pub(super) repeats: u64,
    /// Answers by their outcome.
    pub(super) answers: BTreeMap<String, u64>,
    pub(super) again: BTreeMap<&'static str, u64>,
    pub(super) seats: u64,
    /// Whether seats may have been held that nobody was told of: the rush was cut short, or a hold was over before its
    /// answer came through and nothing is known of it any more.
    pub(super) unsure: bool,
    gone: u32,
}

/// Why a request was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    Unknown,
    Busy,
    Away,
    Cut,
}

impl Again {
    fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Busy => "busy",
            Self::Away => "away",
            Self::Cut => "cut",
        }
    }
}

/// Writes down what is heard.
pub(super) struct Listener {
    began: Instant,
    heard: Mutex<Heard>,
    latency: Mutex<Histogram<u64>>,
    /// How long no server could be reached.
    pub(super) away: Away,
    newest: Mutex<Option<Position>>,
}

impl Listener {
    pub(super) fn new(began: Instant) -> Self {
        let empty =
            Histogram::new_with_bounds(1, 3_600_000_000, 3).expect("these bounds are valid");
        Self {
            began,
            heard: Mutex::default(),
            latency: Mutex::new(empty),
            away: Away::default(),
            newest: Mutex::default(),
        }
    }

    /// Since the rush began.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().expect("nothing panics under this lock")
    }

    pub(super) fn answered(&self, outcome: &str, due: Instant) {
        let micros = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.latency.lock().expect("nothing panics under this lock").saturating_record(micros);
        let mut heard = self.heard();
        match heard.answers.get_mut(outcome) {
            Some(count) => *count += 1,
            None => drop(heard.answers.insert(outcome.to_owned(), 1)),
        }
    }

    pub(super) fn again(&self, why: Again) {
        *self.heard().again.entry(why.as_str()).or_default() += 1;
    }

    pub(super) fn as_of(&self, at: Position) {
        let mut newest = self.newest.lock().expect("nothing panics under this lock");
        let newer =
            newest.is_none_or(|known| (known.epoch, known.position) < (at.epoch, at.position));
        if newer {
            *newest = Some(at);
        }
    }

    pub(super) fn newest(&self) -> Option<Position> {
        *self.newest.lock().expect("nothing panics under this lock")
    }

    pub(super) fn taken(&self, taken: Taken) {
        self.heard().taken.push(taken);
    }

    /// Notes a hold, and gives its place for when it ends.
    pub(super) fn held(&self, held: HeldOnce) -> usize {
        let mut heard = self.heard();
        heard.holds.push(held);
        heard.holds.len() - 1
    }

    /// Notes how a hold ended.
    pub(super) fn ended(&self, place: usize, end: End) {
        let mut heard = self.heard();
        if let End::Confirmed { units, .. } = &end {
            heard.seats += units.len() as u64;
        }
        heard.holds[place].end = end;
    }

    pub(super) fn unsure(&self) {
        self.heard().unsure = true;
    }

    pub(super) fn repeated(&self, difference: Option<String>) {
        let mut heard = self.heard();
        heard.repeats += 1;
        heard.changed.extend(difference);
    }

    pub(super) fn gone(&self) {
        self.heard().gone += 1;
    }

    pub(super) fn progress(&self, people: u32) -> SeatsProgress {
        let heard = self.heard();
        SeatsProgress {
            elapsed: self.now(),
            people,
            gone: heard.gone,
            confirmed: heard.seats,
            away: self.away.now(),
            answers: heard.answers.clone(),
        }
    }

    /// Takes what was heard out.
    pub(super) fn end(&self) -> (Heard, Latency) {
        let latency = self.latency.lock().expect("nothing panics under this lock").clone();
        (std::mem::take(&mut *self.heard()), Latency::new(latency))
    }
}
