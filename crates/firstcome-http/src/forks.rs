//! What nodes found out about forks of the journal.

use super::problem::Problem;
use super::request;
use crate::app::App;
use axum::Json;
use axum::body::Body;
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, Response};
use axum::response::IntoResponse;
use firstcome_api::key::Role;
use firstcome_node::Failure;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// What one node found out about one fork.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ForkView {
    /// The epoch that began with it.
    epoch: u32,
    /// The node that went over to the other history.
    node: String,
    /// Where the journal forked, how many claims kept, changed or lost their rank, and then a line for each of them.
    report: String,
}

/// What nodes found out about forks, the oldest first; the last 64 reports are kept.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ForksView {
    forks: Vec<ForkView>,
}

/// Gives what nodes found out about forks of the journal.
#[utoipa::path(get, path = "/v1/forks", tag = "operation", responses((status = 200, body = ForksView)))]
pub(super) async fn forks(
    Extract(app): Extract<Arc<App>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    let answered = async {
        app.keys.know(&headers, Role::Read)?;
        app.reach(&request::Query::parse(query.as_deref(), &[])?).await?;
        // A journal of one node cannot fork.
        let Some(shared) = app.node.journal.shared() else { return Ok(Vec::new()) };
        shared.reports().await.map_err(|broken| {
            Problem::failed(&Failure::Unavailable(format!("the reports cannot be read: {broken}")))
        })
    };
    match answered.await {
        Ok(reports) => {
            let view = |(epoch, node, report): (u32, firstcome_core::NodeId, String)| ForkView {
                epoch,
                node: node.to_string(),
                report,
            };
            Json(ForksView { forks: reports.into_iter().map(view).collect() }).into_response()
        }
        Err(problem) => app.problem(problem),
    }
}
