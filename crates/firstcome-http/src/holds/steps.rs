//! Steps on a hold: add, drop, extend, confirm, release.

use super::picks::{self, PickRequest};
use super::view::{self, UnitView};
use crate::app::App;
use crate::claims::{json, path};
use crate::problem::Problem;
use crate::request;
use crate::tokens::Bearer;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State as Extract};
use axum::http::{HeaderMap, Response, StatusCode};
use firstcome_api::answer::Code;
use firstcome_api::clock_text;
use firstcome_api::key::Role;
use firstcome_core::command::Late;
use firstcome_core::limits::HOLD_MOST_US;
use firstcome_core::names::check_hold_id;
use firstcome_core::{Outcome, Refusal, State};
use firstcome_node::{Answer, HoldAsk, OwnPick, OwnStep};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// What a subject adds to its hold, or gives back of it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeRequest {
    /// Whose hold it is.
    subject: String,
    /// Names of units of the campaign's pool, or of `pool`.
    #[serde(default)]
    units: Vec<String>,
    /// The pool `units` are of; may be left out where the campaign has one.
    #[serde(default)]
    pool: Option<String>,
    /// Which units, in the form a hold takes.
    #[serde(default)]
    picks: Vec<PickRequest>,
}

/// For how long.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExtendRequest {
    /// Whose hold it is.
    subject: String,
    /// From now; the campaign's time for a hold, if left out.
    #[serde(default)]
    ttl_ms: Option<i64>,
}

/// Which units were paid for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfirmRequest {
    /// Whose hold it is.
    subject: String,
    /// Names of units of the campaign's pool, or of `pool`; all that are held, if nothing is named.
    #[serde(default)]
    units: Vec<String>,
    /// The pool `units` are of; may be left out where the campaign has one.
    #[serde(default)]
    pool: Option<String>,
    /// Which units, in the form a hold takes.
    #[serde(default)]
    picks: Vec<PickRequest>,
    /// What becomes of a confirm that comes too late.
    #[serde(default)]
    #[schema(inline)]
    late: LateRequest,
}

/// What becomes of a confirm that comes after its hold expired.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum LateRequest {
    /// `hold_expired`.
    #[default]
    Refuse,
    /// The same units are taken again if all of them are free; otherwise `refund_due`.
    Retake,
}

/// A hold that lasts longer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExtendedView<'a> {
    /// `extended`.
    outcome: &'static str,
    hold: &'a str,
    campaign: &'a str,
    subject: &'a str,
    /// When its units are free again if journal time goes on without a break.
    expires_at: String,
    position: String,
    decided: &'static str,
}

/// Units that are the subject's for good, or not held any more.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EndedView<'a> {
    /// `confirmed` or `released`.
    outcome: &'static str,
    hold: &'a str,
    campaign: &'a str,
    subject: &'a str,
    /// The units asked about; with their ranks if they are confirmed.
    units: Vec<UnitView>,
    /// When the last of them was confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// Whether the hold had expired and its units were free to be taken again.
    #[serde(skip_serializing_if = "Option::is_none")]
    retaken: Option<bool>,
    /// How many units the hold has set aside still.
    left: u32,
    position: String,
    decided: &'static str,
}

/// What every step brings.
struct Asked<T> {
    campaign: String,
    step: OwnStep,
    subject: String,
    body: T,
}

type Place = Result<Path<(String, String)>, PathRejection>;

