//! Outcomes as scripts write them, with everything they carry.

use crate::coding;
use crate::world::{SECOND, START};
use firstcome_core::outcome::UnitName;
use firstcome_core::{Outcome, Refusal, Timestamp};

pub(crate) fn shown_time(at: Timestamp) -> String {
    match at.micros_since(START) {
        whole if whole % SECOND == 0 => format!("{}s", whole / SECOND),
        micros => format!("{micros}us"),
    }
}

/// Writes a unit: a seat by its name, with its pool before it if that is not `main`; otherwise its pool.
pub(crate) fn unit(unit: &UnitName) -> String {
    match &unit.unit {
        None => unit.pool.to_string(),
        Some(name) if *unit.pool == *"main" => name.to_string(),
        Some(name) => format!("{}/{name}", unit.pool),
    }
}

/// Writes units, those that are alike once with their number.
pub(crate) fn units(units: &[UnitName]) -> String {
    let alike = units.chunk_by(|a, b| a == b);
    let one = |alike: &[UnitName]| match alike {
        [one] => format!(" {}", unit(one)),
        many => format!(" {}*{}", unit(&many[0]), many.len()),
    };
    alike.map(one).collect()
}

fn left(left: u32) -> String {
    if left == 0 { String::new() } else { format!(" left {left}") }
}

/// Writes the outcomes of one entry.
pub(crate) fn shown_all(outcomes: &[Outcome], now: Timestamp) -> String {
    outcomes.iter().map(|outcome| shown(outcome, now)).collect::<Vec<_>>().join(" | ")
}

/// Writes an outcome with everything it carries, so that a script pins all of it.
fn shown(outcome: &Outcome, now: Timestamp) -> String {
    let name = outcome.as_str();
    let refused = |refusal: &Refusal| match refusal {
        Refusal::NotFound(missing) => format!("{name} {}", format!("{missing:?}").to_lowercase()),
        Refusal::NotOpen { opens_at: Some(at) } => format!("{name} until {}", shown_time(*at)),
        Refusal::VersionMismatch { version } => format!("{name} {version}"),
        Refusal::NotChangeable(fixed) => format!("{name} {}", fixed.as_str()),
        Refusal::Code(refusal) => format!("{name}{}", coding::refused(*refusal)),
        Refusal::NotOpen { opens_at: None }
        | Refusal::Archived
        | Refusal::PoolRequired
        | Refusal::AlreadyCancelled
        | Refusal::Paused
        | Refusal::Closed
        | Refusal::LimitReached
        | Refusal::SoldOut
        | Refusal::NoSuchClaim
        | Refusal::IdReused
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
        | Refusal::Barred
        | Refusal::TooManyBars
        | Refusal::HasResults
        | Refusal::NoWaitlist
        | Refusal::WaitlistFull
        | Refusal::TooManyWishes
        | Refusal::IsOffer => name.into(),
    };
    match outcome {
        Outcome::Won { rank, at, .. } => {
            assert_eq!(*at, now, "a claim is won when its entry was stored");
            format!("{name} {rank}")
        }
        Outcome::AlreadyWon { rank, at, .. } => format!("{name} {rank} at {}", shown_time(*at)),
        Outcome::Cancelled { by, at } => {
            format!("{name} by {} at {}", by.as_str(), shown_time(*at))
        }
        Outcome::Created { version } | Outcome::Unchanged { version } => {
            format!("{name} {version}")
        }
        Outcome::Changed { version, clamped } => {
            let clamped = clamped.iter().map(|c| format!(", {} only to {}", c.pool, c.capacity));
            format!("{name} {version}{}", clamped.collect::<String>())
        }
        Outcome::Ticked => name.into(),
        Outcome::Settled { through } => format!("{name} {through}"),
        Outcome::SeatsChanged { seats } => format!("{name} {seats}"),
        Outcome::BarSet { at, holds } => format!("{name} at {} holds {holds}", shown_time(*at)),
        Outcome::BarLifted { was_barred } => format!("{name} {was_barred}"),
        Outcome::Deleted => name.into(),
        Outcome::Raised { level } => format!("{name} {level}"),
        Outcome::Waitlisted { ahead, quantity, passed_over } => {
            let over = if *passed_over { " passed over" } else { "" };
            format!("{name} {ahead} ahead for {quantity}{over}")
        }
        Outcome::LeftWaitlist { was_on } => format!("{name} {was_on}"),
        Outcome::Offered(held) => format!(
            "{name} {}{} until {}",
            held.hold,
            units(&held.units),
            shown_time(held.expires_at)
        ),
        Outcome::Held(held) | Outcome::AlreadyHeld(held) => {
            format!("{name}{} until {}", units(&held.units), shown_time(held.expires_at))
        }
        Outcome::Extended { expires_at } => format!("{name} until {}", shown_time(*expires_at)),
        Outcome::Released(released) => {
            format!("{name}{}{}", units(&released.units), left(released.left))
        }
        Outcome::Confirmed(confirmed) => {
            let ranked = confirmed.units.iter().map(|r| format!(" {}={}", unit(&r.unit), r.rank));
            let again = if confirmed.retaken { " retaken" } else { "" };
            let at = if confirmed.at == now {
                String::new()
            } else {
                format!(" at {}", shown_time(confirmed.at))
            };
            format!("{name}{}{again}{at}{}", ranked.collect::<String>(), left(confirmed.left))
        }
        Outcome::RefundDue(refund) => {
            let at = if refund.at == now {
                String::new()
            } else {
                format!(" at {}", shown_time(refund.at))
            };
            format!("{name}{}{at}", units(&refund.units))
        }
        Outcome::Imported { seats, areas } => format!("{name} {seats} seats {areas} areas"),
        Outcome::Blocked { units } | Outcome::Unblocked { units } => format!("{name} {units}"),
        Outcome::Moved(moved) => {
            format!("{name} {} to {} rank {}", moved.from, moved.to, moved.rank)
        }
        Outcome::Code(outcome) => format!("{name}{}", coding::shown(outcome, now)),
        Outcome::Refused(refusal) => refused(refusal),
        Outcome::RefusedFor(named) => {
            let hold = named.hold.as_ref().map_or(String::new(), |hold| format!(" {hold}"));
            let why = named
                .seat
                .as_ref()
                .map_or(String::new(), |seat| format!(" {}: {}", seat.at, seat.why));
            format!("{}{hold}{}{why}", refused(&named.refusal), units(&named.units))
        }
    }
}
