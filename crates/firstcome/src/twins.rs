//! Mistakes made on purpose: a protection is switched off, to see that the tests notice.
//!
//! A real process goes without the one that `FIRSTCOME_TWIN` names; a thread of a test or a simulation without the
//! one it says with `without`. Each stands at the one place where its protection is. Without the feature `twins`
//! there is nothing here to switch, and asking costs nothing.

/// A protection, for most of them by the mistake that is made without it.
#[cfg_attr(
    not(feature = "twins"),
    expect(dead_code, unreachable_pub, reason = "nothing is switched without the feature")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protection {
    /// See [`Protection::mistake`], as for all of them.
    PredecessorNames,
    /// In the replica, before an entry is applied.
    BatchNumbers,
    /// In the journal on Redis.
    OwnConnection,
    /// In `heal`, the replica and what is kept of recent entries.
    HeightForName,
    /// In `heal`, when entries are put back.
    PutBackNewTime,
    /// In `heal`, once the journal is whole.
    NoWaitAfterFailover,
    /// In the appender, when answers are let go.
    DurableTooEarly,
    /// In `settle`, before a batch is written.
    SettleBeforeDurable,
    /// In the intake, before anything is said from memory.
    StaleRefusals,
    /// In the intake's table.
    AlreadyWonAfterCancel,
    /// In the intake's table.
    NotFoundFromMemory,
    /// In the intake, before a command is looked at.
    MinPositionIgnored,
    /// In what is known of the store's clock.
    NotOpenWithoutElapsed,
    /// In the batch, when the time of its commands is over.
    UnavailableForUnknown,
    /// In the appender, before a batch is sent again.
    NewNumberForRepeats,
    /// In `fork`, once everything is brought.
    ForkWithoutReport,
    /// In `fork`, when a node goes over.
    WriterKeptAfterFork,
    /// In the batch, when a body of a history that is over is brought.
    TimedWordsBrought,
    /// In the appender, when commands are gathered.
    SettledOfAnotherHistory,
    /// In `fork`, when a node goes over.
    LostNotBrought,
    /// In the ledger in memory.
    SettleWithoutCompare,
    /// In `settle`, after an answer was lost.
    SettleWithoutLook,
    /// In the ledger in memory.
    TermNotCompared,
    /// In `settle`, before a batch is written.
    ResultsDroppedEarly,
    /// In the rules, when time passes.
    ServiceWithoutBound,
    /// In the rules, where a hold's units are chosen.
    HalfBaskets,
    /// In the rules, when holds expire.
    HoldsEndLate,
    /// In the rules, when somebody confirms too late.
    RetakenFromOthers,
    /// In the rules, when somebody holds.
    NewHoldForRepeats,
    /// In the rules, when somebody confirms too late.
    ConfirmedTooLate,
    /// In the rules, where a hold's units are chosen.
    HeldTwice,
    /// In the rules, where it is said when time must pass next.
    HoldsWithoutTicks,
    /// In the intake, before a hold is judged.
    HoldNearlyOver,
    /// In the intake, before a hold is judged.
    TakenWithoutElapsed,
    /// In the lines of those who wait for a seat.
    LineOrder,
    /// In the intake, for those who wait in line.
    AskedWhileWaiting,
    /// In the intake, for those who wait in line.
    LineWaitsForTicks,
}

#[cfg(not(feature = "twins"))]
pub(crate) const fn is_off(_protection: Protection) -> bool {
    false
}

#[cfg(feature = "twins")]
pub use switched::{is_off, without};

#[cfg(feature = "twins")]
mod switched {
    use super::Protection;
    use firstcome_core::twins::{self, Rule};
    use std::cell::Cell;

    thread_local! {
        static OFF: Cell<Option<Protection>> = Cell::new(named());
    }

    /// Gives what `FIRSTCOME_TWIN` names.
    fn named() -> Option<Protection> {
        let name = std::env::var("FIRSTCOME_TWIN").ok()?;
        let found = Protection::ALL.into_iter().find(|protection| protection.name() == name);
        let found = found.unwrap_or_else(|| panic!("there is no protection {name:?}"));
        twins::without(found.rule());
        Some(found)
    }

    /// Goes without a protection on this thread from now on, or with all of them.
    ///
    /// Only what runs on this thread does: a simulation on one thread, a test on a runtime of one thread.
    pub fn without(protection: Option<Protection>) {
        OFF.set(protection);
        twins::without(protection.and_then(Protection::rule));
    }

