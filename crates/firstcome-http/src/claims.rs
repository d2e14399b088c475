//! Claims: won, looked up, cancelled.

use super::problem::{Problem, yes};
use super::request;
use crate::app::App;
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State as Extract};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use firstcome_api::answer::Code;
use firstcome_api::clock_text;
use firstcome_api::key::Role;
use firstcome_core::outcome::{By, Missing};
use firstcome_core::pool::Claim;
use firstcome_core::{Outcome, Refusal, State, Timestamp, limits};
use firstcome_node::{Answer, Ask, Decided};
use http_body_util::Full;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;
use utoipa::ToSchema;

/// Who wants a unit, and from which pool.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimRequest<'a> {
    /// Who competes: 1 to 255 bytes of UTF-8 without control characters.
    #[serde(borrow)]
    subject: Cow<'a, str>,
    /// The pool; may be left out where the campaign has one.
    #[serde(borrow, default)]
    pool: Option<Cow<'a, str>>,
}

/// A unit that is the subject's.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Won<'a> {
    /// `won`, or `already_won` when the subject had it before.
    outcome: &'static str,
    campaign: &'a str,
    pool: &'a str,
    subject: &'a str,
    /// The rank in the pool, from 1 and gap-free.
    rank: u32,
    /// When it was won.
    at: String,
    /// The position this is as of.
    position: String,
    /// `journal`, or `replica` when this node's state was enough.
    decided: &'static str,
}

/// Claims a unit.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/claims", tag = "claims",
    params(("campaign" = String, Path, description = "The campaign's name"),
           ("min_position" = Option<String>, Query, description = "Answer at or past this position")),
    request_body = ClaimRequest,
    responses((status = 201, description = "won", body = Won), (status = 200, description = "already_won", body = Won),
        (status = 409, description = "sold_out, not_open, paused, limit_reached, already_cancelled"),
        (status = 403, description = "not_admitted, not_eligible, forbidden"),
        (status = 410, description = "closed, archived"), (status = 404, description = "not_found"),
        (status = 429, description = "busy, outbox_full, too_many_requests"), (status = 503, description = "unavailable, unknown, eligibility_unknown")))]
pub(super) async fn claim(
    Extract(app): Extract<Arc<App>>,
    campaign: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    match path(campaign) {
        Ok(Path(campaign)) => {
            answer(&app, &campaign, query.as_deref(), &headers, body).await.map(Body::new)
        }
        Err(problem) => app.problem(problem),
    }
}

/// Gives the campaign if this is the path of its claims, or of what else ends it, with nothing in it that is
/// percent-encoded.
pub(super) fn campaign_in<'a>(path: &'a str, end: &str) -> Option<&'a str> {
    let campaign = path.strip_prefix("/v1/campaigns/")?.strip_suffix(end)?;
    (!campaign.contains(['/', '%'])).then_some(campaign)
}

/// Answers a claim; the accept loop comes here straight away.
pub(super) async fn answer<B>(
    app: &App,
    campaign: &str,
    query: Option<&str>,
    headers: &HeaderMap,
    body: B,
) -> Response<Full<Bytes>>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match decide(app, campaign, query, headers, body).await {
        Ok(response) => response,
        Err(problem) => {
            app.metrics.answered(problem.outcome());
            problem.response()
        }
    }
}

async fn decide<B>(
    app: &App,
    campaign: &str,
    query: Option<&str>,
    headers: &HeaderMap,
    body: B,
) -> Result<Response<Full<Bytes>>, Problem>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let bearer = app.bearer(headers, Role::Backend, campaign)?;
    let bytes = request::body(app, headers, body).await?;
    let ask: ClaimRequest<'_> = request::json(&bytes)?;
    request::campaign(campaign)?;
    request::subject(&ask.subject)?;
    bearer.acts_for(&ask.subject)?;
    app.paced_subject(&ask.subject)?;
    if let Some(pool) = &ask.pool {
        request::pool(campaign, pool)?;
    }
    let min = request::Query::parse(query, &[])?.min_position()?;
    let (intake, pool) = (&app.node.intake, ask.pool.as_deref());
    let answer = match intake.claim_early(campaign, pool, &ask.subject, min).await.transpose() {
        Some(answer) => answer,
        None => {
            let limit = app.eligible(campaign, pool, &ask.subject).await?;
            intake.decide(Ask::claim(campaign, pool, &ask.subject, limit)).await
        }
    };
    let answer = yes(answer, campaign)?;
    let (status, rank, at) = if let Outcome::Won { rank, at } = answer.outcome {
        (StatusCode::CREATED, rank, at)
    } else if let Outcome::AlreadyWon { rank, at } = answer.outcome {
        (StatusCode::OK, rank, at)
    } else {
        unreachable!("a claim is not answered with {}", answer.outcome.as_str())
    };
    let pool = match ask.pool {
        Some(pool) => pool,
        None => only_pool(app, campaign).into(),
    };
    app.metrics.decided(&answer.outcome);
    let won = Won {
        outcome: answer.outcome.as_str(),
        campaign,
        pool: &pool,
        subject: &ask.subject,
        rank,
        at: clock_text::rfc3339(at),
        position: answer.position.to_string(),
        decided: answer.decided.as_str(),
    };
    Ok(full(status, "application/json", written(&won)))
}

