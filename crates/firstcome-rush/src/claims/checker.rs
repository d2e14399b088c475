//! Compares every answer with all earlier answers.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use firstcome_core::names::Position;

use super::plan::{Plan, subject_name};
use super::tally::Kind;
use super::violation::{Violation, Violations};

/// The answers to a subject: 16 bytes each, so that ten million fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// 0 until there is an answer.
    pub(super) rank: u64,
    /// Microseconds since 1970.
    pub(super) at: i64,
}

impl Known {
    pub(super) fn is_known(self) -> bool {
        self.rank > 0
    }

    fn words(self) -> String {
        match jiff::Timestamp::from_microsecond(self.at) {
            Ok(at) => format!("rank {} at {at}", self.rank),
            Err(_) => format!("rank {}", self.rank),
        }
    }
}

const SHARDS: usize = 64;

/// All earlier answers, in shards so that two threads rarely meet.
#[derive(Debug)]
pub(super) struct Checker {
    prefix: String,
    known: Vec<Mutex<Vec<Known>>>,
    ranks: Mutex<HashMap<u64, u32>>,
    violations: Mutex<Violations>,
    /// The newest position a yes was as of: its epoch above its position.
    newest: AtomicU64,
}

/// Bits of a position; a million entries a second fill them in twelve days.
const POSITION_BITS: u32 = 40;

impl Checker {
    pub(super) fn new(plan: &Plan) -> Self {
        let per_shard = plan.subjects as usize / SHARDS + 1;
        Self {
            prefix: plan.prefix.clone(),
            known: (0..SHARDS).map(|_| Mutex::new(vec![Known::default(); per_shard])).collect(),
            ranks: Mutex::default(),
            violations: Mutex::default(),
            newest: AtomicU64::new(0),
        }
    }

    /// Notes what a yes was as of.
    pub(super) fn as_of(&self, position: Position) {
        let newest = u64::from(position.epoch) << POSITION_BITS | position.position;
        self.newest.fetch_max(newest, Ordering::Relaxed);
    }

    /// The newest position a yes was as of: a server that lags must not be believed before it is there.
    pub(super) fn newest(&self) -> Position {
        let newest = self.newest.load(Ordering::Relaxed);
        let epoch = u32::try_from(newest >> POSITION_BITS).expect("the bits above a position");
        Position { epoch, position: newest & ((1 << POSITION_BITS) - 1) }
    }

    pub(super) fn known(&self, subject: u32) -> Known {
        let shard = self.known[subject as usize % SHARDS].lock().expect("no panic under this lock");
        shard[subject as usize / SHARDS]
    }

    /// A success arrived; gives whether it is the first one of this subject.
    pub(super) fn won(&self, subject: u32, now: Known) -> bool {
        let first = {
            let mut shard =
                self.known[subject as usize % SHARDS].lock().expect("no panic under this lock");
            let known = &mut shard[subject as usize / SHARDS];
            let first = *known;
            if !first.is_known() {
                *known = now;
            }
            first
        };
        if first.is_known() {
            if first != now {
                let (first, then) = (first.words(), now.words());
                self.violation(Violation::ChangedAnswer {
                    subject: self.name(subject),
                    first,
                    then,
                });
            }
            return false;
        }
        let other = self.ranks.lock().expect("no panic under this lock").insert(now.rank, subject);
        if let Some(other) = other {
            let (first, second) = (self.name(other), self.name(subject));
            self.violation(Violation::DuplicateRank { rank: now.rank, first, second });
        }
        true
    }

    /// A refusal arrived for a subject that had, or had not, got a rank before this request was sent.
    pub(super) fn refused(&self, subject: u32, before: Known, kind: Kind) {
        let ladder = match kind {
            // Above these stands "already won", so a winner cannot be answered with them.
            Kind::SoldOut | Kind::NotOpen | Kind::Closed | Kind::Paused | Kind::LimitReached => {
                true
            }
            // Somebody else may have cancelled it meanwhile.
            Kind::AlreadyCancelled | Kind::Barred | Kind::Won | Kind::AlreadyWon => false,
        };
        if ladder && before.is_known() {
            let outcome = kind.as_str().to_owned();
            self.violation(Violation::RefusedWinner {
                subject: self.name(subject),
                rank: before.rank,
                outcome,
            });
        }
    }

    pub(super) fn violation(&self, violation: Violation) {
        self.violations.lock().expect("no panic under this lock").add(violation);
    }

    pub(super) fn violations(&self) -> Violations {
        self.violations.lock().expect("no panic under this lock").clone()
    }

    pub(super) fn name(&self, subject: u32) -> String {
        subject_name(&self.prefix, subject)
    }
}
