//! Steers campaigns: pause, resume, close, archive, delete.

use super::done::done;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::asks::yes;
use crate::request;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::{StatusCode, header};
use firstcome_api::campaign::{ArchiveRequest, Deleted, OperatorDone};
use firstcome_api::key::Role;
use firstcome_core::Command;
use firstcome_core::command::{Order, Steer};
use firstcome_node::Answer;

/// Accepts no claims until resumed.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/pause", tag = "campaigns", operation_id = "pause_campaign",
    responses((status = "2XX", body = OperatorDone)))]
pub(crate) async fn pause(call: Call<String>) -> HandlerResult {
    steer(&call, Steer::Pause).await
}

/// Accepts claims again.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/resume", tag = "campaigns", operation_id = "resume_campaign",
    responses((status = "2XX", body = OperatorDone)))]
pub(crate) async fn resume(call: Call<String>) -> HandlerResult {
    steer(&call, Steer::Resume).await
}

/// Ends the campaign permanently.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/close", tag = "campaigns", operation_id = "close_campaign",
    responses((status = "2XX", body = OperatorDone)))]
pub(crate) async fn close(call: Call<String>) -> HandlerResult {
    steer(&call, Steer::Close).await
}

/// Deletes a campaign without a result, in any state: its holds end, and its name is free.
#[utoipa::path(delete, path = "/v1/campaigns/{campaign}", tag = "campaigns", operation_id = "delete_campaign",
    responses((status = "2XX", body = Deleted)))]
pub(crate) async fn delete(call: Call<String>) -> HandlerResult {
    let answer = decide(&call, Steer::Delete).await?;
    call.app.metrics.decided(&answer.outcome);
    let deleted = Deleted {
        outcome: answer.outcome.as_str().into(),
        campaign: call.path,
        position: answer.position.to_string(),
        decided: answer.decided.as_str().into(),
    };
    Ok(json(StatusCode::OK, &deleted))
}

/// Removes a closed campaign from memory, after its results are in the ledger.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/archive", tag = "campaigns", operation_id = "archive_campaign",
    request_body = Option<ArchiveRequest>, responses((status = "2XX", body = OperatorDone)))]
pub(crate) async fn archive(call: Call<String>, body: Body) -> HandlerResult {
    let Call { app, path: campaign, headers, .. } = &call;
    // The body is read only of a caller that may archive the campaign.
    app.keys.allow(headers, Role::Operator, campaign)?;
    let mut ask = ArchiveRequest::default();
    if headers.contains_key(header::CONTENT_TYPE) {
        let bytes = call.body(body).await?;
        if !bytes.is_empty() {
            ask = request::json(&bytes)?;
        }
    }
    let archive = Steer::Archive { drop_unsettled: ask.drop_unsettled };
    steer(&call, archive).await
}

async fn steer(call: &Call<String>, steer: Steer) -> HandlerResult {
    let answer = decide(call, steer).await?;
    Ok(done(&call.app, &call.path, &answer))
}

async fn decide(call: &Call<String>, steer: Steer) -> Result<Answer, Problem> {
    let campaign = &call.path;
    let key = call.key(Role::Operator, campaign)?;
    let id = request::command_id(&call.headers)?;
    call.reach().await?;
    let order = Order { id: id.as_deref(), who: &key.name };
    let steer = Command::Steer { campaign, steer, order };
    yes(call.app.node.intake.decide(&steer).await, campaign)
}