/// Writes an answer as JSON, into room that most answers fit.
pub(super) fn written(answer: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(384);
    serde_json::to_writer(&mut bytes, answer).expect("what we answer can be written as JSON");
    bytes
}

/// Makes a response of bytes.
pub(super) fn full(
    status: StatusCode,
    kind: &'static str,
    bytes: Vec<u8>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(bytes)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Writes a yes as JSON.
pub(super) fn json(status: StatusCode, yes: &impl Serialize) -> Response<Body> {
    full(status, "application/json", written(yes)).map(Body::new)
}

pub(super) fn path<T>(path: Result<Path<T>, PathRejection>) -> Result<Path<T>, Problem> {
    path.map_err(|why| Problem::invalid(format!("the path cannot be read: {}", why.body_text())))
}

/// Gives the name of the campaign's pool; a claim that named none was decided because there is one.
fn only_pool(app: &App, campaign: &str) -> String {
    app.node.replica.look(|state| {
        let pool = state.campaign(campaign).ok().and_then(|campaign| campaign.pools().first());
        pool.map_or_else(String::new, |pool| pool.name().to_owned())
    })
}

/// How a claim was undone.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CancelView {
    at: String,
    /// `subject` or `operator`.
    by: &'static str,
    reason: String,
}

/// One claim of a subject.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ClaimView {
    pool: String,
    rank: u32,
    at: String,
    /// How it was undone; null while it is live.
    cancelled: Option<CancelView>,
}

/// The claims of a subject in a campaign, the latest first in each pool.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ClaimsOf {
    campaign: String,
    subject: String,
    claims: Vec<ClaimView>,
    position: String,
    /// Whether this node's state may be out of date.
    stale: bool,
    /// Whether this is known to be as durable as answers to commands are: `false` after a second of waiting for it.
    durable: bool,
}

/// Gives the claims of a subject.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/claims/{subject}", tag = "claims",
    params(("campaign" = String, Path), ("subject" = String, Path),
           ("min_position" = Option<String>, Query, description = "Answer at or past this position")),
    responses((status = 200, body = ClaimsOf), (status = 404, description = "not_found, no_such_claim")))]
pub(super) async fn look_up(
    Extract(app): Extract<Arc<App>>,
    place: Result<Path<(String, String)>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    let answered = async {
        let Path((campaign, subject)) = path(place)?;
        let bearer = app.bearer(&headers, Role::Read, &campaign)?;
        request::campaign(&campaign)?;
        request::subject(&subject)?;
        bearer.acts_for(&subject)?;
        app.paced_subject(&subject)?;
        app.reach(&request::Query::parse(query.as_deref(), &[])?).await?;
        app.readable(&campaign)?;
        let stale = app.is_stale();
        let (claims, position) = app.node.replica.look(|state| {
            let position = state.token();
            let problem =
                |refusal| Problem::refused(refusal, &campaign).at(position, Decided::Replica);
            let found = state.campaign(&campaign).map_err(problem)?;
            let claims: Vec<ClaimView> = found
                .pools()
                .iter()
                .flat_map(|pool| pool.claims_of(&subject).map(|claim| view(pool.name(), &claim)))
                .collect();
            if claims.is_empty() {
                return Err(problem(Refusal::NoSuchClaim));
            }
            Ok((claims, position))
        })?;
        let durable = app.node.intake.endures(position).await;
        let position = position.to_string();
        let view = ClaimsOf { campaign, subject, claims, position, stale, durable };
        Ok(Json(view).into_response())
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}

pub(super) fn view(pool: &str, claim: &Claim<'_>) -> ClaimView {
    ClaimView {
        pool: pool.to_owned(),
        rank: claim.rank,
        at: clock_text::rfc3339(claim.at),
        cancelled: claim.cancel.map(|cancel| CancelView {
            at: clock_text::rfc3339(cancel.at),
            by: cancel.by.as_str(),
            reason: cancel.reason.to_string(),
        }),
    }
}

/// A claim that is undone.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Cancelled {
    outcome: &'static str,
    campaign: String,
    pool: String,
    subject: String,
    rank: u32,
    /// `subject` or `operator`: whose word counted the first time.
    by: &'static str,
    /// When it was undone the first time.
    at: String,
    position: String,
    decided: &'static str,
}

