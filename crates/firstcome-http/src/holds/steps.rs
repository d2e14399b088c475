//! Steps on a hold: add, drop, extend, confirm, release.

use super::answer;
use super::picks;
use crate::answer::Code;
use crate::app::App;
use crate::bearer::Bearer;
use crate::clock_text;
use crate::problem::{Answered, Problem, yes};
use crate::request::{self, InPath, Query};
use crate::respond::json;
use axum::body::Body;
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, StatusCode};
use firstcome_api::hold::{
    ChangeRequest, ConfirmRequest, Ended, ExtendRequest, Extended, Held, LateRequest, PickRequest,
};
use firstcome_api::key::Role;
use firstcome_core::command::{Late, Pick, Step};
use firstcome_core::limits::HOLD_MOST_US;
use firstcome_core::names::check_hold_id;
use firstcome_core::{Command, Outcome, Refusal};
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::sync::Arc;

/// A step on a hold, as far as every step is the same.
struct StepRequest<'a, T> {
    bearer: Bearer<'a>,
    campaign: String,
    hold: String,
    subject: String,
    /// The step's own id.
    id: Option<Box<str>>,
    body: T,
}

impl<T> StepRequest<'_, T> {
    /// Gives the step as a command has it.
    fn step(&self) -> Step<'_> {
        let Self { campaign, hold, subject, id, .. } = self;
        Step { campaign, hold, subject, id: id.as_deref() }
    }

    /// Has the journal decide it.
    async fn decide(&self, app: &App, command: &Command<'_>) -> Answered {
        let decided = answer::decide(app, command, &self.campaign, &self.subject).await;
        decided.map_err(|problem| {
            let problem = self.bearer.told(problem, &self.campaign);
            app.says_who_barred(problem, &self.bearer, &self.campaign, &self.subject)
        })
    }
}

type TwoNames = InPath<(String, String)>;

impl App {
    /// Reads and accepts a step on a hold.
    async fn step<T: DeserializeOwned>(
        &self,
        (path, query): (TwoNames, Option<String>),
        headers: &HeaderMap,
        body: Body,
        subject: fn(&T) -> Option<&str>,
        may: impl Fn(&Bearer<'_>) -> Result<(), Problem>,
    ) -> Result<StepRequest<'_, T>, Problem> {
        let (campaign, hold) = request::path(path)?;
        let bearer = self.bearer(headers, Role::Backend, &campaign)?;
        let bytes = request::body(&self.options, headers, body).await?;
        let body: T = request::json(&bytes)?;
        let subject = bearer.subject(subject(&body).map(Cow::from))?.into_owned();
        self.may_act(&bearer, &campaign, &subject)?;
        may(&bearer)?;
        check_hold_id(&hold).map_err(|_| {
            bearer.told(Problem::refused(Refusal::NoSuchHold, &campaign), &campaign)
        })?;
        let id = request::command_id(headers)?;
        self.reach(&Query::parse(query.as_deref(), &[])?).await?;
        Ok(StepRequest { bearer, campaign, hold, subject, id, body })
    }
}

/// Puts what is named in either form into one; nothing named means all, where that may be.
fn named(units: &mut Vec<String>, pool: &mut Option<String>, picks: &mut Vec<PickRequest>) {
    if !units.is_empty() {
        picks.push(PickRequest::names(pool.take(), std::mem::take(units)));
    }
}

/// Accepts what is named of a hold, or nothing.
fn some<'a>(picks: &'a [PickRequest], campaign: &str) -> Result<Vec<Pick<'a>>, Problem> {
    if picks.is_empty() { Ok(Vec::new()) } else { picks::read_named(picks, campaign) }
}

/// Adds units to a hold: all of them or none.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/add", tag = "holds",
    params(("campaign" = String, Path), ("hold" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "The id of this step"),
           ("min_position" = Option<String>, Query)),
    request_body = ChangeRequest,
    responses((status = 201, description = "held", body = Held), (status = 200, description = "already_held", body = Held)))]
pub(crate) async fn add(
    Extract(app): Extract<Arc<App>>,
    path: TwoNames,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let at = (path, query);
    let subject: fn(&ChangeRequest) -> Option<&str> = |body| body.subject.as_deref();
    let mut asked = app.step(at, &headers, body, subject, |_| Ok(())).await?;
    named(&mut asked.body.units, &mut asked.body.pool, &mut asked.body.picks);
    let (campaign, subject) = (&asked.campaign, &asked.subject);
    let add = picks::read(&asked.body.picks, campaign)?;
    let limit = app.eligible(campaign, super::one_pool(&add), subject).await?;
    let change = Command::Change { step: asked.step(), add, drop: Vec::new(), limit };
    asked.decide(&app, &change).await
}

/// Releases units of a hold, and keeps the rest.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/drop", tag = "holds",
    params(("campaign" = String, Path), ("hold" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "The id of this step"),
           ("min_position" = Option<String>, Query)),
    request_body = ChangeRequest,
    responses((status = 201, description = "held: the remaining units", body = Held), (status = 200, description = "already_held: nothing to drop", body = Held)))]