impl App {
    /// Takes in a step on a hold, as far as every step goes.
    async fn step<T: DeserializeOwned>(
        &self,
        (place, query): (Place, Option<String>),
        headers: &HeaderMap,
        body: Body,
        subject: fn(&T) -> &str,
        may: impl Fn(&Bearer<'_>) -> Result<(), Problem>,
    ) -> Result<Asked<T>, Problem> {
        let Path((campaign, hold)) = path(place)?;
        let bearer = self.bearer(headers, Role::Backend, &campaign)?;
        let bytes = request::body(self, headers, body).await?;
        let body: T = request::json(&bytes)?;
        let subject = subject(&body).to_owned();
        self.may_act(&bearer, &campaign, &subject)?;
        may(&bearer)?;
        check_hold_id(&hold).map_err(|_| Problem::refused(Refusal::NoSuchHold, &campaign))?;
        let id = request::command_id(headers)?;
        self.reach(&request::Query::parse(query.as_deref(), &[])?).await?;
        let step = OwnStep {
            campaign: campaign.as_str().into(),
            hold: hold.into(),
            subject: subject.as_str().into(),
            id,
        };
        Ok(Asked { campaign, step, subject, body })
    }

    /// Gives the answer to a step that leaves no more to set aside.
    pub(super) fn stepped(
        &self,
        answer: &Answer,
        outcome: &Outcome,
        campaign: &str,
        subject: &str,
    ) -> Response<Body> {
        let (position, decided) = (answer.position.to_string(), answer.decided.as_str());
        let look = |named: &[_]| {
            self.node
                .replica
                .look(|state: &State| view::units(state, campaign, named.iter().copied()))
        };
        let view = if let Outcome::Confirmed(confirmed) = outcome {
            let named: Vec<_> = confirmed.units.iter().map(|u| (&u.unit, Some(u.rank))).collect();
            EndedView {
                outcome: outcome.as_str(),
                hold: &confirmed.hold,
                campaign,
                subject,
                units: look(&named),
                at: Some(clock_text::rfc3339(confirmed.at)),
                retaken: Some(confirmed.retaken),
                left: confirmed.left,
                position,
                decided,
            }
        } else if let Outcome::Released(released) = outcome {
            let named: Vec<_> = released.units.iter().map(|name| (name, None)).collect();
            EndedView {
                outcome: outcome.as_str(),
                hold: &released.hold,
                campaign,
                subject,
                units: look(&named),
                at: None,
                retaken: None,
                left: released.left,
                position,
                decided,
            }
        } else {
            unreachable!("a step on a hold is not answered with {}", outcome.as_str())
        };
        json(StatusCode::OK, &view)
    }
}

/// Gives what is named, in either form; nothing named means all, where that may be.
fn named(
    units: Vec<String>,
    pool: Option<String>,
    mut picks: Vec<PickRequest>,
) -> Vec<PickRequest> {
    if !units.is_empty() {
        picks.push(PickRequest::names(pool, units));
    }
    picks
}

fn some(body: ChangeRequest, campaign: &str) -> Result<Vec<OwnPick>, Problem> {
    let picks = named(body.units, body.pool, body.picks);
    if picks.is_empty() { Ok(Vec::new()) } else { picks::own_named(picks, campaign) }
}

/// Adds units to a hold: all of them or none.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/add", tag = "holds",
    params(("campaign" = String, Path), ("hold" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "The step's own id"),
           ("min_position" = Option<String>, Query)),
    request_body = ChangeRequest,
    responses((status = 201, description = "held", body = super::HeldView), (status = 200, description = "already_held", body = super::HeldView),
        (status = 409, description = "unit_taken, sold_out, orphan_left, not_for_sale, not_seated, limit_reached, already_confirmed, not_open, paused"),
        (status = 403, description = "not_yours, not_admitted, not_eligible"), (status = 404, description = "not_found, no_such_hold, no_such_unit"),
        (status = 410, description = "hold_expired, hold_released, closed, archived"),
        (status = 422, description = "id_reused, too_many_units"), (status = 503, description = "unavailable, unknown, eligibility_unknown")))]
pub(crate) async fn add(
    Extract(app): Extract<Arc<App>>,
    place: Place,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let answered = async {
        let at = (place, query);
        let subject: fn(&ChangeRequest) -> &str = |body| &body.subject;
        let Asked { campaign, step, subject, body } =
            app.step(at, &headers, body, subject, |_| Ok(())).await?;
        let add = picks::own(named(body.units, body.pool, body.picks), &campaign)?;
        let limit = app.eligible(&campaign, super::one_pool(&add), &subject).await?;
        let ask = HoldAsk::Change { step, add, drop: Vec::new(), limit };
        app.decide_hold(ask, &campaign, &subject).await
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}

/// Gives units of a hold back, and leaves the rest.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/drop", tag = "holds",
    params(("campaign" = String, Path), ("hold" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "The step's own id"),
           ("min_position" = Option<String>, Query)),
    request_body = ChangeRequest,
    responses((status = 201, description = "held: what is left", body = super::HeldView), (status = 200, description = "already_held: nothing to drop", body = super::HeldView),
        (status = 409, description = "already_confirmed, not_for_sale"), (status = 403, description = "not_yours"),
        (status = 404, description = "not_found, no_such_hold, no_such_unit"), (status = 410, description = "hold_expired, hold_released, archived"),
        (status = 422, description = "id_reused")))]
pub(crate) async fn drop(
    Extract(app): Extract<Arc<App>>,
    place: Place,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let answered = async {
        let at = (place, query);
        let subject: fn(&ChangeRequest) -> &str = |body| &body.subject;
        let Asked { campaign, step, subject, body } =
            app.step(at, &headers, body, subject, |_| Ok(())).await?;
        let drop = some(body, &campaign)?;
        if drop.is_empty() {
            return Err(Problem::invalid("name the units to drop; release gives all of them back"));
        }
        let ask = HoldAsk::Change { step, add: Vec::new(), drop, limit: None };
        app.decide_hold(ask, &campaign, &subject).await
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}

/// Moves a hold's deadline on.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/extend", tag = "holds",
    params(("campaign" = String, Path), ("hold" = String, Path), ("min_position" = Option<String>, Query)),
    request_body = ExtendRequest,
    responses((status = 200, description = "extended, as far as the campaign lets it", body = ExtendedView),
        (status = 409, description = "already_confirmed"), (status = 403, description = "not_yours"),
        (status = 404, description = "not_found, no_such_hold"), (status = 410, description = "hold_expired, hold_released, archived")))]