    impl Protection {
        /// Gives the rule it is, where it is one of the rules.
        fn rule(self) -> Option<Rule> {
            let rules = [
                (Self::ServiceWithoutBound, Rule::WholeSteps),
                (Self::HalfBaskets, Rule::HalfBaskets),
                (Self::HoldsEndLate, Rule::HoldsEndLate),
                (Self::RetakenFromOthers, Rule::RetakenFromOthers),
                (Self::NewHoldForRepeats, Rule::NewHoldForRepeats),
                (Self::ConfirmedTooLate, Rule::ConfirmedTooLate),
                (Self::HeldTwice, Rule::HeldTwice),
                (Self::HoldsWithoutTicks, Rule::HoldsWithoutTicks),
            ];
            rules.into_iter().find(|(protection, _)| *protection == self).map(|(_, rule)| rule)
        }
    }

    /// Says whether this thread goes without a protection.
    pub fn is_off(protection: Protection) -> bool {
        OFF.get() == Some(protection)
    }
}

#[cfg(feature = "twins")]
impl Protection {
    /// All of them.
    pub const ALL: [Self; 37] = [
        Self::PredecessorNames,
        Self::BatchNumbers,
        Self::OwnConnection,
        Self::HeightForName,
        Self::PutBackNewTime,
        Self::NoWaitAfterFailover,
        Self::DurableTooEarly,
        Self::SettleBeforeDurable,
        Self::StaleRefusals,
        Self::AlreadyWonAfterCancel,
        Self::NotFoundFromMemory,
        Self::MinPositionIgnored,
        Self::NotOpenWithoutElapsed,
        Self::UnavailableForUnknown,
        Self::NewNumberForRepeats,
        Self::ForkWithoutReport,
        Self::WriterKeptAfterFork,
        Self::TimedWordsBrought,
        Self::SettledOfAnotherHistory,
        Self::LostNotBrought,
        Self::SettleWithoutCompare,
        Self::SettleWithoutLook,
        Self::TermNotCompared,
        Self::ResultsDroppedEarly,
        Self::ServiceWithoutBound,
        Self::HalfBaskets,
        Self::HoldsEndLate,
        Self::RetakenFromOthers,
        Self::NewHoldForRepeats,
        Self::ConfirmedTooLate,
        Self::HeldTwice,
        Self::HoldsWithoutTicks,
        Self::HoldNearlyOver,
        Self::TakenWithoutElapsed,
        Self::LineOrder,
        Self::AskedWhileWaiting,
        Self::LineWaitsForTicks,
    ];

