//! The route of claims: those that wait for units, and those that do not.

use crate::app::App;
use crate::claims::ClaimAsk;
use crate::early::{Early, Look};
use crate::problem::{Answered, Problem};
use crate::request::{self, InPath, Query};
use crate::respond::Yes;
use crate::waitlist::{JoinAsk, Wanted};
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, Response};
use firstcome_api::claim::{ClaimRequest, Won};
use firstcome_api::key::Role;
use firstcome_api::waitlist::{ClaimBefore, Waitlisted};
use http_body_util::Full;
use std::sync::Arc;

/// Claims a unit.
///
/// With `wait` the subject joins the waitlist if what it wants is not free.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/claims", tag = "claims",
    params(("campaign" = String, Path, description = "The name of the campaign"),
           ("min_position" = Option<String>, Query, description = "Wait until the server is at this position")),
    request_body = ClaimRequest,
    responses((status = 201, description = "won", body = Won),
        (status = 200, description = "already_won; of a claim that waits, offered", body = ClaimBefore),
        (status = 202, description = "waitlisted", body = Waitlisted)))]
pub(crate) async fn claim(
    Extract(app): Extract<Arc<App>>,
    campaign: InPath<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let campaign = request::path(campaign)?;
    let answer = answer(&app, &campaign, query.as_deref(), &headers, body).await?;
    Ok(answer.map(Body::new))
}

/// Answers a claim; the accept loop comes here straight away.
pub(crate) async fn answer<B>(
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
    let bytes = request::body(&app.options, headers, body).await?;
    let mut asked: ClaimRequest<'_> = request::json(&bytes)?;
    let subject = bearer.subject(asked.subject.take())?;
    let min = Query::parse(query, &[])?.min_position()?;
    let wanted = Wanted::of(&mut asked)?;
    let mut ask = ClaimAsk::new(campaign.into(), asked.pool, subject);
    if let Some(wanted) = wanted {
        let mut ask = JoinAsk { claim: ask, wanted };
        let answer = match ask.prepare(app, &bearer, Look { min, memory: true }).await? {
            Early::Answered(answer) => answer,
            Early::Decide(limit) => {
                let answer = app.node.intake.decide(&ask.command(limit)).await;
                if ask.is_offered_a_code(app, &answer) {
                    ask.take_code(app, answer).await
                } else {
                    answer
                }
            }
        };
        return ask.finish(app, &bearer, answer).map(Yes::response);
    }
    let answer = match ask.prepare(app, &bearer, Look { min, memory: true }).await? {
        Early::Answered(answer) => answer,
        Early::Decide(_) => app.node.intake.decide(&ask.command()).await,
    };
    ask.finish(app, &bearer, answer).map(Yes::response)
}
