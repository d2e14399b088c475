//! Holds as answers show them.

use super::super::problem::Problem;
use super::super::request;
use crate::app::App;
use crate::claims::{json, path};
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State as Extract};
use axum::http::{HeaderMap, Response, StatusCode};
use firstcome_api::clock_text;
use firstcome_api::key::Role;
use firstcome_core::campaign::Campaign;
use firstcome_core::hall::{Price, Unit};
use firstcome_core::hold::{Fate, Hold};
use firstcome_core::outcome::UnitName;
use firstcome_core::{Refusal, State};
use firstcome_node::Decided;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// A unit of a hold. Places of an area, and units of a counted pool, come together with their `quantity`.
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct UnitView {
    pool: String,
    /// The seat.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
    /// The area.
    #[serde(skip_serializing_if = "Option::is_none")]
    area: Option<String>,
    /// How many units, where they are not told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    quantity: Option<u32>,
    /// What became of it: `held`, `confirmed`, `expired`, `released` or `refund_due`.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    /// Its rank in its pool, once it is confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grade: Option<String>,
    /// The price of one unit, in the smallest unit of its currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    price_minor: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
}

impl UnitView {
    fn of(campaign: Option<&Campaign>, name: &UnitName) -> Self {
        let pool = name.pool.to_string();
        let Some(unit) = &name.unit else {
            return Self { pool, quantity: Some(1), ..Self::default() };
        };
        let hall = campaign.and_then(|campaign| campaign.pool(&name.pool)).and_then(|p| p.hall());
        let found = hall.and_then(|hall| Some((hall, hall.find(unit)?)));
        let unit = Some(unit.to_string());
        let (known, grade, price) = match found {
            Some((hall, Unit::Seat(seat))) => {
                let known = Self { pool, unit, ..Self::default() };
                (known, hall.grade_of(seat), hall.price_of(seat))
            }
            Some((hall, Unit::Area(area))) => {
                let settings = hall.area(area);
                let view = Self { pool, area: unit, quantity: Some(1), ..Self::default() };
                (view, settings.grade, settings.price)
            }
            Some((_, Unit::Group(_))) | None => (Self { pool, unit, ..Self::default() }, "", None),
        };
        known.priced(grade, price)
    }

    fn priced(mut self, grade: &str, price: Option<Price>) -> Self {
        self.grade = (!grade.is_empty()).then(|| grade.to_owned());
        if let Some(Price { minor, currency }) = price {
            self.price_minor = Some(minor);
            self.currency = Some(String::from_utf8_lossy(&currency).into_owned());
        }
        self
    }

    fn is_like(&self, other: &Self) -> bool {
        self.quantity.is_some()
            && (&self.pool, &self.area, self.state) == (&other.pool, &other.area, other.state)
            && (self.rank, other.rank) == (None, None)
    }
}

/// Puts units that are not told apart together.
fn together(units: impl Iterator<Item = UnitView>) -> Vec<UnitView> {
    let mut all: Vec<UnitView> = Vec::new();
    for unit in units {
        match all.last_mut() {
            Some(last) if last.is_like(&unit) => {
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
) -> Vec<UnitView> {
    let campaign = state.campaign(campaign).ok();
    together(named.map(|(name, rank)| UnitView { rank, ..UnitView::of(campaign, name) }))
}

/// A hold as it stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HoldView {
    campaign: String,
    hold: String,
    subject: String,
    /// `live`, `confirmed`, `expired`, `released` or `refund_due`.
    state: &'static str,
    /// When it began.
    started_at: String,
    /// When its units are free again, if it is live and journal time goes on without a break.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// How many of its units are set aside.
    held: u32,
    /// All its units, whatever became of them.
    units: Vec<UnitView>,
}

impl HoldView {
    pub(crate) fn of(state: &State, campaign: &Campaign, hold: &Hold) -> Self {
        let names = campaign.units_named(hold);
        let units = names.iter().zip(hold.takes()).map(|(name, take)| {
            let (state, rank) = match take.fate {
                Fate::Held => ("held", None),
                Fate::Confirmed(rank) => ("confirmed", Some(rank)),
                Fate::Expired => ("expired", None),
                Fate::Refunded => ("refund_due", None),
                Fate::Released => ("released", None),
            };
            UnitView { state: Some(state), rank, ..UnitView::of(Some(campaign), name) }
        });
        Self {
            campaign: campaign.name().to_owned(),
            hold: hold.id().to_owned(),
            subject: hold.subject().to_owned(),
            state: hold.standing().as_str(),
            started_at: clock_text::rfc3339(hold.started_at()),
            expires_at: hold.is_live().then(|| clock_text::rfc3339(state.moment(hold.deadline()))),
            held: hold.held(),
            units: together(units),
        }
    }
}

/// A hold as it stands, and as of when.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Shown {
    #[serde(flatten)]
    hold: HoldView,
    position: String,
    /// Whether this node's state may be out of date.
    stale: bool,
    /// Whether this is known to be as durable as answers to commands are: `false` after a second of waiting for it.
    durable: bool,
}

/// Gives a hold as it stands, until 24 h after it ended.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/holds/{hold}", tag = "holds",
    params(("campaign" = String, Path), ("hold" = String, Path, description = "The hold's id"),
           ("subject" = Option<String>, Query, description = "Whose hold it is to be"),
           ("min_position" = Option<String>, Query, description = "Answer at or past this position")),
    responses((status = 200, body = Shown), (status = 403, description = "not_yours"),
        (status = 404, description = "not_found, no_such_hold"), (status = 410, description = "archived")))]
pub(crate) async fn show(
    Extract(app): Extract<Arc<App>>,
    place: Result<Path<(String, String)>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    let answered = async {
        let Path((campaign, id)) = path(place)?;
        let bearer = app.bearer(&headers, Role::Read, &campaign)?;
        request::campaign(&campaign)?;
        let query = request::Query::parse(query.as_deref(), &["subject"])?;
        if let Some(subject) = query.get("subject") {
            request::subject(subject)?;
            bearer.acts_for(subject)?;
            app.paced_subject(subject)?;
        }
        app.reach(&query).await?;
        app.readable(&campaign)?;
        let stale = app.is_stale();
        let (hold, position) = app.node.replica.look(|state| {
            let position = state.token();
            let problem =
                |refusal| Problem::refused(refusal, &campaign).at(position, Decided::Replica);
            let found = state.campaign(&campaign).map_err(problem)?;
            let hold = found.hold_of(&id).ok_or_else(|| problem(Refusal::NoSuchHold))?;
            if query.get("subject").is_some_and(|subject| subject != hold.subject()) {
                return Err(problem(Refusal::NotYours));
            }
            bearer.acts_for(hold.subject())?;
            Ok((HoldView::of(state, found, hold), position))
        })?;
        let durable = app.node.intake.endures(position).await;
        let shown = Shown { hold, position: position.to_string(), stale, durable };
        Ok(json(StatusCode::OK, &shown))
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}
