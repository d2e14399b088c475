//! Holds as answers show them.

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::clock_text;
use crate::request;
use crate::request::call::Call;
use axum::http::StatusCode;
use firstcome_api::hold::{HeldUnit, Hold, HoldLookup};
use firstcome_api::key::Role;
use firstcome_core::campaign::Campaign;
use firstcome_core::hall::{Price, Unit};
use firstcome_core::hold::{self, Fate};
use firstcome_core::outcome::UnitName;
use firstcome_core::{Refusal, State};
use firstcome_node::Decided;

/// Returns a unit with what is known of it.
fn unit(campaign: Option<&Campaign>, name: &UnitName) -> HeldUnit {
    let pool = name.pool.to_string();
    let Some(unit) = &name.unit else {
        return HeldUnit { pool, quantity: Some(1), ..HeldUnit::default() };
    };
    let hall = campaign.and_then(|campaign| campaign.pool(&name.pool)).and_then(|p| p.hall());
    let found = hall.and_then(|hall| Some((hall, hall.find(unit)?)));
    let unit = Some(unit.to_string());
    let (known, grade, price) = match found {
        Some((hall, Unit::Seat(seat))) => {
            let known = HeldUnit { pool, unit, ..HeldUnit::default() };
            (known, hall.grade_of(seat), hall.price_of(seat))
        }
        Some((hall, Unit::Area(area))) => {
            let settings = hall.area(area);
            let known = HeldUnit { pool, area: unit, quantity: Some(1), ..HeldUnit::default() };
            (known, settings.grade, settings.price)
        }
        Some((_, Unit::Group(_))) | None => {
            return HeldUnit { pool, unit, ..HeldUnit::default() };
        }
    };
    let currency = |price: Price| String::from_utf8_lossy(&price.currency).into_owned();
    HeldUnit {
        grade: (!grade.is_empty()).then(|| grade.to_owned()),
        price_minor: price.map(|price| price.minor),
        currency: price.map(currency),
        ..known
    }
}

/// Joins units without names.
fn together(units: impl Iterator<Item = HeldUnit>) -> Vec<HeldUnit> {
    let alike = |one: &HeldUnit, other: &HeldUnit| {
        one.quantity.is_some()
            && (&one.pool, &one.area, &one.state) == (&other.pool, &other.area, &other.state)
            && (one.rank, other.rank) == (None, None)
    };
    let mut all: Vec<HeldUnit> = Vec::new();
    for unit in units {
        match all.last_mut() {
            Some(last) if alike(last, &unit) => {
                last.quantity = last.quantity.map(|quantity| quantity + 1);
            }
            Some(_) | None => all.push(unit),
        }
    }
    all
}

/// Gives units with what is known of them, those with ranks one by one.
pub(super) fn units<'a>(
    state: &State,
    campaign: &str,
    named: impl Iterator<Item = (&'a UnitName, Option<u32>)>,
) -> Vec<HeldUnit> {
    let campaign = state.campaign(campaign).ok();
    together(named.map(|(name, rank)| HeldUnit { rank, ..unit(campaign, name) }))
}

/// Returns a hold as it stands.
pub(crate) fn hold(state: &State, campaign: &Campaign, hold: &hold::Hold) -> Hold {
    let names = campaign.units_named(hold);
    let units = names.iter().zip(hold.takes()).map(|(name, take)| {
        let (state, rank) = match take.fate {
            Fate::Held => ("held", None),
            Fate::Confirmed(rank) => ("confirmed", Some(rank)),
            Fate::Expired => ("expired", None),
            Fate::Refunded => ("refund_due", None),
            Fate::Released => ("released", None),
        };
        HeldUnit { state: Some(state.into()), rank, ..unit(Some(campaign), name) }
    });
    Hold {
        campaign: campaign.name().to_owned(),
        hold: hold.id().to_owned(),
        offer: hold.is_offer(),
        subject: hold.subject().to_owned(),
        state: hold.standing().as_str().into(),
        started_at: clock_text::rfc3339(hold.started_at()),
        expires_at: hold.is_live().then(|| clock_text::rfc3339(state.moment(hold.deadline()))),
        held: hold.held(),
        units: together(units),
    }
}

/// Returns the current state of a hold, until 24 h after its end.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/holds/{hold}", tag = "holds", operation_id = "show_hold",
    params(("subject" = Option<String>, Query, description = "The owner that the hold must have")),
    responses((status = "2XX", body = HoldLookup)))]
pub(crate) async fn show(call: Call<(String, String)>) -> HandlerResult {
    let Call { app, path: (campaign, id), headers, .. } = &call;
    let bearer = app.bearer(headers, Role::Read, campaign)?;
    request::campaign(campaign)?;
    let query = call.query(&["subject"])?;
    if let Some(subject) = query.get("subject") {
        app.may_ask_about(&bearer, subject)?;
    }
    app.reach(&query).await?;
    app.readable(campaign)?;
    let stale = app.is_stale();
    let (hold, position) = app.node.replica.look(|state| {
        let position = state.token();
        let problem = |refusal| Problem::refused(refusal, campaign).at(position, Decided::Replica);
        let found = state.campaign(campaign).map_err(problem)?;
        // A token is not told whether somebody else has a hold of that id.
        let missing = || bearer.told(problem(Refusal::NoSuchHold), campaign);
        let hold = found.hold_of(id).filter(|hold| bearer.acts_for(hold.subject()).is_ok());
        let hold = hold.ok_or_else(missing)?;
        if query.get("subject").is_some_and(|subject| subject != hold.subject()) {
            return Err(problem(Refusal::NotYours));
        }
        Ok((self::hold(state, found, hold), position))
    })?;
    let durable = app.node.intake.endures(position).await;
    let shown = HoldLookup { hold, position: position.to_string(), stale, durable };
    Ok(json(StatusCode::OK, &shown))
}
