//! A broken promise with its evidence.

use std::fmt;

/// A promise the server broke, and what shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the sentence of each says what its fields are")]
pub enum Breach {
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
pub(super) enum Broken {
    TooMany,
    Ranks,
    Twice,
    Repeats,
    Lost,
}

impl Broken {
    pub(super) const ALL: [Self; 5] =
        [Self::TooMany, Self::Ranks, Self::Twice, Self::Repeats, Self::Lost];
}

impl Breach {
    pub(super) fn promise(&self) -> Broken {
        match self {
            Self::Oversold { .. } | Self::Miscounted { .. } => Broken::TooMany,
            Self::DuplicateRank { .. } | Self::Gap { .. } => Broken::Ranks,
            Self::Twice { .. } => Broken::Twice,
            Self::ChangedAnswer { .. } | Self::RefusedWinner { .. } | Self::OtherSubject { .. } => {
                Broken::Repeats
            }
            Self::Lost { .. } => Broken::Lost,
        }
    }
}

impl fmt::Display for Breach {
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

/// All breaches by promise; the first few with their evidence.
#[derive(Debug, Clone, Default)]
pub struct Breaches {
    counts: [u64; 5],
    kept: Vec<Breach>,
}

/// A server that breaks every promise would otherwise fill the memory with evidence.
const KEPT_PER_PROMISE: u64 = 10;

impl Breaches {
    pub(super) fn add(&mut self, breach: Breach) {
        let count = &mut self.counts[breach.promise() as usize];
        *count += 1;
        if *count <= KEPT_PER_PROMISE {
            self.kept.push(breach);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.kept.extend(other.kept);
    }

    pub(super) fn count(&self, promise: Broken) -> u64 {
        self.counts[promise as usize]
    }

    pub(super) fn first(&self, promise: Broken) -> Option<&Breach> {
        self.kept.iter().find(|breach| breach.promise() == promise)
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The first of each kind.
    pub fn kept(&self) -> &[Breach] {
        &self.kept
    }
}
