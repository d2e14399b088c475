//! Subject tokens: minted for a back end.

use crate::app::App;
use crate::guard::token::{MOST_SECONDS, Scope};
use crate::problem::{Answered, Problem};
use crate::request;
use crate::respond::json;
use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::{HeaderMap, StatusCode};
use firstcome_api::answer::Code;
use firstcome_api::clock_text;
use firstcome_api::key::Role;
use firstcome_api::token::{Minted, TokenRequest};
use std::sync::Arc;

/// Mints a subject token, with which a browser may act for one subject.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", request_body = TokenRequest,
    responses((status = 201, description = "minted", body = Minted),
        (status = 403, description = "forbidden: also where there is no key to sign with")))]
pub(crate) async fn mint(
    Extract(app): Extract<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let key = app.keys.know(&headers, Role::Backend)?;
    let bytes = request::body(&app.options, &headers, body).await?;
    let ask: TokenRequest<'_> = request::json(&bytes)?;
    request::subject(&app.options, &ask.subject)?;
    let campaign: Scope = ask.campaign.parse().map_err(Problem::invalid)?;
    key.covers(campaign.beginning())?;
    if !(1..=MOST_SECONDS).contains(&ask.expires_in_s) {
        let detail = format!("expires_in_s is {}: 1 to {MOST_SECONDS}", ask.expires_in_s);
        return Err(Problem::invalid(detail));
    }
    let now = app.node.intake.now();
    let minted = app.guards.tokens.mint(&ask.subject, &campaign, ask.cancel, now, ask.expires_in_s);
    let (token, expires) = minted.map_err(|_| {
        let detail = "this server has no secret to sign tokens with: set FIRSTCOME_TOKEN_SECRET";
        Problem::new(Code::Forbidden, detail)
    })?;
    let answer = Minted {
        outcome: "minted".into(),
        token,
        subject: ask.subject,
        campaign: ask.campaign,
        cancel: ask.cancel,
        expires_at: clock_text::rfc3339(expires),
    };
    app.metrics.answered(&answer.outcome);
    Ok(json(StatusCode::CREATED, &answer))
}
