//! What a node may say without the journal: a row for each outcome.

use firstcome_core::{Outcome, Refusal, Timestamp};
use firstcome_inject::{Mistake, inject};

/// Whether an outcome may be given from this node's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FromMemory {
    Now,
    /// Once the state is caught up with the head of the journal; where this node alone writes, it is.
    AfterCatchingUp,
    Never,
}

/// Says whether an outcome of a claim or a hold may be given from this node's state, by a row each.
///
/// `latest` is the latest that the store's clock can say now, if that is known; `again` whether the campaign lets a
/// subject claim again after cancelling.
pub(super) fn from_memory(outcome: &Outcome, latest: Option<Timestamp>, again: bool) -> FromMemory {
    match outcome {
        // The same yes again; where subjects may cancel and claim again, as of the head.
        Outcome::AlreadyWon { .. } if again && !inject(Mistake::RepeatWinAfterCancel) => {
            FromMemory::AfterCatchingUp
        }
        Outcome::AlreadyWon { .. } => FromMemory::Now,
        // The same hold again; only judged so if it lasts for more than two seconds still. Until then its units stay
        // the subject's, who alone can give them back.
        Outcome::AlreadyHeld(_) => FromMemory::Now,
        Outcome::RefusedFor(named) => match named.refusal {
            // Only judged so if others have them for more than two seconds still.
            Refusal::UnitTaken => FromMemory::Now,
            // Somebody may just have added it on another node.
            Refusal::NoSuchUnit => FromMemory::AfterCatchingUp,
            // The subject's own affairs, what may have changed just now, and what no hold is answered with.
            Refusal::NotFound(_)
            | Refusal::Archived
            | Refusal::PoolRequired
            | Refusal::AlreadyCancelled
            | Refusal::NotAdmitted
            | Refusal::Paused
            | Refusal::NotOpen { .. }
            | Refusal::Closed
            | Refusal::LimitReached
            | Refusal::SoldOut
            | Refusal::NoSuchClaim
            | Refusal::IdReused
            | Refusal::VersionMismatch { .. }
            | Refusal::NotChangeable(_)
            | Refusal::ClosesTooEarly
            | Refusal::NotClosed
            | Refusal::Unsettled
            | Refusal::BeyondResults
            | Refusal::HoldRequired
            | Refusal::HasHold
            | Refusal::NotForSale
            | Refusal::TooManyHolds
            | Refusal::TooManyUnits
            | Refusal::OrphanLeft
            | Refusal::NoSuchHold
            | Refusal::NotYours
            | Refusal::HoldExpired
            | Refusal::HoldReleased
            | Refusal::AlreadyConfirmed
            | Refusal::NotHeld
            | Refusal::NotSeated
            | Refusal::BadSeat => FromMemory::Never,
        },
        Outcome::Refused(refusal) => match refusal {
            // As of the position.
            Refusal::SoldOut | Refusal::Closed | Refusal::Paused => FromMemory::Now,
            // Nothing undoes it.
            Refusal::Archived => FromMemory::Now,
            // Somebody may just have created it on another node.
            Refusal::NotFound(_) | Refusal::PoolRequired => {
                if inject(Mistake::NotFoundFromMemory) {
                    FromMemory::Now
                } else {
                    FromMemory::AfterCatchingUp
                }
            }
            // Only if the store's clock cannot be there yet.
            Refusal::NotOpen { opens_at } => match opens_at {
                Some(opens_at) if latest.is_none_or(|latest| latest >= *opens_at) => {
                    FromMemory::Never
                }
                Some(_) | None => FromMemory::Now,
            },
            // The subject's own affairs, and what no claim is answered with.
            Refusal::AlreadyCancelled
            | Refusal::NotAdmitted
            | Refusal::LimitReached
            | Refusal::NoSuchClaim
            | Refusal::IdReused
            | Refusal::VersionMismatch { .. }
            | Refusal::NotChangeable(_)
            | Refusal::ClosesTooEarly
            | Refusal::NotClosed
            | Refusal::Unsettled
            | Refusal::BeyondResults
            | Refusal::HoldRequired
            | Refusal::HasHold
            | Refusal::NoSuchUnit
            | Refusal::NotForSale
            | Refusal::TooManyHolds
            | Refusal::TooManyUnits
            | Refusal::UnitTaken
            | Refusal::OrphanLeft
            | Refusal::NoSuchHold
            | Refusal::NotYours
            | Refusal::HoldExpired
            | Refusal::HoldReleased
            | Refusal::AlreadyConfirmed
            | Refusal::NotHeld
            | Refusal::NotSeated
            | Refusal::BadSeat => FromMemory::Never,
        },
        Outcome::Held(_)
        | Outcome::Extended { .. }
        | Outcome::Released(_)
        | Outcome::Confirmed(_)
        | Outcome::RefundDue(_)
        | Outcome::Imported { .. }
        | Outcome::Blocked { .. }
        | Outcome::Unblocked { .. }
        | Outcome::Moved(_)
        | Outcome::Won { .. }
        | Outcome::Cancelled { .. }
        | Outcome::Created { .. }
        | Outcome::Changed { .. }
        | Outcome::Unchanged { .. }
        | Outcome::Ticked
        | Outcome::Settled { .. } => FromMemory::Never,
    }
}