/// Undoes a claim.
#[utoipa::path(delete, path = "/v1/campaigns/{campaign}/claims/{subject}", tag = "claims",
    params(("campaign" = String, Path), ("subject" = String, Path),
           ("rank" = u32, Query, description = "Which of the subject's claims: a retried cancel cannot hit a newer one"),
           ("pool" = Option<String>, Query, description = "May be left out where the campaign has one"),
           ("by" = Option<String>, Query, description = "`subject` or `operator`; by the key's role if left out"),
           ("reason" = Option<String>, Query, description = "Required when it is by the operator")),
    responses((status = 200, body = Cancelled), (status = 404, description = "not_found, no_such_claim")))]
pub(super) async fn cancel(
    Extract(app): Extract<Arc<App>>,
    place: Result<Path<(String, String)>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    let answered = cancel_answer(&app, place, query, &headers).await;
    answered.unwrap_or_else(|problem| app.problem(problem))
}

async fn cancel_answer(
    app: &App,
    place: Result<Path<(String, String)>, PathRejection>,
    query: Option<String>,
    headers: &HeaderMap,
) -> Result<Response<Body>, Problem> {
    let Path((campaign, subject)) = path(place)?;
    let bearer = app.bearer(headers, Role::Backend, &campaign)?;
    request::campaign(&campaign)?;
    request::subject(&subject)?;
    bearer.acts_for(&subject)?;
    bearer.may_cancel()?;
    app.paced_subject(&subject)?;
    let query = request::Query::parse(query.as_deref(), &["pool", "rank", "reason", "by"])?;
    let by = match query.get("by") {
        None if bearer.is_operator() => By::Operator,
        None | Some("subject") => By::Subject,
        Some("operator") if bearer.is_operator() => By::Operator,
        Some("operator") => {
            let detail = format!("{} may cancel on the subject's word only", bearer.shown());
            return Err(Problem::new(Code::Forbidden, detail));
        }
        Some(other) => {
            return Err(Problem::invalid(format!("by={other}: it is subject or operator")));
        }
    };
    let reason = query.get("reason").unwrap_or("");
    if by == By::Operator && reason.is_empty() {
        return Err(Problem::invalid("an operator gives a reason: add &reason=…, or &by=subject"));
    }
    let most = limits::REASON_BYTES;
    if reason.len() > most || firstcome_core::names::check_text(reason).is_err() {
        let detail = format!("the reason has more than {most} bytes or control characters");
        return Err(Problem::invalid(detail));
    }
    let Some(rank) = query.number::<u32>("rank")? else {
        return Err(Problem::invalid(
            "rank is required: a retried cancel must not hit a newer claim",
        ));
    };
    app.reach(&query).await?;
    let pool = match query.get("pool") {
        Some(pool) => {
            request::pool(&campaign, pool)?;
            pool.to_owned()
        }
        None => sole_pool(app, &campaign)?,
    };
    let ask = Ask::Cancel {
        campaign: campaign.as_str().into(),
        pool: pool.as_str().into(),
        subject: subject.as_str().into(),
        rank,
        by,
        reason: reason.into(),
        who: bearer.name(),
    };
    let answer = yes(app.node.intake.decide(ask).await, &campaign)?;
    let (by, at) = cancelled(&answer);
    app.metrics.decided(&answer.outcome);
    let view = Cancelled {
        outcome: answer.outcome.as_str(),
        campaign,
        pool,
        subject,
        rank,
        by: by.as_str(),
        at: clock_text::rfc3339(at),
        position: answer.position.to_string(),
        decided: answer.decided.as_str(),
    };
    Ok(json(StatusCode::OK, &view))
}

fn cancelled(answer: &Answer) -> (By, Timestamp) {
    let Outcome::Cancelled { by, at } = answer.outcome else {
        unreachable!("a cancel is not answered with {}", answer.outcome.as_str())
    };
    (by, at)
}

/// Gives the name of the campaign's pool where it has one.
fn sole_pool(app: &App, campaign: &str) -> Result<String, Problem> {
    app.node.replica.look(|state: &State| {
        let position = state.token();
        let refused = |refusal| Problem::refused(refusal, campaign).at(position, Decided::Replica);
        match state.campaign(campaign).map_err(refused)?.pools() {
            [pool] => Ok(pool.name().to_owned()),
            [] => Err(refused(Refusal::NotFound(Missing::Pool))),
            _ => Err(refused(Refusal::PoolRequired)),
        }
    })
}
