//! What is promised about codes.

use crate::people::Promises;

/// What is promised about codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Promised {
    /// A code has one subject, and a subject one code.
    Codes,
    /// Ranks are gap-free, and nobody shares one.
    Ranks,
    /// Redemptions and live reservations of a code never exceed its uses.
    Uses,
    /// A reservation does not refuse its own reference, and wins over others.
    Reservations,
    /// A repeated claim or step gets its first answer.
    Repeats,
    /// What was acknowledged stays, and nothing else is there.
    Kept,
    /// A code that was refused as used or reserved was that.
    Refusals,
    /// A code that nobody was given, or that does not count any more, is never accepted.
    Wrong,
    /// What the campaign counts is what the results show.
    Counts,
    /// What comes free goes to who has waited longest.
    Turns,
    /// The ledger has the results, and no others.
    Ledger,
}

impl Promises for Promised {
    const SHOWN: &'static [Self] = &[
        Self::Codes,
        Self::Ranks,
        Self::Uses,
        Self::Reservations,
        Self::Repeats,
        Self::Kept,
        Self::Refusals,
        Self::Wrong,
        Self::Counts,
        Self::Turns,
        Self::Ledger,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Codes => "codes",
            Self::Ranks => "ranks",
            Self::Uses => "uses",
            Self::Reservations => "reservations",
            Self::Repeats => "repeats",
            Self::Kept => "kept",
            Self::Refusals => "refusals",
            Self::Wrong => "wrong",
            Self::Counts => "counts",
            Self::Turns => "turns",
            Self::Ledger => "ledger",
        }
    }
}
