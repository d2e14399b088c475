//! Many commands of a back end in one request: lines in, lines out, in order, while the body still comes.

mod any_ask;
mod commands;
mod line;
mod lines;
pub(crate) mod requests;
mod unanswered;

pub use commands::{BULK_CHECKS, BULK_UNANSWERED, BULK_UNANSWERED_BYTES};
pub use line::REF_BYTES;
pub use lines::{BULK_BYTES, BULK_LINES};

use crate::answer::problem::HandlerResult;
use crate::request;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use commands::Commands;
use firstcome_api::bulk::{CommandAnswer, CommandLine, MEDIA_TYPE};
use firstcome_api::key::Role;
use std::sync::Arc;

/// Executes many commands, one on each line: claims, cancels, holds and their steps.
///
/// Each line is answered by a line, in the order of the lines, while the next ones still come. A line that is wrong or refused
/// answers for itself.
#[utoipa::path(post, path = "/v1/commands", tag = "bulk", operation_id = "execute_commands",
    request_body(content = CommandLine, content_type = "application/x-ndjson"),
    responses((status = "2XX", description = "a line for each line", body = CommandAnswer, content_type = "application/x-ndjson")))]
pub(crate) async fn commands(call: Call, body: Body) -> HandlerResult {
    let Call { app, headers, .. } = &call;
    let (key, pace) = app.keys.know_for_many(headers, Role::Backend)?;
    request::kind_of(headers, &[MEDIA_TYPE])?;
    let query = call.query(&[])?;
    let place = app.bulk.take(&key.name)?;
    app.reach(&query).await?;
    let cut = place.cut();
    let answers = Commands::new(Arc::clone(app), (key, pace), body, place);
    let mut response = Response::new(Body::new(answers));
    let kind = HeaderValue::from_static(MEDIA_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response.extensions_mut().insert(cut);
    Ok(response)
}
