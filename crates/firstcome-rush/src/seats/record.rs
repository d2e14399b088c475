//! A record of every answer, with when it was asked for and when it came.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::progress::Progress;
use crate::latency::Latency;
use crate::people::{Answers, Counts};

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    Units(Vec<String>),
    Best(u32),
}

/// How a hold ended, by the answers to its subject.
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

/// A hold that was answered with yes, recorded at once: a person who breaks off later has held it all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HoldRecord {
    pub(super) subject: String,
    pub(super) hold: String,
    pub(super) wanted: Wanted,
    pub(super) units: Vec<String>,
    /// Since the load test began.
    pub(super) sent: Duration,
    pub(super) answered: Duration,
    /// Whether its subject came to pay after it was over.
    pub(super) late: bool,
    pub(super) end: End,
}

/// A refusal that named seats as taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TakenRefusal {
    pub(super) subject: String,
    pub(super) asked: Vec<String>,
    pub(super) named: Vec<String>,
    pub(super) sent: Duration,
    pub(super) answered: Duration,
}

/// Every answer so far.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) holds: Vec<HoldRecord>,
    pub(super) taken: Vec<TakenRefusal>,
    /// Confirms that were answered otherwise when they were repeated.
    pub(super) changed: Vec<String>,
    pub(super) repeats: u64,
    /// Answers by their outcome.
    pub(super) answers: BTreeMap<String, u64>,
    pub(super) again: BTreeMap<&'static str, u64>,
    pub(super) seats: u64,
    /// Whether seats may have been held that are not recorded: the load test was cut short, or a hold was over before
    /// its answer arrived and nothing is known of it any more.
    pub(super) incomplete: bool,
    pub(super) gone: u32,
}

/// Records every answer.
pub(super) struct Recorder {
    record: Mutex<Record>,
    answers: Arc<Answers>,
}

impl Recorder {
    pub(super) fn new(answers: Arc<Answers>) -> Self {
        Self { record: Mutex::default(), answers }
    }

    /// Since the load test began.
    pub(super) fn now(&self) -> Duration {
        self.answers.now()
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().expect("nothing panics under this lock")
    }

    pub(super) fn taken(&self, taken: TakenRefusal) {
        self.record().taken.push(taken);
    }

    /// Records a hold, and gives its index for when it ends.
    pub(super) fn held(&self, held: HoldRecord) -> usize {
        let mut record = self.record();
        record.holds.push(held);
        record.holds.len() - 1
    }

    /// Records how a hold ended.
    pub(super) fn ended(&self, index: usize, end: End) {
        let mut record = self.record();
        if let End::Confirmed { units, .. } = &end {
            record.seats += units.len() as u64;
        }
        record.holds[index].end = end;
    }

    pub(super) fn incomplete(&self) {
        self.record().incomplete = true;
    }

    pub(super) fn repeated(&self, difference: Option<String>) {
        let mut record = self.record();
        record.repeats += 1;
        record.changed.extend(difference);
    }

    pub(super) fn gone(&self) {
        self.record().gone += 1;
    }

    pub(super) fn progress(&self, people: u32, came: u32) -> Progress {
        let record = self.record();
        Progress {
            elapsed: self.now(),
            people,
            came,
            gone: record.gone,
            confirmed: record.seats,
            outage: self.answers.outages.now(),
            answers: self.answers.counts().answers,
        }
    }

    /// Takes the record out.
    pub(super) fn end(&self) -> (Record, Latency) {
        let mut record = std::mem::take(&mut *self.record());
        Counts { answers: record.answers, again: record.again } = self.answers.counts();
        (record, self.answers.latency())
    }
}
