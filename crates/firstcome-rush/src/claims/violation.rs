//! A broken promise with its evidence.

use std::fmt;

/// A promise the server broke, and what shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    DuplicateRank { rank: u64, first: String, second: String },
    Gap { pool: String, after: u64, found: u64 },
    Oversold { pool: String, places: u64, winners: u64 },
    Twice { pool: String, subject: String, first: u64, second: u64 },
    ChangedAnswer { subject: String, first: String, then: String },
    RefusedWinner { subject: String, rank: u64, outcome: String },
    Lost { subject: String, rank: u64 },
    Miscounted { pool: String, said: u64, found: u64 },
    OtherSubject { asked: String, answered: String },
}

/// The promises, in the order they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClaimsPromise {
    TooMany,
    Ranks,
    Twice,
    Repeats,
    Lost,
}

impl ClaimsPromise {
    pub(super) const ALL: [Self; 5] =
        [Self::TooMany, Self::Ranks, Self::Twice, Self::Repeats, Self::Lost];
}

impl Violation {
    pub(super) fn promise(&self) -> ClaimsPromise {
        match self {
            Self::Oversold { .. } | Self::Miscounted { .. } => ClaimsPromise::TooMany,
            Self::DuplicateRank { .. } | Self::Gap { .. } => ClaimsPromise::Ranks,
            Self::Twice { .. } => ClaimsPromise::Twice,
            Self::ChangedAnswer { .. } | Self::RefusedWinner { .. } | Self::OtherSubject { .. } => {
                ClaimsPromise::Repeats
            }
            Self::Lost { .. } => ClaimsPromise::Lost,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateRank { rank, first, second } => {
                write!(f, "rank {rank} was given to {first} and to {second}")
            }
            Self::Gap { pool, after, found } => {
                write!(f, "in pool {pool}, rank {found} follows rank {after}")
            }
            Self::Oversold { pool, places, winners } => {
                write!(f, "pool {pool} has {places} places and {winners} winners")
            }
            Self::Twice { pool, subject, first, second } => {
                write!(f, "{subject} has ranks {first} and {second} in pool {pool}")
            }
            Self::ChangedAnswer { subject, first, then } => {
                write!(f, "{subject} was told {first}, then {then}")
            }
            Self::RefusedWinner { subject, rank, outcome } => {
                write!(f, "{subject} was told rank {rank}, then {outcome}")
            }
            Self::Lost { subject, rank } => {
                write!(f, "{subject} was told rank {rank}, which is not in the results")
            }
            Self::Miscounted { pool, said, found } => {
                write!(f, "pool {pool} says {said} taken, the results show {found}")
            }
            Self::OtherSubject { asked, answered } => {
                write!(f, "the claim of {asked} was answered with that of {answered}")
            }
        }
    }
}

/// All violations by promise; the first few with their evidence.
#[derive(Debug, Clone, Default)]
pub struct Violations {
    counts: [u64; 5],
    kept: Vec<Violation>,
}

/// A server that breaks every promise would otherwise fill the memory with evidence.
const KEPT_PER_PROMISE: u64 = 10;

impl Violations {
    pub(super) fn add(&mut self, violation: Violation) {
        let count = &mut self.counts[violation.promise() as usize];
        *count += 1;
        if *count <= KEPT_PER_PROMISE {
            self.kept.push(violation);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.kept.extend(other.kept);
    }

    pub(super) fn count(&self, promise: ClaimsPromise) -> u64 {
        self.counts[promise as usize]
    }

    pub(super) fn first(&self, promise: ClaimsPromise) -> Option<&Violation> {
        self.kept.iter().find(|violation| violation.promise() == promise)
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The first of each kind.
    pub fn kept(&self) -> &[Violation] {
        &self.kept
    }
}
