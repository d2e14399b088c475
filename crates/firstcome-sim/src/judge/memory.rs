//! Checks the answers from memory, outcome by outcome.
//!
//! | Outcome | From memory |
//! |---|---|
//! | `already_won` | if it is so at its position, which was a head of late; where subjects may claim again, since the question |
//! | `sold_out`, `closed`, `paused` | if it is so at its position, which was a head of late |
//! | `not_open` | the same, and the store's clock had not reached the opening |
//! | `already_held` | as `sold_out` |
//! | `unit_taken` | as `sold_out`, and the owner of the unit has it for more than two seconds still |
//! | `not_found`, `pool_required`, `no_such_unit`, `barred` | if it is so at its position, which was a head since the question |
//! | `no_such_code` | the same |
//! | `archived` | if it is so at its position: nothing undoes it |
//! | `unchanged` | of a campaign that is as asked, at a position that was a head since the question |
//! | everything else | never |
//!
//! "Of late" is at most a second before the question, or since: that long an exchange with the store
//! counts as fresh.

use super::replay::Replay;
use super::tree::Tree;
use super::{Broken, Story};
use crate::history::{Exchange, History, Moment};
use firstcome_core::names::Position;
use firstcome_core::{CodeRefusal, Outcome, Refusal, Timestamp};
use firstcome_model::Seen;
use std::time::Duration;

/// How old an exchange with the store may be that answers from memory rest on, and what clocks and
/// timers may add.
const FRESH: Duration = Duration::from_secs(1);
const SLACK: Duration = Duration::from_millis(20);
/// How long the owner of a unit must have it still, and how much of a step counts as service: in microseconds.
const TAKEN_FOR: i64 = 2_000_000;
const STEP: i64 = 15_000_000;
/// How long after the store's clock was set a server may not know what it says.
const CLOCK_SETTLES: Duration = Duration::from_secs(2);

/// How long a primary that was replaced may be there for those who still talk to it.
const LINGERS: Duration = Duration::from_secs(5);

/// How long a server may go on reading from a primary that became a copy and kept its connections.
const DEMOTION_SHOWS: Duration = Duration::from_secs(3);

/// What a row of the table demands of the position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    Any,
    Fresh,
    NotOpen,
    Taken,
    CaughtUp,
    Never,
}

fn row(outcome: &Outcome, again: bool) -> Row {
    match outcome {
        Outcome::AlreadyWon { .. } if again => Row::CaughtUp,
        Outcome::AlreadyWon { .. } => Row::Fresh,
        Outcome::Unchanged { .. } => Row::CaughtUp,
        Outcome::Refused(refusal) => match refusal {
            Refusal::SoldOut | Refusal::Closed | Refusal::Paused => Row::Fresh,
            Refusal::NotOpen { .. } => Row::NotOpen,
            Refusal::NotFound(_)
            | Refusal::PoolRequired
            | Refusal::Barred
            | Refusal::Code(CodeRefusal::NoSuchCode) => Row::CaughtUp,
            Refusal::Archived => Row::Any,
            Refusal::AlreadyCancelled
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
            | Refusal::BadSeat
            | Refusal::TooManyBars
            | Refusal::Code(_)
            | Refusal::HasResults
            | Refusal::NoWaitlist
            | Refusal::WaitlistFull
            | Refusal::TooManyWishes
            | Refusal::IsOffer => Row::Never,
        },
        Outcome::AlreadyHeld(_) => Row::Fresh,
        Outcome::RefusedFor(named) if named.refusal == Refusal::UnitTaken => Row::Taken,
        Outcome::RefusedFor(named) if named.refusal == Refusal::NoSuchUnit => Row::CaughtUp,
        Outcome::Held(_)
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
        | Outcome::Waitlisted { .. }
        | Outcome::Offered(_)
        | Outcome::LeftWaitlist { .. }
        | Outcome::Code(_)
        | Outcome::RefusedFor(_)
        | Outcome::Won { .. }
        | Outcome::Cancelled { .. }
        | Outcome::Created { .. }
        | Outcome::Changed { .. }
        | Outcome::Raised { .. }
        | Outcome::Ticked
        | Outcome::Settled { .. } => Row::Never,
    }
}

