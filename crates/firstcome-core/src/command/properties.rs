//! Properties of a command, whatever the state: each once, with a row for every kind.

use super::{Command, Mark, Pick, Wanted};
use crate::LEVEL;
use crate::limits::{GROUP_SEATS, HOLD_UNITS};

impl Command<'_> {
    /// Returns the lowest level at which the command can be written.
    pub fn level(&self) -> u32 {
        if let Self::Raise { level, .. } = self { *level } else { LEVEL }
    }

    /// Returns the digest that the sender had at a position, if the command carries one.
    pub fn mark(&self) -> Option<Mark> {
        match self {
            Self::Tick { mark } | Self::Settled { mark, .. } => Some(*mark),
            Self::Claim { .. }
            | Self::Cancel { .. }
            | Self::Put { .. }
            | Self::Steer { .. }
            | Self::Hold { .. }
            | Self::Change { .. }
            | Self::Extend { .. }
            | Self::Release { .. }
            | Self::Confirm { .. }
            | Self::Seats { .. }
            | Self::Block { .. }
            | Self::Move { .. }
            | Self::ChangeSeats { .. }
            | Self::Bar { .. }
            | Self::Unbar { .. }
            | Self::Join { .. }
            | Self::Leave { .. }
            | Self::Code(_)
            | Self::Raise { .. } => None,
        }
    }

    /// Says whether the command is only true on the branch of the journal it was written for, so that it is never
    /// proposed again on another one: a tick carries a digest of that branch, a settle mark also a number of its results.
    pub fn is_bound_to_its_branch(&self) -> bool {
        self.mark().is_some()
    }

    /// Says whether a yes to the command may make results, which are kept until a ledger has them.
    pub fn makes_results(&self) -> bool {
        match self {
            Self::Claim { .. }
            | Self::Cancel { .. }
            | Self::Confirm { .. }
            | Self::Join { .. }
            | Self::Move { .. } => true,
            Self::Code(code) => code.makes_results(),
            Self::Put { .. }
            | Self::Steer { .. }
            | Self::Hold { .. }
            | Self::Change { .. }
            | Self::Extend { .. }
            | Self::Release { .. }
            | Self::Seats { .. }
            | Self::Block { .. }
            | Self::ChangeSeats { .. }
            | Self::Bar { .. }
            | Self::Unbar { .. }
            | Self::Leave { .. }
            | Self::Raise { .. }
            | Self::Tick { .. }
            | Self::Settled { .. } => false,
        }
    }

    /// Returns its lists of picks, each of which names units of one hold.
    pub(crate) fn pick_lists(&self) -> [&[Pick<'_>]; 2] {
        match self {
            Self::Hold { picks, .. } => [picks, &[]],
            Self::Change { add, drop, .. } => [add, drop],
            Self::Confirm { units, .. } | Self::Release { units, .. } => [units, &[]],
            Self::Claim { .. }
            | Self::Cancel { .. }
            | Self::Put { .. }
            | Self::Steer { .. }
            | Self::Extend { .. }
            | Self::Seats { .. }
            | Self::Block { .. }
            | Self::Move { .. }
            | Self::ChangeSeats { .. }
            | Self::Bar { .. }
            | Self::Unbar { .. }
            | Self::Join { .. }
            | Self::Leave { .. }
            | Self::Code(_)
            | Self::Raise { .. }
            | Self::Tick { .. }
            | Self::Settled { .. } => [&[], &[]],
        }
    }

    /// Says whether it names so many units that, if all were the largest groups, a hold could not have them: only then
    /// [`Campaign::names_too_much`](crate::campaign::Campaign::names_too_much) can say yes.
    pub fn may_name_too_much(&self) -> bool {
        let names = |pick: &Pick<'_>| match &pick.wanted {
            Wanted::Units(names) => names.len(),
            Wanted::Quantity { .. } | Wanted::Best(_) => 0,
        };
        let many =
            |picks: &[Pick<'_>]| picks.iter().map(names).sum::<usize>() * GROUP_SEATS > HOLD_UNITS;
        self.pick_lists().into_iter().any(many)
    }
}
