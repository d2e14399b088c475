//! What a node may say without the journal: a row for each outcome.

use firstcome_core::outcome::FromMemory;
use firstcome_core::{Outcome, Refusal, Timestamp};
use firstcome_inject::{Mistake, inject};

/// Whether an outcome may be given from this node's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Now,
    /// Once the state is caught up with the head of the journal; where this node alone writes, it is.
    AfterCatchingUp,
    Never,
}

/// Says whether an outcome of a claim or a hold may be given from this node's state, by a row each.
///
/// `latest` is the latest that the store's clock can say now, if that is known; `again` whether the campaign lets a
/// subject claim again after cancelling.
pub(crate) fn from_memory(outcome: &Outcome, latest: Option<Timestamp>, again: bool) -> When {
    match outcome {
        // The same yes again; where subjects may cancel and claim again, as of the head.
        Outcome::AlreadyWon { .. } if again && !inject(Mistake::RepeatWinAfterCancel) => {
            When::AfterCatchingUp
        }
        Outcome::AlreadyWon { .. } => When::Now,
        // The same hold again; only judged so if it lasts for more than two seconds still. Until then its units stay
        // the subject's, who alone can give them back.
        Outcome::AlreadyHeld(_) => When::Now,
        // Units are named where they are judged with that margin, and nowhere else.
        Outcome::RefusedFor(named) if is_about_units(named.refusal) => {
            refused(named.refusal, latest)
        }
        Outcome::Refused(refusal) if !is_about_units(*refusal) => refused(*refusal, latest),
        Outcome::RefusedFor(_)
        | Outcome::Refused(_)
        | Outcome::Code(_)
        | Outcome::Held(_)
        | Outcome::Extended { .. }
        | Outcome::Released(_)
        | Outcome::Confirmed(_)
        | Outcome::RefundDue(_)
        | Outcome::Imported { .. }
        | Outcome::Blocked { .. }
        | Outcome::Unblocked { .. }
        | Outcome::Moved(_)
        | Outcome::SeatsChanged { .. }
        | Outcome::BarSet { .. }
        | Outcome::BarLifted { .. }
        | Outcome::Deleted
        // A place is read, not asked for: whoever joins goes through the journal.
        | Outcome::Waitlisted { .. }
        | Outcome::Offered(_)
        | Outcome::LeftWaitlist { .. }
        | Outcome::Won { .. }
        | Outcome::Cancelled { .. }
        | Outcome::Created { .. }
        | Outcome::Changed { .. }
        | Outcome::Unchanged { .. }
        | Outcome::Raised { .. }
        | Outcome::Ticked
        | Outcome::Settled { .. } => When::Never,
    }
}

fn is_about_units(refusal: Refusal) -> bool {
    matches!(refusal, Refusal::UnitTaken | Refusal::NoSuchUnit)
}

fn refused(refusal: Refusal, latest: Option<Timestamp>) -> When {
    match refusal.from_memory() {
        FromMemory::Now => When::Now,
        FromMemory::Before(moment) if latest.is_some_and(|latest| latest < moment) => When::Now,
        FromMemory::AfterCatchingUp
            if inject(Mistake::NotFoundFromMemory) && !is_about_units(refusal) =>
        {
            When::Now
        }
        FromMemory::AfterCatchingUp => When::AfterCatchingUp,
        FromMemory::Before(_) | FromMemory::Never => When::Never,
    }
}
