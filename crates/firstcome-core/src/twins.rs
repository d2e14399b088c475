//! Mistakes made on purpose, to see that a simulation notices them. Without the feature `twins` none can be made.

/// A rule, by the mistake that is made without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Service time counts all of a step between two entries, however long it is.
    WholeSteps,
    /// A hold gets what is free of the seats it names, and not the rest.
    HalfBaskets,
    /// A hold is over with the entry behind the one that finds it due.
    HoldsEndLate,
    /// Who pays too late gets seats again that somebody else has.
    RetakenFromOthers,
    /// A hold that is asked for again under its id is another one.
    NewHoldForRepeats,
    /// A hold that has expired is confirmed all the same.
    ConfirmedTooLate,
    /// A seat that somebody holds is held for the next one as well.
    HeldTwice,
    /// Nobody is told when the next hold is over.
    HoldsWithoutTicks,
}

#[cfg(not(feature = "twins"))]
pub(crate) const fn is_off(_rule: Rule) -> bool {
    false
}

#[cfg(feature = "twins")]
pub(crate) use switched::is_off;
#[cfg(feature = "twins")]
pub use switched::without;

#[cfg(feature = "twins")]
mod switched {
    use super::Rule;
    use std::cell::Cell;

    thread_local! {
        static OFF: Cell<Option<Rule>> = const { Cell::new(None) };
    }

    /// Goes without a rule on this thread from now on, or with all of them.
    pub fn without(rule: Option<Rule>) {
        OFF.set(rule);
    }

    pub(crate) fn is_off(rule: Rule) -> bool {
        OFF.get() == Some(rule)
    }
}
