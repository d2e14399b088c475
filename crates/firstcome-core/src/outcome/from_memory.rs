//! Which refusals a node may answer from its own state, without the journal.

use super::codes::CodeRefusal;
use super::refusal::Refusal;
use crate::time::Timestamp;

/// Whether a node may give an answer from its own state, without the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromMemory {
    /// As of the state's position.
    Now,
    /// As long as the store's clock cannot have reached this moment.
    Before(Timestamp),
    /// Once the state has caught up with the head of the journal; where one node alone writes, it has.
    AfterCatchingUp,
    /// The journal has to decide.
    Never,
}

impl Refusal {
    /// Says whether a claim or a hold may be refused with this from a node's state.
    pub fn from_memory(self) -> FromMemory {
        match self {
            Self::SoldOut | Self::Closed | Self::Paused => FromMemory::Now,
            // Nothing undoes it.
            Self::Archived => FromMemory::Now,
            // Found only for units that others have for longer than a margin.
            Self::UnitTaken => FromMemory::Now,
            Self::NotOpen { opens_at: Some(opens_at) } => FromMemory::Before(opens_at),
            Self::NotOpen { opens_at: None } => FromMemory::Now,
            // It may just have been created, or the bar lifted, through another node.
            Self::NotFound(_) | Self::PoolRequired | Self::NoSuchUnit | Self::Barred => {
                FromMemory::AfterCatchingUp
            }
            Self::Code(refusal) => refusal.from_memory(),
            // What depends on the subject's own commands, what may have changed just now, and what no claim and no hold
            // is refused with.
            Self::AlreadyCancelled
            | Self::LimitReached
            | Self::NoSuchClaim
            | Self::IdReused
            | Self::VersionMismatch { .. }
            | Self::NotChangeable(_)
            | Self::ClosesTooEarly
            | Self::NotClosed
            | Self::Unsettled
            | Self::BeyondResults
            | Self::HoldRequired
            | Self::HasHold
            | Self::NotForSale
            | Self::TooManyHolds
            | Self::TooManyUnits
            | Self::OrphanLeft
            | Self::NoSuchHold
            | Self::NotYours
            | Self::HoldExpired
            | Self::HoldReleased
            | Self::AlreadyConfirmed
            | Self::NotHeld
            | Self::NotSeated
            | Self::BadSeat
            | Self::TooManyBars
            | Self::HasResults
            | Self::NoWaitlist
            | Self::WaitlistFull
            | Self::TooManyWishes
            | Self::IsOffer => FromMemory::Never,
        }
    }
}

impl CodeRefusal {
    /// Says whether a step on a code may be refused with this from a node's state.
    pub fn from_memory(self) -> FromMemory {
        // A code this state does not know may just have been issued through another node.
        if let Self::NoSuchCode | Self::NotIssued | Self::NotCoded = self {
            FromMemory::AfterCatchingUp
        } else {
            FromMemory::Never
        }
    }
}
