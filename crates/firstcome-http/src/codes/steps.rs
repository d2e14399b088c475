//! Steps on a code: reserving, redeeming, rolling back and releasing. Code and reference are the identity of a step.

use super::tries::{Origin, Trier};
use super::{json, of_codes, unread};
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::{self, JsonReply};
use crate::app::App;
use crate::asks::yes;
use crate::clock_text;
use crate::request::bearer::Bearer;
use crate::request::call::Call;
use crate::request::{self, Query};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode};
use firstcome_api::code::{CodeStep, CodeStepRequest, RedeemRequest, ReserveRequest};
use firstcome_api::key::Role;
use firstcome_core::CodeOutcome;
use firstcome_core::limits::{RESERVATION_LEAST_US, RESERVATION_MOST_US, RESERVATION_TTL_US};
use firstcome_core::names::check_reference;
use firstcome_node::Answer;
use firstcome_node::intake::{CodeAsk, CodeVerb};
use std::borrow::Cow;

/// Reserves a use of a code until a deadline.
///
/// With a live reservation it can be redeemed whatever happens to the cap and to the code's validity meanwhile. A browser with a
/// subject token reserves for its subject; the other steps are the back end's.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/codes/reserve", tag = "codes", operation_id = "reserve_code",
    request_body = ReserveRequest, responses((status = "2XX", body = CodeStep)))]
pub(crate) async fn reserve(call: Call<String>, body: Body) -> HandlerResult {
    routed(&call, Step::Reserve, body).await
}

/// Redeems a code, reserved before or not.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/codes/redeem", tag = "codes", operation_id = "redeem_code",
    request_body = RedeemRequest, responses((status = "2XX", body = CodeStep)))]
pub(crate) async fn redeem(call: Call<String>, body: Body) -> HandlerResult {
    routed(&call, Step::Redeem, body).await
}

/// Undoes a redemption: the use comes back, unless the code has expired meanwhile.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/codes/roll-back", tag = "codes", operation_id = "roll_back_code",
    request_body = CodeStepRequest, responses((status = "2XX", body = CodeStep)))]
pub(crate) async fn roll_back(call: Call<String>, body: Body) -> HandlerResult {
    routed(&call, Step::RollBack, body).await
}

/// Returns a reservation of a code back, also one that is over.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/codes/release", tag = "codes", operation_id = "release_code",
    request_body = CodeStepRequest, responses((status = "2XX", body = CodeStep)))]
pub(crate) async fn release(call: Call<String>, body: Body) -> HandlerResult {
    routed(&call, Step::Release, body).await
}

/// A step that a path names.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Reserve,
    Redeem,
    RollBack,
    Release,
}

/// What a request for a step contains.
struct Asked<'a> {
    code: Cow<'a, str>,
    reference: Cow<'a, str>,
    pool: Option<Cow<'a, str>>,
    subject: Option<Cow<'a, str>>,
    customer: Option<Cow<'a, str>>,
    verb: CodeVerb,
}

impl Step {
    /// Returns the step of the end of a path, behind the campaign.
    pub(crate) fn of_path(end: &str) -> Option<Self> {
        match end {
            "codes/reserve" => Some(Self::Reserve),
            "codes/redeem" => Some(Self::Redeem),
            "codes/roll-back" => Some(Self::RollBack),
            "codes/release" => Some(Self::Release),
            _ => None,
        }
    }

