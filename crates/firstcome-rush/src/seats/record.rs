//! What is recorded of seats.

use std::time::Duration;

use crate::people;

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

/// What was answered about seats so far.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    pub(super) holds: Vec<HoldRecord>,
    pub(super) taken: Vec<TakenRefusal>,
    /// Seats that were confirmed.
    pub(super) confirmed: u64,
}

/// What people have got so far.
#[derive(Debug, Clone)]
pub struct Done {
    /// Seats that were confirmed in answers.
    pub confirmed: u64,
}

pub(super) type Record = people::Record<Holds>;
pub(super) type Recorder = people::Recorder<Holds>;

impl Recorder {
    pub(super) fn taken(&self, taken: TakenRefusal) {
        self.record().answers.taken.push(taken);
    }

    /// Records a hold, and returns its index for when it ends.
    pub(super) fn held(&self, held: HoldRecord) -> usize {
        let holds = &mut self.record().answers.holds;
        holds.push(held);
        holds.len() - 1
    }

    /// Records how a hold ended.
    pub(super) fn ended(&self, index: usize, end: End) {
        let answers = &mut self.record().answers;
        if let End::Confirmed { units, .. } = &end {
            answers.confirmed += units.len() as u64;
        }
        answers.holds[index].end = end;
    }

    pub(super) fn incomplete(&self) {
        self.record().incomplete = true;
    }
}
