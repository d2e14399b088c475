//! Steps on a hold: add, drop, extend, confirm, release.

use super::answer;
use super::picks;
use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond;
use crate::app::App;
use crate::asks::{self, Ask, Known, ReadOptions};
use crate::clock_text;
use crate::request;
use crate::request::bearer::Bearer;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use firstcome_api::hold::{
    ChangeRequest, ConfirmRequest, Ended, ExtendRequest, Extended, Held, LateRequest, PickRequest,
};
use firstcome_api::key::Role;
use firstcome_core::command::{Late, Pick, Step};
use firstcome_core::limits::HOLD_MOST_US;
use firstcome_core::names::check_hold_id;
use firstcome_core::{Command, Outcome, Refusal};
use firstcome_node::Answer;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// A step on a hold as it is asked for.
#[derive(Debug)]
pub(crate) struct StepAsk<'a> {
    pub(crate) campaign: Cow<'a, str>,
    pub(crate) hold: Cow<'a, str>,
    pub(crate) subject: Cow<'a, str>,
    /// The step's own id.
    pub(crate) id: Option<Box<str>>,
    pub(crate) step: Wanted,
    /// The limit that the team's own service gave.
    pub(crate) limit: Option<u32>,
}

/// Which step it is, with what it is about.
#[derive(Debug)]
pub(crate) enum Wanted {
    Add(Vec<PickRequest>),
    Drop(Vec<PickRequest>),
    /// By so many milliseconds from now, if it says.
    Extend(Option<i64>),
    Confirm(Vec<PickRequest>, LateRequest),
    Release(Vec<PickRequest>),
}

impl Ask for StepAsk<'_> {
    fn whose(&self) -> (&str, &str) {
        (&self.campaign, &self.subject)
    }

    async fn check(
        &mut self,
        app: &App,
        bearer: &Bearer,
        options: ReadOptions,
    ) -> Result<Known, Problem> {
        let (campaign, subject) = (&*self.campaign, &*self.subject);
        app.may_act(bearer, campaign, subject)?;
        if let (Wanted::Confirm(..), Bearer::Subject(_)) = (&self.step, bearer) {
            let detail = "whoever took the money confirms, with a key: a subject token cannot";
            return Err(Problem::new(Code::Forbidden, detail));
        }
        check_hold_id(&self.hold)
            .map_err(|_| bearer.told(Problem::refused(Refusal::NoSuchHold, campaign), campaign))?;
        app.node.intake.reach(options.min).await.map_err(|failure| Problem::failed(&failure))?;
        let Wanted::Add(add) = &self.step else {
            // What is wrong with it is said now.
            return self.command().map(|_| None);
        };
        let add = picks::read(add, campaign)?;
        self.limit = app.eligible(campaign, super::one_pool(&add), subject).await?;
        Ok(None)
    }

    fn command(&self) -> Result<Command<'_>, Problem> {
        let Self { campaign, hold, subject, id, step: wanted, limit } = self;
        let step = Step { campaign, hold, subject, id: id.as_deref() };
        Ok(match wanted {
            Wanted::Add(add) => {
                let (add, drop) = (picks::read(add, campaign)?, Vec::new());
                Command::Change { step, add, drop, limit: *limit }
            }
            Wanted::Drop(drop) => {
                let (add, drop) = (Vec::new(), some(drop, campaign)?);
                if drop.is_empty() {
                    let detail = "name the units to drop; release gives all of them back";
                    return Err(Problem::invalid(detail));
                }
                Command::Change { step, add, drop, limit: None }
            }
            Wanted::Extend(ttl_ms) => {
                let by_us = match *ttl_ms {
                    None => None,
                    Some(ms) if (1..=HOLD_MOST_US / 1_000).contains(&ms) => Some(ms * 1_000),
                    Some(ms) => {
                        let most = HOLD_MOST_US / 1_000;
                        return Err(Problem::invalid(format!("ttl_ms is {ms}: 1 to {most}")));
                    }
                };
                Command::Extend { step, by_us }
            }
            Wanted::Confirm(units, late) => {
                let late = match late {
                    LateRequest::Refuse => Late::Refuse,
                    LateRequest::Retake => Late::Retake,
                };
                Command::Confirm { step, units: some(units, campaign)?, late }
            }
            Wanted::Release(units) => Command::Release { step, units: some(units, campaign)? },
        })
    }

    fn told(&self, problem: Problem, bearer: &Bearer) -> Problem {
        bearer.told(problem, &self.campaign)
    }

    fn write_yes(&self, app: &App, answer: &Answer, out: &mut Vec<u8>) -> Result<u16, Problem> {
        match self.step {
            Wanted::Extend(_) => Ok(self.write_extended(answer, out)),
            Wanted::Add(_) | Wanted::Drop(_) | Wanted::Confirm(..) | Wanted::Release(_) => {
                answer::of_hold(app, answer, self.whose(), out)
            }
        }
    }
}

