//! Holds: units set aside until a deadline. Taken here; the steps on them: [`steps`]; as they stand: [`view`].

pub(super) mod picks;
pub(super) mod steps;
pub(super) mod view;

use super::claims::{json, path};
use super::problem::{Problem, yes};
use super::request;
use super::tokens::Bearer;
use crate::app::App;
use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State as Extract};
use axum::http::{HeaderMap, Response, StatusCode};
use firstcome_api::answer::Code;
use firstcome_api::clock_text;
use firstcome_api::key::Role;
use firstcome_core::names::check_hold_id;
use firstcome_core::outcome::{Holding, Refund};
use firstcome_core::{Outcome, Refusal, State};
use firstcome_node::{Answer, Ask, HoldAsk, OwnPick};
use picks::PickRequest;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;
use view::UnitView;

/// Who wants which units set aside.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HoldRequest {
    /// The hold's id, which makes it the same when it is asked for again: 1 to 64 bytes. `Idempotency-Key` says the
    /// same; drawn here, if neither is given.
    #[serde(default)]
    id: Option<String>,
    /// Who competes: 1 to 255 bytes of UTF-8 without control characters.
    subject: String,
    /// Which units: all of them or none.
    picks: Vec<PickRequest>,
    /// How long to wait for named seats that somebody has: 0 to 3,000, more counts as that. Not at all, if left out.
    #[serde(default)]
    wait_ms: Option<u64>,
}

/// Units set aside.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HeldView<'a> {
    /// `held`, or `already_held` when they were so before.
    outcome: &'static str,
    /// The hold's id.
    hold: &'a str,
    campaign: &'a str,
    subject: &'a str,
    /// Everything the hold has set aside.
    units: Vec<UnitView>,
    /// When they are free again if journal time goes on without a break; later if it does not.
    expires_at: String,
    /// The position this is as of.
    position: String,
    /// `journal`, or `replica` when this node's state was enough.
    decided: &'static str,
}

/// Sets units aside for a subject until a deadline.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds", tag = "holds",
    params(("campaign" = String, Path, description = "The campaign's name"),
           ("Idempotency-Key" = Option<String>, Header, description = "The hold's id"),
           ("min_position" = Option<String>, Query, description = "Answer at or past this position")),
    request_body = HoldRequest,
    responses((status = 201, description = "held", body = HeldView),
        (status = 200, description = "already_held; of an id that was confirmed: confirmed", body = HeldView),
        (status = 409, description = "unit_taken, sold_out, orphan_left, not_for_sale, not_seated, has_hold, limit_reached, not_open, paused, already_cancelled, refund_due"),
        (status = 403, description = "not_admitted, not_eligible, forbidden"),
        (status = 404, description = "not_found, no_such_unit"),
        (status = 410, description = "closed, archived, hold_expired, hold_released"),
        (status = 422, description = "id_reused, too_many_units, invalid_subject"),
        (status = 429, description = "too_many_holds, too_many_requests, busy"),
        (status = 503, description = "unavailable, unknown, eligibility_unknown")))]
pub(super) async fn hold(
    Extract(app): Extract<Arc<App>>,
    campaign: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    match path(campaign) {
        Ok(Path(campaign)) => answer(&app, &campaign, query.as_deref(), &headers, body).await,
        Err(problem) => app.problem(problem),
    }
}

/// Answers a hold; the accept loop comes here straight away.
pub(super) async fn answer<B>(
    app: &App,
    campaign: &str,
    query: Option<&str>,
    headers: &HeaderMap,
    body: B,
) -> Response<Body>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let answered = async {
        let bearer = app.bearer(headers, Role::Backend, campaign)?;
        let bytes = request::body(app, headers, body).await?;
        let ask: HoldRequest = request::json(&bytes)?;
        app.may_act(&bearer, campaign, &ask.subject)?;
        let picks = picks::own(ask.picks, campaign)?;
        let id = hold_id(headers, ask.id)?;
        let min = request::Query::parse(query, &[])?.min_position()?;
        let wait = Duration::from_millis(ask.wait_ms.unwrap_or(0)).min(app.options.hold_wait);
        let subject = ask.subject.as_str();
        let pool = one_pool(&picks).map(str::to_owned);
        let ask = HoldAsk::Hold {
            campaign: campaign.into(),
            id,
            subject: subject.into(),
            picks,
            limit: None,
        };
        let early = app.node.intake.hold_early(&ask, min).await.transpose();
        let taken = |answer: &Answer| answer.outcome.refusal() == Some(Refusal::UnitTaken);
        let answer = match early {
            // Whoever would rather wait is not told that it is taken.
            Some(answer) if wait.is_zero() || !answer.as_ref().is_ok_and(taken) => answer,
            Some(_) | None => {
                let limit = app.eligible(campaign, pool.as_deref(), subject).await?;
                app.node.intake.hold_in_line(ask.within(limit), wait).await
            }
        };
        app.about_hold(answer, campaign, subject)
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}