pub(crate) async fn drop(
    Extract(app): Extract<Arc<App>>,
    path: TwoNames,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let at = (path, query);
    let subject: fn(&ChangeRequest) -> Option<&str> = |body| body.subject.as_deref();
    let mut asked = app.step(at, &headers, body, subject, |_| Ok(())).await?;
    named(&mut asked.body.units, &mut asked.body.pool, &mut asked.body.picks);
    let campaign = &asked.campaign;
    let drop = some(&asked.body.picks, campaign)?;
    if drop.is_empty() {
        return Err(Problem::invalid("name the units to drop; release gives all of them back"));
    }
    let change = Command::Change { step: asked.step(), add: Vec::new(), drop, limit: None };
    asked.decide(&app, &change).await
}

/// Moves the deadline of a hold to a later time.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/extend", tag = "holds",
    params(("campaign" = String, Path), ("hold" = String, Path), ("min_position" = Option<String>, Query)),
    request_body = ExtendRequest,
    responses((status = 200, description = "extended, at most to the campaign's longest time", body = Extended)))]
pub(crate) async fn extend(
    Extract(app): Extract<Arc<App>>,
    path: TwoNames,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let at = (path, query);
    let subject: fn(&ExtendRequest) -> Option<&str> = |body| body.subject.as_deref();
    let asked = app.step(at, &headers, body, subject, |_| Ok(())).await?;
    let by_us = match asked.body.ttl_ms {
        None => None,
        Some(ms) if (1..=HOLD_MOST_US / 1_000).contains(&ms) => Some(ms * 1_000),
        Some(ms) => {
            let most = HOLD_MOST_US / 1_000;
            return Err(Problem::invalid(format!("ttl_ms is {ms}: 1 to {most}")));
        }
    };
    let extend = Command::Extend { step: asked.step(), by_us };
    let answer = yes(app.node.intake.decide(&extend).await, &asked.campaign)
        .map_err(|problem| asked.bearer.told(problem, &asked.campaign))?;
    let Outcome::Extended { expires_at } = answer.outcome else {
        unreachable!("an extension is not answered with {}", answer.outcome.as_str())
    };
    app.metrics.decided(&answer.outcome);
    let extended = Extended {
        outcome: answer.outcome.as_str().into(),
        hold: asked.hold.into(),
        campaign: asked.campaign.into(),
        subject: asked.subject.into(),
        expires_at: clock_text::rfc3339(expires_at),
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    Ok(json(StatusCode::OK, &extended))
}

/// Confirms units of a hold: they belong to the subject permanently.
///
/// Only the system that received the money may confirm: a subject token cannot.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/confirm", tag = "holds",
    params(("campaign" = String, Path), ("hold" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "The id of this step"),
           ("min_position" = Option<String>, Query)),
    request_body = ConfirmRequest,
    responses((status = 200, description = "confirmed", body = Ended)))]
pub(crate) async fn confirm(
    Extract(app): Extract<Arc<App>>,
    path: TwoNames,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let at = (path, query);
    let subject: fn(&ConfirmRequest) -> Option<&str> = |body| Some(&body.subject);
    let may = |bearer: &Bearer<'_>| match bearer {
        Bearer::Key(_) => Ok(()),
        Bearer::Subject(_) => {
            let detail = "whoever took the money confirms, with a key: a subject token cannot";
            Err(Problem::new(Code::Forbidden, detail))
        }
    };
    let mut asked = app.step(at, &headers, body, subject, may).await?;
    let late = match asked.body.late {
        LateRequest::Refuse => Late::Refuse,
        LateRequest::Retake => Late::Retake,
    };
    named(&mut asked.body.units, &mut asked.body.pool, &mut asked.body.picks);
    let campaign = &asked.campaign;
    let units = some(&asked.body.picks, campaign)?;
    let confirm = Command::Confirm { step: asked.step(), units, late };
    asked.decide(&app, &confirm).await
}

/// Releases units of a hold; all of them if none is named.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/release", tag = "holds",
    params(("campaign" = String, Path), ("hold" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "The id of this step"),
           ("min_position" = Option<String>, Query)),
    request_body = ChangeRequest,
    responses((status = 200, description = "released", body = Ended)))]
pub(crate) async fn release(
    Extract(app): Extract<Arc<App>>,
    path: TwoNames,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let at = (path, query);
    let subject: fn(&ChangeRequest) -> Option<&str> = |body| body.subject.as_deref();
    let mut asked = app.step(at, &headers, body, subject, |_| Ok(())).await?;
    named(&mut asked.body.units, &mut asked.body.pool, &mut asked.body.picks);
    let campaign = &asked.campaign;
    let units = some(&asked.body.picks, campaign)?;
    let release = Command::Release { step: asked.step(), units };
    asked.decide(&app, &release).await
}
