//! Counts, kept without locks so that anybody may look while the load test runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What an answered claim was answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Won,
    AlreadyWon,
    SoldOut,
    NotOpen,
    Closed,
    Paused,
    LimitReached,
    AlreadyCancelled,
    Barred,
}

impl Kind {
    /// Every kind, in the order it is shown.
    pub const ALL: [Self; 9] = [
        Self::Won,
        Self::AlreadyWon,
        Self::SoldOut,
        Self::NotOpen,
        Self::Closed,
        Self::Paused,
        Self::LimitReached,
        Self::AlreadyCancelled,
        Self::Barred,
    ];

    /// The outcome's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Won => "won",
            Self::AlreadyWon => "already_won",
            Self::SoldOut => "sold_out",
            Self::NotOpen => "not_open",
            Self::Closed => "closed",
            Self::Paused => "paused",
            Self::LimitReached => "limit_reached",
            Self::AlreadyCancelled => "already_cancelled",
            Self::Barred => "barred",
        }
    }

    pub(super) fn from_outcome(outcome: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == outcome)
    }
}

/// The counts of a load test.
#[derive(Debug, Default)]
pub struct Tally {
    kinds: [AtomicU64; 9],
    acknowledged: AtomicU64,
    unknown: AtomicU64,
    busy: AtomicU64,
    broken: AtomicU64,
    cut: AtomicU64,
}

/// The counts at one moment.
#[derive(Debug, Clone, Default)]
pub struct ClaimsProgress {
    /// Since the load test began.
    pub elapsed: Duration,
    /// Requests answered for good.
    pub answered: u64,
    /// Subjects with a `won` answer; each counts once.
    pub acknowledged: u64,
    /// Answers by kind, in the order of [`Kind::ALL`].
    pub kinds: [u64; 9],
    /// Answers that said it may have happened; each was sent again.
    pub unknown: u64,
    /// Answers that said not now; each was sent again.
    pub busy: u64,
    /// Exchanges that broke; each was sent again.
    pub broken: u64,
    /// Requests cut off on purpose; each was sent again.
    pub cut: u64,
    /// How long no server has been reachable, if none is.
    pub outage: Option<Duration>,
}

impl ClaimsProgress {
    /// How often the answer was of this kind.
    pub fn of(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize]
    }
}

/// Why a claim was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhyAgain {
    Unknown,
    Busy,
    Broken,
    Cut,
    /// No server took the connection; the outage is measured instead.
    Unreachable,
}

impl Tally {
    /// Subjects with a `won` answer, so far.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// All counts at this moment; they may be a request or two apart from each other.
    pub fn progress(&self, elapsed: Duration, outage: Option<Duration>) -> ClaimsProgress {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let kinds = std::array::from_fn(|kind| read(&self.kinds[kind]));
        ClaimsProgress {
            elapsed,
            answered: kinds.iter().sum(),
            acknowledged: read(&self.acknowledged),
            kinds,
            unknown: read(&self.unknown),
            busy: read(&self.busy),
            broken: read(&self.broken),
            cut: read(&self.cut),
            outage,
        }
    }

    pub(super) fn answered(&self, kind: Kind) {
        self.kinds[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn newly_acknowledged(&self) {
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn again(&self, why: WhyAgain) {
        let count = match why {
            WhyAgain::Unknown => &self.unknown,
            WhyAgain::Busy => &self.busy,
            WhyAgain::Broken => &self.broken,
            WhyAgain::Cut => &self.cut,
            WhyAgain::Unreachable => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}
