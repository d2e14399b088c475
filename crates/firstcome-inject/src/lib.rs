//! Fault injection: one mistake at a time, made on purpose, to see that the tests notice.
//!
//! Each protection of the product asks at its place whether it is to be left out: `inject(Mistake::…)`. Without the
//! feature `inject` the answer is a constant `false`, and the shipped program has nothing of it. With it, a process
//! makes the mistake that `FIRSTCOME_INJECT` names, and a thread of a test or of the simulation the one that it said
//! with [`set`].

/// A mistake, named by what is done wrong; [`Mistake::sentence`] says it in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mistake {
    /// In the replica and in the append script on Redis.
    PredecessorIgnored,
    /// In the replica, before an entry is applied.
    CopiesRunTwice,
    /// In the journal on Redis.
    WaitOnOtherConnection,
    /// In the healer, the replica and the retransmit buffer.
    HeightForName,
    /// In the healer, when lost entries are written again.
    BackfillWithNewTime,
    /// In the healer, once the journal is whole.
    AppendRightAfterFailover,
    /// In the appender, when answers are released.
    AnswerBeforeDurable,
    /// In `settle`, before a batch is written.
    SettleBeforeDurable,
    /// In the intake, before anything is answered from memory.
    AnswerWhileStale,
    /// In the intake's table.
    RepeatWinAfterCancel,
    /// In the intake's table.
    NotFoundFromMemory,
    /// Where entries that were read are taken in.
    PartialReadIsCaughtUp,
    /// Where the intake waits until this node has caught up.
    BarrierByOlderLook,
    /// In the intake, before a command is looked at.
    MinPositionIgnored,
    /// In what is known of the store's clock.
    NotOpenWithoutElapsed,
    /// In the batch, when the time of its commands is over.
    UnavailableForUnknown,
    /// In the appender, before a batch is sent again.
    NewNumberOnResend,
    /// In the appender, before a batch is sent again.
    NameKeptOnResend,
    /// In `fork`, once every orphaned entry is appended.
    ForkWithoutReport,
    /// In `fork`, once every orphaned entry is appended.
    SharedCodesCount,
    /// In `fork`, when a node switches.
    WriterKeptAfterFork,
    /// In the batch, when a body of an abandoned branch is appended again.
    MarksCarriedOver,
    /// In the appender, when commands are gathered.
    SettleMarkOfOtherBranch,
    /// In `fork`, when a node switches.
    OrphansNotReproposed,
    /// In `fork`, when a node switches.
    MixedBranchesStop,
    /// In `load`, when a node starts or switches.
    SnapshotForEntries,
    /// In the ledger in memory.
    SettleWithoutCompare,
    /// In `settle`, after an answer was lost.
    SettleWithoutReread,
    /// In the ledger in memory.
    TermNotCompared,
    /// In `settle`, before a batch is written.
    ResultsDroppedEarly,
    /// In the leader's loop, and in its election.
    LeaderEndsOnRefusal,
    /// In the rules, when time passes.
    ServiceTimeUnbounded,
    /// In the rules, where a hold's units are chosen.
    PartialHolds,
    /// In the rules, when holds expire.
    ExpireOneEntryLate,
    /// In the rules, for a late confirm.
    RetakeFromOthers,
    /// In the rules, for a hold.
    NewHoldOnRepeat,
    /// In the rules, for a late confirm.
    ConfirmAfterExpiry,
    /// In the rules, where a hold's units are chosen.
    HoldTakenSeats,
    /// In the rules, where the next deadline is given.
    NoTickForHolds,
    /// In the intake, before a hold is judged.
    TakenWithoutMargin,
    /// In the intake, before a hold is judged.
    TakenWithoutElapsed,
    /// In the wait queue for seats.
    WaitQueueJumped,
    /// In the wait queue for seats.
    UnknownSeatsPassed,
    /// In the intake, for those who wait in line.
    PollWhileWaiting,
    /// In the intake, for those who wait in line.
    WaitForTickFirst,
    /// In the wait queue, when an entry was applied.
    FreedSeatsUnheard,
    /// In the journal in memory.
    AppendAnywhere,
    /// In the journal in memory.
    StoreTimeGoesBack,
    /// In the journal in memory.
    BackfillAnywhere,
    /// In the journal in memory.
    TrimPastSnapshot,
    /// In the journal in memory.
    PiecesDroppedAtOnce,
    /// In the simulated network.
    FreshConnectionCounts,
    /// In the encoding of commands.
    CommandNotMeasured,
    /// In the rules, for an extension of a hold.
    ExtendTwice,
    /// In the appender, when commands are gathered.
    LevelOfBuild,
    /// In the intake, before the space is raised.
    RaiseUnread,
    /// In `journal export`, before the last entries are written.
    ExportWithoutEnd,
    /// In the rules, for a claim in a campaign called `poison`.
    ClaimBreaksRule,
    /// In the rules, when a hold expires in a campaign called `poison`.
    ExpiryBreaksRule,
    /// In the rules, when an entry is skipped.
    SkipForgetsNumber,
    /// In the rules, for a cancel without a pool.
    CancelInFirstPool,
    /// In the rules, before an operator's command runs.
    IdsOfAllKeys,
    /// In the rules, when an operator bars a subject.
    BarKeepsHolds,
    /// In the rules, when an operator takes a bar back.
    UnbarIgnored,
    /// In the rules, when an operator cancels.
    CancelBars,
    /// In the rules, before a campaign is deleted.
    DeleteWithResults,
    /// In the rules, before a seat is changed.
    ChangeSoldSeats,
    /// In the rules, when something comes free that somebody waits for.
    FreedUnitsSkipList,
    /// In the rules, when a seat comes free while somebody who waits is to be looked at.
    FreedSeatsForgotten,
    /// In the rules, when waitlists are gone on with.
    ListTurnForgotten,
    /// In the rules, where the next one on a waitlist is chosen.
    WaitlistJumped,
    /// In the rules, for a claim while a waitlist is being served.
    ClaimPromisedUnits,
    /// In the rules, before somebody on a waitlist is offered something.
    OffersBeyondLimit,
    /// In the rules, when a campaign with a waitlist is over.
    EndForgetsList,
    /// In the rules, when an offer ends that nobody took.
    OffersWithoutEnd,
    /// In the rules, when an offer ends that nobody took.
    MissedOfferForgets,
    /// In the rules, when an operator bars a subject.
    BarKeepsPlace,
    /// In the rules, for a late confirm.
    RetakeBeforeList,
    /// In the rules, for a step on a code.
    OwnReservationRefuses,
    /// In the rules, for a step on a code.
    CodeUsedBeyondUses,
    /// In the rules, for a step on a code.
    RedeemTwice,
    /// In the rules, for a step on a code.
    RedeemAfterRollback,
    /// In the rules, for a step on a code.
    ReservationWithoutPriority,
    /// In the rules, for a step on a code.
    ExpiredUseComesBack,
    /// In the rules, for a step on a code.
    CodeOfAnybody,
    /// In the rules, for a step on a code.
    RevokedCodeCounts,
    /// In the rules, when codes are revoked.
    RevokeForgotten,
    /// In the rules, when a code is replaced.
    OldCodeForgotten,
    /// In the rules, when codes are imported.
    ChunkTakenTwice,
    /// In the rules, when codes are imported.
    TextOfTwoCodes,
    /// In the rules, when a claim is cancelled.
    CancelUsedCode,
    /// In the keys of codes, when a tag is made.
    TagOfNobody,
    /// In the keys of codes, when an imported one is looked for.
    SpellingCounts,
    /// In the rules, for a claim of who has an offer of a code.
    ClaimBesideOffer,
    /// In the rules, for a claim of who gave an imported code back.
    CancelDrainsCodes,
    /// In the rules, for a claim of whose imported code an operator withdrew.
    WithdrawnCodeBack,
    /// In the rules, when an operator's command is put on the list of acts.
    RefusedActForgotten,
    /// In the rules, before an operator's command runs.
    RepeatedActListed,
    /// In the rules, when a campaign is changed.
    PublicForgotten,
    /// In the events of a campaign, for a reader that was too slow.
    LaggedWithoutReset,
    /// In the intake, while a hold waits for a seat.
    BarredStaysInLine,
    /// In the intake, while a hold waits for a seat.
    BarredJumpsLine,
    /// In the intake, when a command that was refused is sent once more.
    FirstTryForgotten,
    /// In the healer, when the store has nothing of the space any more.
    NoMarkLeft,
    /// In what a store without a space means to who opens it.
    MarkIgnored,
}