/// Gives the id of a hold: from the body, from `Idempotency-Key`, which must not say otherwise, or a new one.
fn hold_id(headers: &HeaderMap, given: Option<String>) -> Result<Box<str>, Problem> {
    let key = request::command_id(headers)?;
    match (given, key) {
        (Some(id), key) => {
            check_hold_id(&id).map_err(|why| Problem::invalid(format!("the hold's id {why}")))?;
            if key.is_some_and(|key| *key != *id) {
                let detail = "id and Idempotency-Key are the same thing, and here they differ";
                return Err(Problem::invalid(detail));
            }
            Ok(id.into())
        }
        (None, Some(key)) => Ok(key),
        (None, None) => {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).expect("the system gives random bytes");
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Ok(format!("h-{hex}").into())
        }
    }
}

/// Gives the pool if all picks name the same.
fn one_pool(picks: &[OwnPick]) -> Option<&str> {
    let first = picks.first()?.pool.as_deref()?;
    picks.iter().all(|pick| pick.pool.as_deref() == Some(first)).then_some(first)
}

impl App {
    /// Accepts a request of this bearer for this subject of this campaign.
    fn may_act(&self, bearer: &Bearer<'_>, campaign: &str, subject: &str) -> Result<(), Problem> {
        request::campaign(campaign)?;
        request::subject(subject)?;
        bearer.acts_for(subject)?;
        self.paced_subject(subject)
    }

    /// Gives the answer to a command on a hold.
    fn about_hold(
        &self,
        answer: Result<Answer, firstcome_node::Failure>,
        campaign: &str,
        subject: &str,
    ) -> Result<Response<Body>, Problem> {
        let answer = yes(answer, campaign)?;
        let outcome = &answer.outcome;
        if let Outcome::RefundDue(refund) = outcome {
            return Err(self.refund_due(&answer, refund, campaign, subject));
        }
        let response = if let Outcome::Held(held) = outcome {
            self.held(&answer, held, StatusCode::CREATED, campaign, subject)
        } else if let Outcome::AlreadyHeld(held) = outcome {
            self.held(&answer, held, StatusCode::OK, campaign, subject)
        } else {
            self.stepped(&answer, outcome, campaign, subject)
        };
        self.metrics.decided(&answer.outcome);
        Ok(response)
    }

    fn held(
        &self,
        answer: &Answer,
        held: &Holding,
        status: StatusCode,
        campaign: &str,
        subject: &str,
    ) -> Response<Body> {
        let named = held.units.iter().map(|name| (name, None));
        let view = HeldView {
            outcome: answer.outcome.as_str(),
            hold: &held.hold,
            campaign,
            subject,
            units: self.node.replica.look(|state: &State| view::units(state, campaign, named)),
            expires_at: clock_text::rfc3339(held.expires_at),
            position: answer.position.to_string(),
            decided: answer.decided.as_str(),
        };
        json(status, &view)
    }

    /// Says that what was paid is to be given back.
    fn refund_due(
        &self,
        answer: &Answer,
        refund: &Refund,
        campaign: &str,
        subject: &str,
    ) -> Problem {
        let detail = format!(
            "hold {:?} had expired and its units cannot be had any more: give back what was paid",
            refund.hold
        );
        let named = refund.units.iter().map(|name| (name, None));
        let units = self.node.replica.look(|state: &State| view::units(state, campaign, named));
        Problem::new(Code::RefundDue, detail)
            .at(answer.position, answer.decided)
            .with("campaign", json!(campaign))
            .with("hold", json!(refund.hold))
            .with("subject", json!(subject))
            .with("units", json!(units))
            .with("at", json!(clock_text::rfc3339(refund.at)))
    }

    /// Has the journal decide a command on a hold.
    async fn decide_hold(
        &self,
        ask: HoldAsk,
        campaign: &str,
        subject: &str,
    ) -> Result<Response<Body>, Problem> {
        let answer = self.node.intake.decide(Ask::Hold(Box::new(ask))).await;
        self.about_hold(answer, campaign, subject)
    }
}
