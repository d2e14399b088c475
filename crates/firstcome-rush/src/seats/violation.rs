//! What is promised about seats, and what breaks a promise.

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

impl Promised {
    /// All that are shown by themselves, in their order.
    pub(crate) const ALL: [Self; 8] = [
        Self::Seats,
        Self::Baskets,
        Self::Ranks,
        Self::Kept,
        Self::Taken,
        Self::Limits,
        Self::Late,
        Self::Counts,
    ];

    /// The one under which a report shows it.
    pub(super) fn shown_as(self) -> Self {
        if self == Self::Repeats { Self::Kept } else { self }
    }
}

/// A broken promise and what shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) promise: Promised,
    pub(crate) evidence: String,
}

/// Collects what is broken.
#[derive(Default)]
pub(super) struct Found(pub(super) Vec<Violation>);

impl Found {
    pub(super) fn add(&mut self, promise: Promised, evidence: String) {
        self.0.push(Violation { promise, evidence });
    }
}
