//! Steers campaigns: pause, resume, close, archive, delete.

use super::done::done;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::app::App;
use crate::asks::yes;
use crate::request::{self, InPath, Query};
use axum::body::Body;
use axum::extract::{self, Path, RawQuery};
use axum::http::{HeaderMap, StatusCode, header};
use firstcome_api::campaign::{ArchiveRequest, Deleted, OperatorDone};
use firstcome_api::key::Role;
use firstcome_core::Command;
use firstcome_core::command::{Order, Steer};
use firstcome_node::Answer;
use std::sync::Arc;

/// Accepts no claims until resumed.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/pause", tag = "campaigns",
    params(("campaign" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    responses((status = 200, description = "changed, unchanged", body = OperatorDone)))]
pub(crate) async fn pause(
    extract::State(app): extract::State<Arc<App>>,
    campaign: InPath<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> HandlerResult {
    steer(&app, campaign, query, &headers, Steer::Pause).await
}

/// Accepts claims again.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/resume", tag = "campaigns",
    params(("campaign" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    responses((status = 200, description = "changed, unchanged", body = OperatorDone)))]
pub(crate) async fn resume(
    extract::State(app): extract::State<Arc<App>>,
    campaign: InPath<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> HandlerResult {
    steer(&app, campaign, query, &headers, Steer::Resume).await
}

/// Ends the campaign permanently.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/close", tag = "campaigns",
    params(("campaign" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    responses((status = 200, description = "changed, unchanged", body = OperatorDone)))]
pub(crate) async fn close(
    extract::State(app): extract::State<Arc<App>>,
    campaign: InPath<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> HandlerResult {
    steer(&app, campaign, query, &headers, Steer::Close).await
}

/// Deletes a campaign without a result, in any state: its holds end, and its name is free.
#[utoipa::path(delete, path = "/v1/campaigns/{campaign}", tag = "campaigns",
    params(("campaign" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    responses((status = 200, description = "deleted", body = Deleted)))]
pub(crate) async fn delete(
    extract::State(app): extract::State<Arc<App>>,
    campaign: InPath<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> HandlerResult {
    let campaign = request::path(campaign)?;
    let answer = decide(&app, &campaign, query, &headers, Steer::Delete).await?;
    app.metrics.decided(&answer.outcome);
    let deleted = Deleted {
        outcome: answer.outcome.as_str().into(),
        campaign,
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    Ok(json(StatusCode::OK, &deleted))
}

/// Removes a closed campaign from memory, after its results are in the ledger.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/archive", tag = "campaigns",
    params(("campaign" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = Option<ArchiveRequest>,
    responses((status = 200, description = "changed, unchanged", body = OperatorDone)))]
pub(crate) async fn archive(
    extract::State(app): extract::State<Arc<App>>,
    campaign: InPath<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> HandlerResult {
    // The body is read only of a caller that may archive the campaign.
    if let Ok(Path(campaign)) = &campaign {
        app.keys.allow(&headers, Role::Operator, campaign)?;
    }
    let mut ask = ArchiveRequest::default();
    if headers.contains_key(header::CONTENT_TYPE) {
        let bytes = request::body(&app.options, &headers, body).await?;
        if !bytes.is_empty() {
            ask = request::json(&bytes)?;
        }
    }
    let archive = Steer::Archive { drop_unsettled: ask.drop_unsettled };
    steer(&app, campaign, query, &headers, archive).await
}

async fn steer(
    app: &App,
    campaign: InPath<String>,
    query: Option<String>,
    headers: &HeaderMap,
    steer: Steer,
) -> HandlerResult {
    let campaign = request::path(campaign)?;
    let answer = decide(app, &campaign, query, headers, steer).await?;
    Ok(done(app, campaign, &answer))
}

async fn decide(
    app: &App,
    campaign: &str,
    query: Option<String>,
    headers: &HeaderMap,
    steer: Steer,
) -> Result<Answer, Problem> {
    let key = app.keys.allow(headers, Role::Operator, campaign)?;
    request::campaign(campaign)?;
    let id = request::command_id(headers)?;
    app.reach(&Query::parse(query.as_deref(), &[])?).await?;
    let order = Order { id: id.as_deref(), who: &key.name };
    let steer = Command::Steer { campaign, steer, order };
    yes(app.node.intake.decide(&steer).await, campaign)
}
