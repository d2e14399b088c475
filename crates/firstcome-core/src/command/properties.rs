//! What is true of a command whatever it asks.

use super::{Command, Mark};

impl Command<'_> {
    /// Gives what the sender knew of its own state, where the command carries it.
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
            | Self::Move { .. } => None,
        }
    }

    /// Says whether it means something only in the history it was written in: ticks carry that history's digest, settle
    /// marks the number up to which a ledger has its results.
    pub fn is_bound_to_its_history(&self) -> bool {
        self.mark().is_some()
    }

    /// Says whether a yes to it makes results, which wait for the ledger.
    pub fn makes_results(&self) -> bool {
        match self {
            Self::Claim { .. } | Self::Cancel { .. } | Self::Confirm { .. } | Self::Move { .. } => {
                true
            }
            Self::Put { .. }
            | Self::Steer { .. }
            | Self::Hold { .. }
            | Self::Change { .. }
            | Self::Extend { .. }
            | Self::Release { .. }
            | Self::Seats { .. }
            | Self::Block { .. }
            | Self::Tick { .. }
            | Self::Settled { .. } => false,
        }
    }
}