impl StepAsk<'_> {
    fn write_extended(&self, answer: &Answer, out: &mut Vec<u8>) -> u16 {
        let Outcome::Extended { expires_at } = answer.outcome else {
            unreachable!("an extension is not answered with {}", answer.outcome.as_str())
        };
        let extended = Extended {
            outcome: answer.outcome.as_str().into(),
            hold: (&*self.hold).into(),
            campaign: (&*self.campaign).into(),
            subject: (&*self.subject).into(),
            expires_at: clock_text::rfc3339(expires_at),
            position: answer.position.to_string(),
            decided: answer.decided.as_str().into(),
        };
        respond::write(&extended, out);
        StatusCode::OK.as_u16()
    }
}

/// Answers a step on a hold: `read` gives its subject, and which step it is.
async fn step<T: DeserializeOwned>(
    call: &Call<(String, String)>,
    body: Body,
    read: impl FnOnce(T) -> (Option<String>, Wanted),
) -> HandlerResult {
    let Call { app, path: (campaign, hold), headers, .. } = call;
    let bearer = app.bearer(headers, Role::Backend, campaign)?;
    let (subject, step) = read(call.json(body).await?);
    let subject = bearer.subject(subject.map(Cow::from))?;
    let id = request::command_id(headers)?;
    let min = call.query(&[])?.min_position()?;
    let (campaign, hold) = (campaign.into(), hold.into());
    let ask = StepAsk { campaign, hold, subject, id, step, limit: None };
    let reply = asks::run(ask, app, &bearer, min).await?;
    Ok(reply.response(HeaderMap::new()).map(Body::new))
}

/// Reads a step that names units.
fn of_units(
    wanted: fn(Vec<PickRequest>) -> Wanted,
) -> impl FnOnce(ChangeRequest) -> (Option<String>, Wanted) {
    move |ChangeRequest { subject, units, pool, picks }| {
        (subject, wanted(named(units, pool, picks)))
    }
}

/// Returns what is named, in either form, as picks.
pub(crate) fn named(
    units: Vec<String>,
    pool: Option<String>,
    mut picks: Vec<PickRequest>,
) -> Vec<PickRequest> {
    if !units.is_empty() {
        picks.push(PickRequest::names(pool, units));
    }
    picks
}

/// Accepts what is named of a hold, or nothing.
fn some<'a>(picks: &'a [PickRequest], campaign: &str) -> Result<Vec<Pick<'a>>, Problem> {
    if picks.is_empty() { Ok(Vec::new()) } else { picks::read_named(picks, campaign) }
}

/// Adds units to a hold: all of them or none.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/add", tag = "holds", operation_id = "add_to_hold",
    params(("Idempotency-Key" = Option<String>, Header, description = "The id of this step")), request_body = ChangeRequest,
    responses((status = "2XX", body = Held)))]
pub(crate) async fn add(call: Call<(String, String)>, body: Body) -> HandlerResult {
    step(&call, body, of_units(Wanted::Add)).await
}

/// Releases units of a hold, and keeps the rest.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/drop", tag = "holds", operation_id = "drop_from_hold",
    params(("Idempotency-Key" = Option<String>, Header, description = "The id of this step")), request_body = ChangeRequest,
    responses((status = 201, description = "held: the remaining units", body = Held),
              (status = 200, description = "already_held: nothing to drop", body = Held)))]
pub(crate) async fn drop(call: Call<(String, String)>, body: Body) -> HandlerResult {
    step(&call, body, of_units(Wanted::Drop)).await
}

/// Moves the deadline of a hold to a later time.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/extend", tag = "holds", operation_id = "extend_hold",
    request_body = ExtendRequest,
    responses((status = "2XX", description = "extended, at most to the campaign's longest time", body = Extended)))]
pub(crate) async fn extend(call: Call<(String, String)>, body: Body) -> HandlerResult {
    step(&call, body, |asked: ExtendRequest| (asked.subject, Wanted::Extend(asked.ttl_ms))).await
}

/// Confirms units of a hold: they belong to the subject permanently.
///
/// Only the system that received the money may confirm: a subject token cannot.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/confirm", tag = "holds", operation_id = "confirm_hold",
    params(("Idempotency-Key" = Option<String>, Header, description = "The id of this step")), request_body = ConfirmRequest,
    responses((status = "2XX", body = Ended)))]
pub(crate) async fn confirm(call: Call<(String, String)>, body: Body) -> HandlerResult {
    step(&call, body, |ConfirmRequest { subject, units, pool, picks, late }| {
        (Some(subject), Wanted::Confirm(named(units, pool, picks), late))
    })
    .await
}

/// Releases units of a hold; all of them if none is named.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds/{hold}/release", tag = "holds", operation_id = "release_hold",
    params(("Idempotency-Key" = Option<String>, Header, description = "The id of this step")), request_body = ChangeRequest,
    responses((status = "2XX", body = Ended)))]
pub(crate) async fn release(call: Call<(String, String)>, body: Body) -> HandlerResult {
    step(&call, body, of_units(Wanted::Release)).await
}