/// Checks an answer from memory; gives the entry that made it true and the one it is as of.
pub(super) fn check(
    history: &History,
    tree: &Tree<'_>,
    replay: &Replay<'_>,
    number: usize,
    outcome: &Outcome,
    position: Position,
) -> Result<(usize, Option<usize>), Broken> {
    let exchange = &history.exchanges[number];
    let broken = |promise, instead: &str| {
        Err(Broken::new(promise, format!("{}, but {instead}", Story(exchange))))
    };
    if row(outcome, false) == Row::Never {
        return broken("memory_never_decides", "only the journal may say that");
    }
    let vertices = tree.at(position.epoch, position.position).iter();
    // What another branch had at that position only later, nobody had in memory.
    let seen = vertices.filter(|vertex| tree.was_there(**vertex, exchange.heard_at)).filter_map(
        |vertex| replay.seen.get(&(number, *vertex)).map(|seen| (*vertex, seen.as_ref())),
    );
    let mut instead = "no server ever had an entry there".to_owned();
    let mut so: Vec<(usize, &Seen)> = Vec::new();
    for (vertex, seen) in seen {
        match seen {
            Some(seen) if seen.outcome == *outcome => so.push((vertex, seen)),
            Some(seen) => instead = format!("the rules say {:?} there", seen.outcome),
            None => instead = "the rules would not say no there".to_owned(),
        }
    }
    let Some((vertex, seen)) = so.first() else {
        return broken("memory_true", &instead);
    };
    let found = Ok((seen.origin, tree.vertices[*vertex].stored));
    let was_head =
        |from: Moment| so.iter().any(|(vertex, _)| tree.was_head(*vertex, from, exchange.heard_at));
    let row = row(outcome, seen.again);
    let (first, heard_at) = (exchange.asked_at.saturating_sub(DEMOTION_SHOWS), exchange.heard_at);
    let by_a_copy = history.demotions.iter().any(|one| (first..=heard_at).contains(one));
    match row {
        Row::Any => {}
        Row::Fresh | Row::NotOpen | Row::Taken => {
            if !by_a_copy && !was_head(exchange.asked_at.saturating_sub(FRESH + SLACK)) {
                return broken("memory_fresh", "no server had ended there for more than a second");
            }
        }
        Row::CaughtUp => {
            if !by_a_copy && !was_head(exchange.asked_at) {
                return broken("memory_caught_up", "no server ended there since the question");
            }
        }
        Row::Never => return broken("memory_never_decides", "only the journal may say that"),
    }
    if row == Row::NotOpen && !by_a_copy && has_opened(history, exchange, outcome) {
        return broken("memory_not_open_yet", "the store's clock had reached the opening");
    }
    let until = |(vertex, seen): &(usize, &Seen)| {
        Some((tree.stored[tree.vertices[*vertex].stored?].entry.at, seen.left?))
    };
    // Of two branches that have it at that position only one is that of who answered.
    let ends_soon = |one| until(one).is_some_and(|(at, left)| !lasts(history, exchange, at, left));
    if row == Row::Taken && !by_a_copy && so.iter().all(ends_soon) {
        return broken("memory_taken_lasts", "it may be free again within two seconds");
    }
    found
}

/// Says whether the store's clock had surely reached the opening when a caller asked.
fn has_opened(history: &History, exchange: &Exchange, outcome: &Outcome) -> bool {
    let Outcome::Refused(Refusal::NotOpen { opens_at: Some(opens_at) }) = outcome else {
        return false;
    };
    is_clock_sure(history, exchange) && exchange.clock_at >= *opens_at
}

/// Says whether what had this much service left at an entry's time had more than two seconds of it left when somebody
/// asked, or may have had as far as clocks show.
fn lasts(history: &History, exchange: &Exchange, at: Timestamp, left: i64) -> bool {
    let since = exchange.clock_at.micros_since(at).clamp(0, STEP);
    !is_clock_sure(history, exchange) || left - since > TAKEN_FOR
}

/// Says whether everybody must know what the store's clock said when a caller asked.
fn is_clock_sure(history: &History, exchange: &Exchange) -> bool {
    let since = exchange.asked_at.saturating_sub(CLOCK_SETTLES);
    let of_late = |moment: Moment| since <= moment && moment <= exchange.heard_at;
    let set = history.clock_steps.iter().any(|(moment, _)| of_late(*moment));
    // Another server has a clock of its own, and some may still talk to the one it took over from.
    let since = exchange.asked_at.saturating_sub(CLOCK_SETTLES + LINGERS);
    let other =
        history.failovers.iter().any(|(turned, _)| (since..=exchange.heard_at).contains(turned));
    !set && !other
}
