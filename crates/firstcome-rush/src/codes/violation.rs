//! What is promised about codes, and what breaks a promise.

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

impl Promised {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Self; 11] = [
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
