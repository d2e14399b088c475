//! Checks that acknowledged holds and seats are kept.
//!
//! The entry is in the final journal, and then it is what the rules made of it; or its batch was brought there, ran again
//! and came to the same; or a fork's list says of the hold what it has now.

use super::answers::HeardAnswer;
use super::excuses::Excuses;
use super::replay::Replay;
use super::tree::Tree;
use firstcome_core::command::{CodeCommand, CodeStep};
use firstcome_core::outcome::UnitName;
use firstcome_core::results::Kind;
use firstcome_core::{CodeOutcome, Command, Outcome};
use std::collections::{BTreeMap, BTreeSet};

/// What came of a promise.
pub(super) enum PromiseFate {
    Kept,
    /// It stands in a fork's list.
    Listed,
    /// It does not hold: this is so instead.
    Gone(String),
}

/// Holds of all histories, and what excuses that one has not what it had.
pub(super) struct Holds<'h> {
    pub(super) replay: &'h Replay<'h>,
    pub(super) excuses: &'h Excuses<'h>,
    /// Claims that were undone in any history: campaign, pool, rank, subject.
    pub(super) undone: BTreeSet<(&'h str, &'h str, u32, &'h str)>,
    /// Units of a hold that an operator exchanged: campaign, hold, unit.
    moved: BTreeSet<(&'h str, &'h str, &'h str)>,
    /// Holds from which units were dropped.
    dropped: BTreeSet<(&'h str, &'h str)>,
    /// The hold of each claim that came from one: campaign, pool, rank, subject.
    ranks: BTreeMap<(&'h str, &'h str, u32, &'h str), Vec<&'h str>>,
}

impl<'h> Holds<'h> {
    pub(super) fn of(tree: &'h Tree<'h>, replay: &'h Replay<'h>, excuses: &'h Excuses<'h>) -> Self {
        let mut holds = Self {
            replay,
            excuses,
            undone: BTreeSet::new(),
            moved: BTreeSet::new(),
            dropped: BTreeSet::new(),
            ranks: BTreeMap::new(),
        };
        for event in replay.events.iter().flatten() {
            let Some((kind, claimed)) = event.result() else { continue };
            let claim = (claimed.campaign, &*claimed.pool, claimed.rank, claimed.subject);
            if kind == Kind::Cancel {
                holds.undone.insert(claim);
            }
            let of_a_code = matches!(kind, Kind::Redeemed | Kind::RolledBack | Kind::CodeMarked);
            let Some(hold) = claimed.hold.filter(|_| !of_a_code) else { continue };
            if kind == Kind::Moved {
                holds.moved.extend(claimed.from.map(|from| (claimed.campaign, hold, from)));
            }
            holds.ranks.entry(claim).or_default().push(hold);
        }
        for command in tree.commands.iter().flatten() {
            if let Command::Change { step, drop, .. } = command
                && !drop.is_empty()
            {
                holds.dropped.insert((step.campaign, step.hold));
            }
        }
        holds
    }

    /// Says whether a list has what became of the hold that a claim came from.
    pub(super) fn listed(
        &self,
        (campaign, pool, subject): (&str, &str, &str),
        rank: u32,
    ) -> Option<PromiseFate> {
        let mut holds = self.ranks.get(&(campaign, pool, rank, subject))?.iter();
        holds.any(|hold| self.excuses.names_hold(campaign, hold)).then_some(PromiseFate::Listed)
    }

    /// Says what came of a redemption, or of its rollback.
    fn fate_of_use(&self, step: &CodeStep<'_>, redeemed: bool) -> PromiseFate {
        let CodeStep { campaign, pool, code, reference } = *step;
        let Some(found) = self.replay.last.campaign(campaign) else {
            return PromiseFate::Gone("there is no such campaign".into());
        };
        let is_so =
            |(was, rolled_back): (bool, bool)| if redeemed { was } else { rolled_back || !was };
        if found.redeemed(pool, code, reference).is_some_and(is_so) {
            return PromiseFate::Kept;
        }
        if self.excuses.names_reference(campaign, reference) {
            return PromiseFate::Listed;
        }
        PromiseFate::Gone(format!(
            "{reference:?} has not what it had of the code, and no list names it"
        ))
    }

    /// Says what came of a yes about a hold or about seats.
    pub(super) fn fate(
        &self,
        command: &Command<'_>,
        outcome: &Outcome,
        heard: &HeardAnswer,
    ) -> PromiseFate {
        if self.excuses.is_final(heard.origin) {
            return PromiseFate::Kept;
        }
        let campaign = command.campaign().unwrap_or_default();
        let id = match command {
            // Under whichever id it was asked for, the hold is the one that the answer names.
            Command::Hold { id, .. } => {
                if let Outcome::AlreadyHeld(held) = outcome {
                    &held.hold
                } else {
                    *id
                }
            }
            Command::Change { step, .. } | Command::Confirm { step, .. } => step.hold,
            Command::Code(CodeCommand::Redeem { step, .. } | CodeCommand::RollBack { step }) => {
                let is = |code: &CodeOutcome| matches!(code, CodeOutcome::Redeemed { .. });
                let redeemed = matches!(outcome, Outcome::Code(code) if is(code));
                return self.fate_of_use(step, redeemed);
            }
            // Brought to another history it has done there what it could.
            Command::Extend { .. }
            | Command::Release { .. }
            | Command::Seats { .. }
            | Command::Block { .. }
            | Command::Move { .. }
            | Command::ChangeSeats { .. }
            | Command::Bar { .. }
            | Command::Unbar { .. }
            | Command::Join { .. }
            | Command::Leave { .. }
            | Command::Claim { .. }
            | Command::Cancel { .. }
            | Command::Put { .. }
            | Command::Steer { .. }
            | Command::Code(_)
            | Command::Raise { .. }
            | Command::Tick { .. }
            | Command::Settled { .. } => {
                return if self.excuses.is_brought(heard.origin, self.replay) {
                    PromiseFate::Kept
                } else {
                    PromiseFate::Gone("its batch never ran there".into())
                };
            }
        };
        if self.excuses.names_hold(campaign, id) {
            return PromiseFate::Listed;
        }
        let found = self.replay.last.campaign(campaign);
        let Some((found, now)) = found.and_then(|found| Some((found, found.hold_of(id)?))) else {
            return PromiseFate::Gone(format!("there is no hold {id:?}, and no list names it"));
        };
        let gave_up = |unit: &UnitName| {
            let moved = |unit: &str| self.moved.contains(&(campaign, id, unit));
            self.dropped.contains(&(campaign, id)) || unit.unit.as_deref().is_some_and(moved)
        };
        if found.has_as_told(now, outcome, gave_up) {
            return PromiseFate::Kept;
        }
        PromiseFate::Gone(format!("hold {id:?} is {now:?}, and no list names it"))
    }
}