/// Whether this build can make mistakes: tests and the simulation, which then also check what they can check only slowly.
pub const IS_ACTIVE: bool = cfg!(feature = "inject");

/// Says whether this thread is to make a mistake here.
#[cfg(not(feature = "inject"))]
#[inline(always)]
pub const fn inject(_mistake: Mistake) -> bool {
    false
}

/// Says how many levels this thread's build reads beyond those that there are: none.
#[cfg(not(feature = "inject"))]
#[inline(always)]
pub const fn invented_levels() -> u32 {
    0
}

#[cfg(feature = "inject")]
pub use injected::{inject, invent_level, invented_levels, set};

#[cfg(feature = "inject")]
mod injected {
    use super::Mistake;
    use std::cell::Cell;

    thread_local! {
        static MISTAKE: Cell<Option<Mistake>> = Cell::new(from_environment());
        static LEVELS: Cell<u32> =
            Cell::new(u32::from(std::env::var_os("FIRSTCOME_INJECT_LEVEL").is_some()));
    }

    /// Returns the mistake that `FIRSTCOME_INJECT` names.
    fn from_environment() -> Option<Mistake> {
        let name = std::env::var("FIRSTCOME_INJECT").ok()?;
        let found = Mistake::ALL.into_iter().find(|mistake| mistake.name() == name);
        Some(found.unwrap_or_else(|| panic!("there is no mistake {name:?}")))
    }