    /// Gives its stable name, as `FIRSTCOME_TWIN` has it.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Says the mistake that is made without it.
    pub fn mistake(self) -> &'static str {
        self.row().1
    }

    fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::PredecessorNames => (
                "predecessor_names",
                "an entry is applied, and appended to, without a look at the name of the one before it",
            ),
            Self::BatchNumbers => ("batch_numbers", "a batch that is stored twice runs twice"),
            Self::OwnConnection => (
                "own_connection",
                "copies are counted by a WAIT on a connection that did not write",
            ),
            Self::HeightForName => (
                "height_for_name",
                "an entry at the same position is taken for the same entry, whatever its name",
            ),
            Self::PutBackNewTime => (
                "put_back_new_time",
                "an entry is put back with the store's time now instead of its own",
            ),
            Self::NoWaitAfterFailover => (
                "no_wait_after_failover",
                "after a failover a node appends at once, before others can put back what they saw",
            ),
            Self::DurableTooEarly => (
                "durable_too_early",
                "an answer leaves before what it rests on is known to be durable",
            ),
            Self::SettleBeforeDurable => (
                "settle_before_durable",
                "results are settled that are applied and not yet durable",
            ),
            Self::StaleRefusals => (
                "stale_refusals",
                "answers are given from memory by a node that has not heard of the journal for long",
            ),
            Self::AlreadyWonAfterCancel => (
                "already_won_after_cancel",
                "an earlier win is repeated from memory though its subject may have cancelled it elsewhere",
            ),
            Self::NotFoundFromMemory => (
                "not_found_from_memory",
                "a campaign is said not to exist by a node that may not have heard of it yet",
            ),
            Self::MinPositionIgnored => (
                "min_position_ignored",
                "the position that a caller brings along is not waited for",
            ),
            Self::NotOpenWithoutElapsed => (
                "not_open_without_elapsed",
                "the store's clock is taken to stand where it stood when it was last heard",
            ),
            Self::UnavailableForUnknown => (
                "unavailable_for_unknown",
                "a command that was sent is said to have changed nothing when its time is over",
            ),
            Self::NewNumberForRepeats => {
                ("new_number_for_repeats", "a batch that is sent again gets a new number")
            }
            Self::ForkWithoutReport => {
                ("fork_without_report", "nobody is told who kept, changed or lost a rank in a fork")
            }
            Self::WriterKeptAfterFork => (
                "writer_kept_after_fork",
                "a node that goes over to another history goes on writing under its old identity",
            ),
            Self::TimedWordsBrought => (
                "timed_words_brought",
                "ticks and settle marks of a history that is over are brought into the next one",
            ),
            Self::SettledOfAnotherHistory => (
                "settled_of_another_history",
                "a settle mark is appended to another history than the one it was made in",
            ),
            Self::LostNotBrought => (
                "lost_not_brought",
                "a node that goes over to another history brings nothing along of its own",
            ),
            Self::SettleWithoutCompare => (
                "settle_without_compare",
                "the ledger writes rows without a look at where it stands",
            ),
            Self::SettleWithoutLook => (
                "settle_without_look",
                "after a lost answer the leader settles on from where it believes the ledger to be",
            ),
            Self::TermNotCompared => {
                ("term_not_compared", "the ledger takes rows from a leader that was replaced")
            }
            Self::ResultsDroppedEarly => (
                "results_dropped_early",
                "results are marked as settled before the ledger has answered",
            ),
            Self::ServiceWithoutBound => (
                "service_without_bound",
                "a jump of the store's clock counts as service time, all of it",
            ),
            Self::HalfBaskets => {
                ("half_baskets", "a hold gets what is free of the seats it names, and not the rest")
            }
            Self::HoldsEndLate => {
                ("holds_end_late", "a hold is over with the entry behind the one that finds it due")
            }
            Self::RetakenFromOthers => {
                ("retaken_from_others", "who pays too late gets seats again that somebody else has")
            }
            Self::NewHoldForRepeats => (
                "new_hold_for_repeats",
                "a hold that is asked for again under its id is another one",
            ),
            Self::ConfirmedTooLate => {
                ("confirmed_too_late", "a hold that has expired is confirmed all the same")
            }
            Self::HeldTwice => {
                ("held_twice", "a seat that somebody holds is held for the next one as well")
            }
            Self::HoldsWithoutTicks => (
                "holds_without_ticks",
                "nobody lets time pass when a hold is over and nothing is asked",
            ),
            Self::HoldNearlyOver => (
                "hold_nearly_over",
                "a hold is said to last by a node that may not have heard yet that it is over",
            ),
            Self::TakenWithoutElapsed => (
                "taken_without_elapsed",
                "a hold is said to last by the time of the last entry, not by what passed since",
            ),
            Self::LineOrder => (
                "line_order",
                "who waits for a seat takes it as soon as it is free, though others wait longer",
            ),
            Self::AskedWhileWaiting => (
                "asked_while_waiting",
                "the journal is asked for a seat again and again while somebody waits for it",
            ),
            Self::LineWaitsForTicks => (
                "line_waits_for_ticks",
                "who waits for a seat asks for it once a tick has ended the hold, and others before",
            ),
        }
    }
}

#[cfg(all(test, feature = "twins"))]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_and_a_sentence_of_its_own() {
        for of in [Protection::name, Protection::mistake] {
            let mut said: Vec<_> = Protection::ALL.into_iter().map(of).collect();
            assert!(said.iter().all(|said| !said.is_empty()));
            said.sort_unstable();
            said.dedup();
            assert_eq!(said.len(), Protection::ALL.len());
        }
    }

    #[test]
    fn a_thread_goes_without_one_by_itself() {
        without(Some(Protection::BatchNumbers));
        assert!(is_off(Protection::BatchNumbers) && !is_off(Protection::OwnConnection));
        let elsewhere = std::thread::spawn(|| is_off(Protection::BatchNumbers)).join();
        assert!(!elsewhere.unwrap());
        without(None);
        assert!(!is_off(Protection::BatchNumbers));
    }
}