pub(crate) async fn extend(
    Extract(app): Extract<Arc<App>>,
    place: Place,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let answered = async {
        let at = (place, query);
        let subject: fn(&ExtendRequest) -> &str = |body| &body.subject;
        let Asked { campaign, step, subject, body } =
            app.step(at, &headers, body, subject, |_| Ok(())).await?;
        let by_us = match body.ttl_ms {
            None => None,
            Some(ms) if (1..=HOLD_MOST_US / 1_000).contains(&ms) => Some(ms * 1_000),
            Some(ms) => {
                let most = HOLD_MOST_US / 1_000;
                return Err(Problem::invalid(format!("ttl_ms is {ms}: 1 to {most}")));
            }
        };
        let hold = step.hold.clone();
        let ask = HoldAsk::Extend { step, by_us };
        let answer = app.node.intake.decide(firstcome_node::Ask::Hold(Box::new(ask))).await;
        let answer = crate::problem::yes(answer, &campaign)?;
        let Outcome::Extended { expires_at } = answer.outcome else {
            unreachable!("an extension is not answered with {}", answer.outcome.as_str())
        };
        app.metrics.decided(&answer.outcome);
        let view = ExtendedView {
            outcome: answer.outcome.as_str(),
            hold: &hold,
            campaign: &campaign,
            subject: &subject,
            expires_at: clock_text::rfc3339(expires_at),
            position: answer.position.to_string(),
            decided: answer.decided.as_str(),
        };
        Ok(json(StatusCode::OK, &view))
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}

/// Makes units of a hold the subject's for good.
///
/// It is for whoever took the money to say so: a subject token cannot.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/confirm", tag = "holds",
    params(("campaign" = String, Path), ("hold" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "The step's own id"),
           ("min_position" = Option<String>, Query)),
    request_body = ConfirmRequest,
    responses((status = 200, description = "confirmed", body = EndedView),
        (status = 409, description = "refund_due, not_held, not_for_sale"), (status = 403, description = "not_yours, not_admitted, forbidden"),
        (status = 404, description = "not_found, no_such_hold, no_such_unit"), (status = 410, description = "hold_expired, hold_released, archived"),
        (status = 422, description = "id_reused")))]
pub(crate) async fn confirm(
    Extract(app): Extract<Arc<App>>,
    place: Place,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let answered = async {
        let at = (place, query);
        let subject: fn(&ConfirmRequest) -> &str = |body| &body.subject;
        let may = |bearer: &Bearer<'_>| match bearer {
            Bearer::Key(_) => Ok(()),
            Bearer::Subject(_) => {
                let detail = "whoever took the money confirms, with a key: a subject token cannot";
                Err(Problem::new(Code::Forbidden, detail))
            }
        };
        let Asked { campaign, step, subject, body } =
            app.step(at, &headers, body, subject, may).await?;
        let late = match body.late {
            LateRequest::Refuse => Late::Refuse,
            LateRequest::Retake => Late::Retake,
        };
        let picks = named(body.units, body.pool, body.picks);
        let units = if picks.is_empty() { Vec::new() } else { picks::own_named(picks, &campaign)? };
        app.decide_hold(HoldAsk::Confirm { step, units, late }, &campaign, &subject).await
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}

/// Gives units of a hold back; all of them, if nothing is named.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/release", tag = "holds",
    params(("campaign" = String, Path), ("hold" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "The step's own id"),
           ("min_position" = Option<String>, Query)),
    request_body = ChangeRequest,
    responses((status = 200, description = "released", body = EndedView),
        (status = 409, description = "already_confirmed, not_held, not_for_sale"), (status = 403, description = "not_yours"),
        (status = 404, description = "not_found, no_such_hold, no_such_unit"), (status = 410, description = "hold_expired, archived"),
        (status = 422, description = "id_reused")))]
pub(crate) async fn release(
    Extract(app): Extract<Arc<App>>,
    place: Place,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let answered = async {
        let at = (place, query);
        let subject: fn(&ChangeRequest) -> &str = |body| &body.subject;
        let Asked { campaign, step, subject, body } =
            app.step(at, &headers, body, subject, |_| Ok(())).await?;
        let units = some(body, &campaign)?;
        app.decide_hold(HoldAsk::Release { step, units }, &campaign, &subject).await
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}