    /// Makes a mistake on this thread from now on, or none.
    ///
    /// Other threads are not affected: use it in a simulation on one thread, or in a test on a runtime of one thread.
    pub fn set(mistake: Option<Mistake>) {
        MISTAKE.set(mistake);
    }

    /// Has this thread's build read one level more than there is from now on, or not any more; with
    /// `FIRSTCOME_INJECT_LEVEL` in the environment every thread's does.
    pub fn invent_level(yes: bool) {
        LEVELS.set(u32::from(yes));
    }

    /// Says how many levels this thread's build reads beyond those that there are.
    pub fn invented_levels() -> u32 {
        LEVELS.get()
    }

    /// Says whether this thread is to make a mistake here.
    pub fn inject(mistake: Mistake) -> bool {
        MISTAKE.get() == Some(mistake)
    }
}

#[cfg(feature = "inject")]
impl Mistake {
    /// All mistakes.
    pub const ALL: [Self; 105] = {
        let mut all = [Self::PredecessorIgnored; TABLE.len()];
        let mut index = 0;
        while index < TABLE.len() {
            all[index] = TABLE[index].0;
            index += 1;
        }
        all
    };

    /// Returns its stable name, as `FIRSTCOME_INJECT` has it.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Says what is done wrong.
    pub fn sentence(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (Self, &'static str, &'static str) {
        &TABLE[self as usize]
    }
}

/// Every mistake in the order of the enum, its stable name, and what is done wrong.
#[cfg(feature = "inject")]
#[rustfmt::skip]
const TABLE: [(Mistake, &str, &str); 105] = [
    (Mistake::PredecessorIgnored, "predecessor_ignored", "an entry is applied, and appended to, without checking the name of its predecessor"),
    (Mistake::CopiesRunTwice, "copies_run_twice", "a batch that is stored twice runs twice"),
    (Mistake::WaitOnOtherConnection, "wait_on_other_connection", "copies are counted by a WAIT on a connection that did not write"),
    (Mistake::HeightForName, "height_for_name", "an entry at the same position is taken for the same entry, whatever its name"),
    (Mistake::BackfillWithNewTime, "backfill_with_new_time", "an entry is put back with the store's time now instead of its own"),
    (Mistake::AppendRightAfterFailover, "append_right_after_failover", "after a failover a node appends at once, before others can put back what they saw"),
    (Mistake::AnswerBeforeDurable, "answer_before_durable", "an answer leaves before what it rests on is known to be durable"),
    (Mistake::SettleBeforeDurable, "settle_before_durable", "results are settled that are applied and not yet durable"),
    (Mistake::AnswerWhileStale, "answer_while_stale", "answers are given from memory by a node that has not heard of the journal for long"),
    (Mistake::RepeatWinAfterCancel, "repeat_win_after_cancel", "an earlier win is repeated from memory though its subject may have cancelled it elsewhere"),
    (Mistake::NotFoundFromMemory, "not_found_from_memory", "a campaign is said not to exist by a node that may not have heard of it yet"),
    (Mistake::PartialReadIsCaughtUp, "partial_read_is_caught_up", "a read counts as caught up with the end of the journal, though more may be stored than was read"),
    (Mistake::BarrierByOlderLook, "barrier_by_older_look", "a look at the journal from before the question counts as caught up"),
    (Mistake::MinPositionIgnored, "min_position_ignored", "the position that a caller sends is not waited for"),
    (Mistake::NotOpenWithoutElapsed, "not_open_without_elapsed", "the store's clock is taken to stand where it stood when it was last heard"),
    (Mistake::UnavailableForUnknown, "unavailable_for_unknown", "a command that was sent is said to have changed nothing when its time is over"),
    (Mistake::NewNumberOnResend, "new_number_on_resend", "a batch that is sent again becomes another batch"),
    (Mistake::NameKeptOnResend, "name_kept_on_resend", "a batch that is sent again keeps the name under which it was sent"),
    (Mistake::ForkWithoutReport, "fork_without_report", "nobody is told who kept, changed or lost a rank in a fork"),
    (Mistake::SharedCodesCount, "shared_codes_count", "after a fork an imported code counts that two people know"),
    (Mistake::WriterKeptAfterFork, "writer_kept_after_fork", "a node that switches to another branch goes on writing under its old identity"),
    (Mistake::MarksCarriedOver, "marks_carried_over", "ticks and settle marks of an abandoned branch are appended to the next one"),
    (Mistake::SettleMarkOfOtherBranch, "settle_mark_of_other_branch", "a settle mark is appended to another branch than the one it was made on"),
    (Mistake::OrphansNotReproposed, "orphans_not_reproposed", "a node that switches to another branch appends nothing of its own again"),
    (Mistake::MixedBranchesStop, "mixed_branches_stop", "a node stops for good if the store goes on with another branch while this node reads one"),
    (Mistake::SnapshotForEntries, "snapshot_for_entries", "a node that begins with a snapshot keeps none of the entries before it"),
    (Mistake::SettleWithoutCompare, "settle_without_compare", "the ledger writes rows without comparing where it stands"),
    (Mistake::SettleWithoutReread, "settle_without_reread", "after a lost answer the leader settles on from where it believes the ledger to be"),
    (Mistake::TermNotCompared, "term_not_compared", "the ledger takes rows from a leader that was replaced"),
    (Mistake::ResultsDroppedEarly, "results_dropped_early", "results are marked as settled before the ledger has answered"),
    (Mistake::LeaderEndsOnRefusal, "leader_ends_on_refusal", "a node whose lock is refused once never stands for election again"),
    (Mistake::ServiceTimeUnbounded, "service_time_unbounded", "a jump of the store's clock counts as service time, all of it"),
    (Mistake::PartialHolds, "partial_holds", "a hold gets what is free of the seats it names, and not the rest"),
    (Mistake::ExpireOneEntryLate, "expire_one_entry_late", "a hold expires with the entry after the one that finds it due"),
    (Mistake::RetakeFromOthers, "retake_from_others", "who pays too late gets seats again that somebody else has"),
    (Mistake::NewHoldOnRepeat, "new_hold_on_repeat", "a hold that is asked for again under its id is another one"),
    (Mistake::ConfirmAfterExpiry, "confirm_after_expiry", "a hold that has expired is confirmed all the same"),
    (Mistake::HoldTakenSeats, "hold_taken_seats", "a seat that somebody holds is held for the next one as well"),
    (Mistake::NoTickForHolds, "no_tick_for_holds", "nobody appends a tick when a hold is due and nothing is asked"),
    (Mistake::TakenWithoutMargin, "taken_without_margin", "a hold is said to last by a node that may not have heard yet that it is over"),
    (Mistake::TakenWithoutElapsed, "taken_without_elapsed", "a hold is said to last by the time of the last entry, not by what passed since"),
    (Mistake::WaitQueueJumped, "wait_queue_jumped", "who waits for a seat takes it as soon as it is free, though others wait longer"),
    (Mistake::UnknownSeatsPassed, "unknown_seats_passed", "who waits for a seat takes it before those who came when this server did not know their seats yet"),
    (Mistake::PollWhileWaiting, "poll_while_waiting", "the journal is asked for a seat again and again while somebody waits for it"),
    (Mistake::WaitForTickFirst, "wait_for_tick_first", "who waits for a seat asks for it once a tick has ended the hold, and others before"),
    (Mistake::FreedSeatsUnheard, "freed_seats_unheard", "who waits for a seat is not told when somebody gives it back"),
    (Mistake::AppendAnywhere, "append_anywhere", "an append is taken whatever the entry is called that it rests on: only the height counts"),
    (Mistake::StoreTimeGoesBack, "store_time_goes_back", "an entry has the clock's time, even if that lies before the one of the entry before it"),
    (Mistake::BackfillAnywhere, "backfill_anywhere", "entries are put back wherever the journal ends"),
    (Mistake::TrimPastSnapshot, "trim_past_snapshot", "trimming drops what no snapshot covers"),
    (Mistake::PiecesDroppedAtOnce, "pieces_dropped_at_once", "the pieces of a snapshot go as soon as the newest manifest does not name them"),
    (Mistake::FreshConnectionCounts, "fresh_connection_counts", "a confirmation is believed of a connection on which nothing was written"),
    (Mistake::CommandNotMeasured, "command_not_measured", "a command is taken in that is larger than a batch"),
    (Mistake::ExtendTwice, "extend_twice", "an extension that is asked for again under its id moves the deadline again"),
    (Mistake::LevelOfBuild, "level_of_build", "bodies are written at the level of the build, though the space is at a lower one"),
    (Mistake::RaiseUnread, "raise_unread", "the space is raised though a server that is there cannot read what comes then"),
    (Mistake::ExportWithoutEnd, "export_without_end", "a space that is exported to be moved goes on in its store"),
    (Mistake::ClaimBreaksRule, "claim_breaks_rule", "a claim in the campaign poison breaks an invariant of the rules"),
    (Mistake::ExpiryBreaksRule, "expiry_breaks_rule", "a hold that expires in the campaign poison breaks an invariant of the rules"),
    (Mistake::SkipForgetsNumber, "skip_forgets_number", "a skipped batch that is stored a second time runs"),
    (Mistake::CancelInFirstPool, "cancel_in_first_pool", "a cancel without a pool is decided in the first pool, though the campaign has several"),
    (Mistake::IdsOfAllKeys, "ids_of_all_keys", "ids of operators' commands are looked up over all keys"),
    (Mistake::BarKeepsHolds, "bar_keeps_holds", "a subject that is barred keeps its live holds"),
    (Mistake::UnbarIgnored, "unbar_ignored", "a bar that is taken back stays"),
    (Mistake::CancelBars, "cancel_bars", "an operator's cancel bars its subject as well"),
    (Mistake::DeleteWithResults, "delete_with_results", "a campaign that has results is deleted"),
    (Mistake::ChangeSoldSeats, "change_sold_seats", "a seat that somebody has is changed after the opening"),
    (Mistake::FreedUnitsSkipList, "freed_units_skip_list", "what comes free goes to who asks next, and not to who waits"),
    (Mistake::FreedSeatsForgotten, "freed_seats_forgotten", "where seats came free is forgotten before those who wait for neighbours are looked at"),
    (Mistake::ListTurnForgotten, "list_turn_forgotten", "the waitlists of the first campaign are always gone on with first"),
    (Mistake::WaitlistJumped, "waitlist_jumped", "the last one on a waitlist is served before the first"),
    (Mistake::ClaimPromisedUnits, "claim_promised_units", "a claim takes what somebody on the waitlist is about to be offered"),
    (Mistake::OffersBeyondLimit, "offers_beyond_limit", "somebody on a waitlist is offered more than one may have"),
    (Mistake::EndForgetsList, "end_forgets_list", "who waits when a campaign is over never hears of it"),
    (Mistake::OffersWithoutEnd, "offers_without_end", "who lets every offer go is offered more and more"),
    (Mistake::MissedOfferForgets, "missed_offer_forgets", "who lets one offer go is off the waitlist"),
    (Mistake::BarKeepsPlace, "bar_keeps_place", "a subject that is barred keeps its place on a waitlist"),
    (Mistake::RetakeBeforeList, "retake_before_list", "a late confirm takes what somebody on the waitlist is about to be offered"),
    (Mistake::OwnReservationRefuses, "own_reservation_refuses", "a code's own reservation refuses it to the reference that has it"),
    (Mistake::CodeUsedBeyondUses, "code_used_beyond_uses", "a code is used more often than it may be"),
    (Mistake::RedeemTwice, "redeem_twice", "the same reference redeems a code once more when it asks again"),
    (Mistake::RedeemAfterRollback, "redeem_after_rollback", "a repeated redemption counts again after it was rolled back"),
    (Mistake::ReservationWithoutPriority, "reservation_without_priority", "a live reservation is refused when the code expires"),
    (Mistake::ExpiredUseComesBack, "expired_use_comes_back", "a use that is rolled back after the code expired comes back"),
    (Mistake::CodeOfAnybody, "code_of_anybody", "a code that only its holder may use is used by another"),
    (Mistake::RevokedCodeCounts, "revoked_code_counts", "a code that was revoked is redeemed"),
    (Mistake::RevokeForgotten, "revoke_forgotten", "a code that is revoked stays as it was"),
    (Mistake::OldCodeForgotten, "old_code_forgotten", "a code that was replaced is not known any more"),
    (Mistake::ChunkTakenTwice, "chunk_taken_twice", "lines of an import that come again are taken again"),
    (Mistake::TextOfTwoCodes, "text_of_two_codes", "a code comes in that is alike to one whose spelling does not count"),
    (Mistake::CancelUsedCode, "cancel_used_code", "a claim is cancelled whose code is used"),
    (Mistake::TagOfNobody, "tag_of_nobody", "the tag of a code is the same for every subject"),
    (Mistake::SpellingCounts, "spelling_counts", "an imported code is found only as it was spelled"),
    (Mistake::ClaimBesideOffer, "claim_beside_offer", "who was offered a code gets another one beside it, or is told that none is left"),
    (Mistake::CancelDrainsCodes, "cancel_drains_codes", "who claims again after a cancel gets another imported code"),
    (Mistake::WithdrawnCodeBack, "withdrawn_code_back", "an imported code whose claim an operator cancelled comes back"),
    (Mistake::RefusedActForgotten, "refused_act_forgotten", "what an operator was refused is not on the list of acts"),
    (Mistake::RepeatedActListed, "repeated_act_listed", "an operator's command that comes again under its id is on the list of acts twice"),
    (Mistake::PublicForgotten, "public_forgotten", "a campaign that is changed stays as public as it was"),
    (Mistake::LaggedWithoutReset, "lagged_without_reset", "a reader of events that was too slow is not told that it missed some"),
    (Mistake::BarredStaysInLine, "barred_stays_in_line", "who waits for a seat and is barred meanwhile hears of it when the time is over"),
    (Mistake::BarredJumpsLine, "barred_jumps_line", "who waits for a seat and is barred has the journal say so out of turn"),
    (Mistake::FirstTryForgotten, "first_try_forgotten", "a command that was refused is said to have changed nothing when it cannot be sent once more"),
    (Mistake::NoMarkLeft, "no_mark_left", "a server that runs leaves no mark in a store that was emptied"),
    (Mistake::MarkIgnored, "mark_ignored", "a server that starts begins a new space where the store is marked as emptied"),
];

#[cfg(all(test, feature = "inject"))]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_has_its_row_a_name_and_a_sentence_of_its_own() {
        for (index, (mistake, ..)) in TABLE.into_iter().enumerate() {
            assert_eq!(mistake as usize, index, "{mistake:?} is not in the order of the enum");
        }
        for of in [Mistake::name, Mistake::sentence] {
            let mut said: Vec<_> = Mistake::ALL.into_iter().map(of).collect();
            assert!(said.iter().all(|said| !said.is_empty()));
            said.sort_unstable();
            said.dedup();
            assert_eq!(said.len(), Mistake::ALL.len());
        }
    }

    #[test]
    fn a_mistake_is_made_on_one_thread_only() {
        set(Some(Mistake::CopiesRunTwice));
        assert!(inject(Mistake::CopiesRunTwice) && !inject(Mistake::HeightForName));
        let elsewhere = std::thread::spawn(|| inject(Mistake::CopiesRunTwice)).join();
        assert!(!elsewhere.unwrap());
        set(None);
        assert!(!inject(Mistake::CopiesRunTwice));
    }
}
