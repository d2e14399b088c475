//! Subject tokens: minted for a back end; tickets: minted for a page that has a token.

use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::clock_text;
use crate::guard::token::{MOST_SECONDS, Scope};
use crate::request;
use crate::request::bearer::Bearer;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::StatusCode;
use firstcome_api::key::Role;
use firstcome_api::token::{Minted, Ticket, TokenRequest};
use firstcome_core::Timestamp;

/// Issues a subject token: with it a browser acts for one subject.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", operation_id = "mint_token",
    request_body = TokenRequest, responses((status = "2XX", body = Minted)))]
pub(crate) async fn mint(call: Call, body: Body) -> HandlerResult {
    let Call { app, headers, .. } = &call;
    let key = app.keys.know(headers, Role::Backend)?;
    let bytes = call.body(body).await?;
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
    let (token, expires) = minted.map_err(|_| no_secret())?;
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

/// Issues a ticket for a subject token: with it a page follows events.
///
/// The `EventSource` of a browser cannot send `Authorization`: `new EventSource("…/events?ticket=" + ticket)`. A ticket is for
/// the subject and the campaigns of the token, expires with it, can open streams of events any number of times, and can do
/// nothing else.
#[utoipa::path(post, path = "/v1/tickets", tag = "tokens", operation_id = "mint_ticket", responses((status = "2XX", body = Ticket)))]
pub(crate) async fn mint_ticket(call: Call) -> HandlerResult {
    let Call { app, headers, .. } = &call;
    let token = match app.bearer_at_large(headers, Role::Read)? {
        Bearer::Subject(token) => token,
        Bearer::Key(_) => {
            let detail = "a ticket is for a subject token: a key follows events with Authorization";
            return Err(Problem::new(Code::Forbidden, detail));
        }
    };
    let ticket = app.guards.tokens.mint_ticket(&token, app.node.intake.now());
    let answer = Ticket {
        outcome: "minted".into(),
        ticket: ticket.map_err(|_| no_secret())?,
        campaign: token.campaign.to_string(),
        expires_at: clock_text::rfc3339(Timestamp::from_micros(
            token.expires.saturating_mul(1_000_000),
        )),
    };
    app.metrics.answered(&answer.outcome);
    Ok(json(StatusCode::CREATED, &answer))
}

fn no_secret() -> Problem {
    let detail = "this server has no secret to sign with: set FIRSTCOME_TOKEN_SECRET";
    Problem::new(Code::Forbidden, detail)
}
