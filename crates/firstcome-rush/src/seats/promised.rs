//! What is promised about seats.

use crate::people::Promises;

/// What is promised about seats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Promised {
    /// No seat is confirmed for two.
    Seats,
    /// A basket is had whole or not at all.
    Baskets,
    /// Ranks are gap-free, and nobody shares one.
    Ranks,
    /// What was confirmed stays, and nothing else is confirmed.
    Kept,
    /// A repeated confirm is answered as at first; reports show it with [`Promised::Kept`].
    Repeats,
    /// A seat that a refusal names as taken was taken.
    Taken,
    /// Nobody has more than one may have.
    Limits,
    /// A hold lasts as long as it says; who pays too late has the same seats or is owed a refund.
    Late,
    /// What the campaign counts is what the results show.
    Counts,
}

impl Promises for Promised {
    const SHOWN: &'static [Self] = &[
        Self::Seats,
        Self::Baskets,
        Self::Ranks,
        Self::Kept,
        Self::Taken,
        Self::Limits,
        Self::Late,
        Self::Counts,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Seats => "seats",
            Self::Baskets => "baskets",
            Self::Ranks => "ranks",
            Self::Kept => "kept",
            Self::Repeats => "repeats",
            Self::Taken => "taken",
            Self::Limits => "limits",
            Self::Late => "late",
            Self::Counts => "counts",
        }
    }

    fn shown_as(self) -> &'static str {
        if self == Self::Repeats { Self::Kept.name() } else { self.name() }
    }
}