    /// Returns its path with the names of its parameters.
    pub(crate) fn template(self) -> &'static str {
        match self {
            Self::Reserve => "/v1/campaigns/{campaign}/codes/reserve",
            Self::Redeem => "/v1/campaigns/{campaign}/codes/redeem",
            Self::RollBack => "/v1/campaigns/{campaign}/codes/roll-back",
            Self::Release => "/v1/campaigns/{campaign}/codes/release",
        }
    }

    fn read(self, bytes: &[u8]) -> Result<Asked<'_>, Problem> {
        Ok(match self {
            Self::Reserve => {
                let members =
                    "`code`, `reference` and optionally `pool`, `subject`, `ttl_ms`, `for`";
                let ReserveRequest { code, reference, pool, subject, ttl_ms, r#for: customer } =
                    json(bytes, members)?;
                let ttl_us = ttl_ms.map_or(RESERVATION_TTL_US, |ms| ms.saturating_mul(1_000));
                if !(RESERVATION_LEAST_US..=RESERVATION_MOST_US).contains(&ttl_us) {
                    let (least, most) = (RESERVATION_LEAST_US / 1_000, RESERVATION_MOST_US / 1_000);
                    return Err(Problem::invalid(format!("ttl_ms is outside {least} to {most}")));
                }
                let verb = CodeVerb::Reserve { ttl_us };
                Asked { code: code.0, reference, pool, subject, customer, verb }
            }
            Self::Redeem => {
                let members = "`code`, `reference` and optionally `pool`, `subject`, `for`";
                let RedeemRequest { code, reference, pool, subject, r#for: customer } =
                    json(bytes, members)?;
                Asked { code: code.0, reference, pool, subject, customer, verb: CodeVerb::Redeem }
            }
            Self::RollBack | Self::Release => {
                let members = "`code`, `reference` and optionally `pool`, `for`";
                let CodeStepRequest { code, reference, pool, r#for: customer } =
                    json(bytes, members)?;
                let back = matches!(self, Self::RollBack);
                let verb = if back { CodeVerb::RollBack } else { CodeVerb::EndReservation };
                Asked { code: code.0, reference, pool, subject: None, customer, verb }
            }
        })
    }
}

async fn routed(call: &Call<String>, step: Step, body: Body) -> HandlerResult {
    let Call { app, path: campaign, query, headers, origin } = call;
    let reply = answer(app, (step, campaign), query.as_deref(), *origin, headers, body).await?;
    Ok(reply.response(HeaderMap::new()).map(Body::new))
}

/// Answers a request for a step; the accept loop comes here straight away.
pub(crate) async fn answer<B>(
    app: &App,
    (step, campaign): (Step, &str),
    query: Option<&str>,
    origin: Origin,
    headers: &HeaderMap,
    body: B,
) -> Result<JsonReply, Problem>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let bearer = match step {
        Step::Reserve => app.bearer(headers, Role::Redeem, campaign)?,
        Step::Redeem | Step::RollBack | Step::Release => {
            Bearer::Key(app.keys.allow(headers, Role::Redeem, campaign)?)
        }
    };
    let bytes = request::body(&app.options, headers, body).await?;
    let Asked { code, reference, pool, subject, customer, verb } = step.read(&bytes)?;
    let of_token = match &bearer {
        Bearer::Subject(token) => Some(&*token.subject),
        Bearer::Key(_) => None,
    };
    let subject = subject.as_deref().or(of_token);
    let (code, reference, pool) = (&*code, &*reference, pool.as_deref());
    let ask = CodeAsk { campaign, pool, code, reference, subject };
    let trier = Trier { bearer: &bearer, origin, campaign, customer: customer.as_deref() };
    take(app, trier, &ask, verb, query).await
}

/// Takes a step.
///
/// The first refusal that applies is given, in this order: those of the request's form, `too_many_wrong_codes`, `not_found`,
/// `archived`, `not_coded`, `malformed`, `no_such_code`, and those of the rules.
async fn take(
    app: &App,
    trier: Trier<'_>,
    ask: &CodeAsk<'_>,
    verb: CodeVerb,
    query: Option<&str>,
) -> Result<JsonReply, Problem> {
    let campaign = ask.campaign;
    request::campaign(campaign)?;
    check_reference(ask.reference)
        .map_err(|why| Problem::invalid(format!("the reference {why}")))?;
    if let Some(pool) = ask.pool {
        request::pool(campaign, pool)?;
    }
    if let Some(subject) = ask.subject {
        app.may_act(trier.bearer, campaign, subject)?;
    }
    let min = Query::parse(query, &[])?.min_position()?;
    let tries = app.tries(&trier)?;
    let taken = app.node.intake.code(ask, verb, min).await;
    let taken = match taken {
        Err(not) => Err(unread(not, campaign)),
        Ok((pool, answer)) => yes(Ok(answer), campaign).map(|answer| (pool, answer)),
    };
    app.tried(tries, &trier, taken.as_ref().err());
    let (pool, answer) = taken.map_err(|problem| match ask.subject {
        Some(subject) => app.says_who_barred(problem, trier.bearer, campaign, subject),
        None => problem,
    })?;
    app.metrics.decided(&answer.outcome);
    JsonReply::written(|out| {
        respond::write(&shown(ask, &pool, &answer), out);
        Ok(status(&answer))
    })
}

fn status(answer: &Answer) -> StatusCode {
    if let Some(CodeOutcome::Reserved { .. }) = of_codes(&answer.outcome) {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "a step has the outcomes of steps only")]
fn shown(ask: &CodeAsk<'_>, pool: &str, answer: &Answer) -> CodeStep {
    let mut step = CodeStep {
        outcome: answer.outcome.as_str().into(),
        campaign: ask.campaign.to_owned(),
        pool: pool.to_owned(),
        rank: 0,
        reference: ask.reference.to_owned(),
        at: None,
        expires_at: None,
        expired: None,
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    let Some(outcome) = of_codes(&answer.outcome) else {
        unreachable!("a step on a code is not answered with {}", answer.outcome.as_str())
    };
    match outcome {
        CodeOutcome::Reserved { rank, expires_at }
        | CodeOutcome::AlreadyReserved { rank, expires_at } => {
            step.rank = *rank;
            step.expires_at = Some(clock_text::rfc3339(*expires_at));
        }
        CodeOutcome::Redeemed { rank, at } => {
            (step.rank, step.at) = (*rank, Some(clock_text::rfc3339(*at)));
        }
        CodeOutcome::RolledBack { rank, at, expired } => {
            (step.rank, step.at) = (*rank, Some(clock_text::rfc3339(*at)));
            step.expired = Some(*expired);
        }
        CodeOutcome::ReservationEnded { rank } => step.rank = *rank,
        other => unreachable!("a step on a code is not answered with {}", other.as_str()),
    }
    step
}
