//! Holds: units set aside until a deadline. Taken here; steps on them: [`steps`]; looked up: [`view`].

pub(crate) mod answer;
pub(crate) mod picks;
pub(crate) mod steps;
pub(crate) mod view;

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::JsonReply;
use crate::app::App;
use crate::asks::{self, Ask, Known, ReadOptions};
use crate::request::bearer::Bearer;
use crate::request::call::Call;
use crate::request::{self, Query};
use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use data_encoding::HEXLOWER;
use firstcome_api::hold::{Held, HeldBefore, HoldRequest, PickRequest};
use firstcome_api::key::Role;
use firstcome_core::command::Pick;
use firstcome_core::names::check_hold_id;
use firstcome_core::{Command, Refusal};
use firstcome_node::Answer;
use std::borrow::Cow;
use std::time::Duration;

/// Reserves units for a subject until a deadline.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/holds", tag = "holds", operation_id = "hold",
    params(("Idempotency-Key" = Option<String>, Header, description = "The id of the hold")), request_body = HoldRequest,
    responses((status = 201, body = Held),
              (status = 200, description = "already_held; of an id that was confirmed: confirmed", body = HeldBefore)))]
pub(crate) async fn hold(call: Call<String>, body: Body) -> HandlerResult {
    let Call { app, path: campaign, query, headers, .. } = &call;
    let reply = answer(app, campaign, query.as_deref(), headers, body).await?;
    Ok(reply.response(HeaderMap::new()).map(Body::new))
}

/// Answers a hold; the accept loop comes here straight away.
pub(crate) async fn answer<B>(
    app: &App,
    campaign: &str,
    query: Option<&str>,
    headers: &HeaderMap,
    body: B,
) -> Result<JsonReply, Problem>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let bearer = app.bearer(headers, Role::Backend, campaign)?;
    let bytes = request::body(&app.options, headers, body).await?;
    let asked: HoldRequest = request::json(&bytes)?;
    let subject = bearer.subject(asked.subject.map(Cow::from))?;
    let id = hold_id(headers, asked.id.as_deref())?;
    let min = Query::parse(query, &[])?.min_position()?;
    let wait = Duration::from_millis(asked.wait_ms.unwrap_or(0)).min(app.options.hold_wait);
    let (campaign, picks) = (campaign.into(), asked.picks);
    let ask = HoldAsk { campaign, id, subject, picks, wait, limit: None };
    asks::run(ask, app, &bearer, min).await
}

/// A hold as it is asked for.
#[derive(Debug)]
pub(crate) struct HoldAsk<'a> {
    pub(crate) campaign: Cow<'a, str>,
    pub(crate) id: Box<str>,
    pub(crate) subject: Cow<'a, str>,
    pub(crate) picks: Vec<PickRequest>,
    /// How long it waits for units that are taken.
    pub(crate) wait: Duration,
    /// The limit that the team's own service gave.
    pub(crate) limit: Option<u32>,
}

impl Ask for HoldAsk<'_> {
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
        let picks = picks::read(&self.picks, campaign)?;
        check_hold_id(&self.id).map_err(|why| Problem::invalid(format!("the hold's id {why}")))?;
        let pool = one_pool(&picks);
        if options.memory {
            let hold = Command::Hold { campaign, id: &self.id, subject, picks, limit: None };
            let early = app.node.intake.hold_early(&hold, options.min).await.transpose();
            let taken = |answer: &Answer| answer.outcome.refusal() == Some(Refusal::UnitTaken);
            match early {
                // A caller that waits for taken units gets no early refusal.
                Some(answer) if self.wait.is_zero() || !answer.as_ref().is_ok_and(taken) => {
                    return Ok(Some(answer));
                }
                Some(_) | None => {}
            }
        }
        self.limit = app.eligible(campaign, pool, subject).await?;
        Ok(None)
    }

    fn command(&self) -> Result<Command<'_>, Problem> {
        let Self { campaign, id, subject, picks, wait: _, limit } = self;
        let picks = picks::read(picks, campaign)?;
        Ok(Command::Hold { campaign, id, subject, picks, limit: *limit })
    }

    fn wait(&self) -> Duration {
        self.wait
    }

    fn write_yes(&self, app: &App, answer: &Answer, out: &mut Vec<u8>) -> Result<u16, Problem> {
        answer::of_hold(app, answer, self.whose(), out)
    }
}

/// Returns the id of a hold: from the body, from `Idempotency-Key`, which must not say otherwise, or a new one.
fn hold_id(headers: &HeaderMap, given: Option<&str>) -> Result<Box<str>, Problem> {
    let key = request::command_id(headers)?;
    match (given, key) {
        (Some(id), key) => {
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
            Ok(format!("h-{}", HEXLOWER.encode(&bytes)).into())
        }
    }
}

/// Returns the pool if all picks name the same.
fn one_pool<'a>(picks: &[Pick<'a>]) -> Option<&'a str> {
    let first = picks.first()?.pool?;
    picks.iter().all(|pick| pick.pool == Some(first)).then_some(first)
}
