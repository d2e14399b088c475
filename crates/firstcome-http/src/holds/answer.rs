//! The answers to commands on holds.

use super::view;
use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::answer::respond;
use crate::app::App;
use crate::clock_text;
use axum::http::StatusCode;
use firstcome_api::hold::{Ended, Held, HeldUnit};
use firstcome_core::outcome::{Refund, UnitName};
use firstcome_core::{Outcome, State};
use firstcome_node::Answer;
use serde_json::json;

/// Writes the answer to a command on a hold; gives its status.
pub(crate) fn of_hold(
    app: &App,
    answer: &Answer,
    (campaign, subject): (&str, &str),
    out: &mut Vec<u8>,
) -> Result<u16, Problem> {
    let outcome = &answer.outcome;
    let look = |named: &[(&UnitName, Option<u32>)]| {
        let named = named.iter().copied();
        app.node.replica.look(|state: &State| view::units(state, campaign, named))
    };
    let held = if let Outcome::Held(held) = outcome {
        Some((StatusCode::CREATED, held))
    } else if let Outcome::AlreadyHeld(held) = outcome {
        Some((StatusCode::OK, held))
    } else if let Outcome::Offered(held) = outcome {
        Some((StatusCode::OK, held))
    } else {
        None
    };
    let status = if let Some((status, held)) = held {
        let named: Vec<_> = held.units.iter().map(|name| (name, None)).collect();
        let held = Held {
            outcome: outcome.as_str().into(),
            hold: (&*held.hold).into(),
            offer: is_offer(app, outcome, campaign, &held.hold),
            campaign: campaign.into(),
            subject: subject.into(),
            units: look(&named),
            expires_at: clock_text::rfc3339(held.expires_at),
            position: answer.position.to_string(),
            decided: answer.decided.as_str().into(),
        };
        respond::write(&held, out);
        status
    } else {
        let ended = |hold, units, at, retaken, left| Ended {
            outcome: outcome.as_str().into(),
            hold,
            campaign: campaign.into(),
            subject: subject.into(),
            units,
            at,
            retaken,
            left,
            position: answer.position.to_string(),
            decided: answer.decided.as_str().into(),
        };
        let ended = if let Outcome::Confirmed(confirmed) = outcome {
            let named: Vec<_> = confirmed.units.iter().map(|u| (&u.unit, Some(u.rank))).collect();
            let at = Some(clock_text::rfc3339(confirmed.at));
            let retaken = Some(confirmed.retaken);
            ended((&*confirmed.hold).into(), look(&named), at, retaken, confirmed.left)
        } else if let Outcome::Released(released) = outcome {
            let named: Vec<_> = released.units.iter().map(|name| (name, None)).collect();
            ended((&*released.hold).into(), look(&named), None, None, released.left)
        } else if let Outcome::RefundDue(refund) = outcome {
            let named: Vec<_> = refund.units.iter().map(|name| (name, None)).collect();
            return Err(refund_due(answer, refund, look(&named), campaign, subject));
        } else {
            unreachable!("a command on a hold is not answered with {}", outcome.as_str())
        };
        respond::write(&ended, out);
        StatusCode::OK
    };
    Ok(status.as_u16())
}

/// Says whether units are held as an offer from a waitlist. Who asks for what they were offered has it already.
fn is_offer(app: &App, outcome: &Outcome, campaign: &str, hold: &str) -> bool {
    if !matches!(outcome, Outcome::AlreadyHeld(_)) {
        return matches!(outcome, Outcome::Offered(_));
    }
    app.node.replica.look(|state: &State| {
        let found = state.campaign(campaign).ok();
        found
            .and_then(|found| found.hold_of(hold))
            .is_some_and(firstcome_core::hold::Hold::is_offer)
    })
}

/// Says that what was paid is to be given back.
fn refund_due(
    answer: &Answer,
    refund: &Refund,
    units: Vec<HeldUnit>,
    campaign: &str,
    subject: &str,
) -> Problem {
    let detail = format!(
        "hold {:?} had expired and its units cannot be had any more: give back what was paid",
        refund.hold
    );
    Problem::new(Code::RefundDue, detail)
        .at(answer.position, answer.decided)
        .with("campaign", json!(campaign))
        .with("hold", json!(refund.hold))
        .with("subject", json!(subject))
        .with("units", json!(units))
        .with("at", json!(clock_text::rfc3339(refund.at)))
}
