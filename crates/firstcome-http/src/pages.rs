//! Pages for people: what the routes are, and what each problem means.

use crate::app::App;
use crate::problem::{Answered, Problem};
use axum::body::Body;
use axum::extract::{Path, State as Extract};
use axum::http::{HeaderValue, Response, header};
use axum::response::{Html, IntoResponse};
use firstcome_api::answer::{Code, Effect};
use serde_json::Value;
use std::fmt::Write;
use std::sync::Arc;

const STYLE: &str = "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
    code,pre{font-family:ui-monospace,monospace}pre{background:#8881;padding:1rem;overflow:auto}\
    table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #8884;padding:.4rem .6rem;\
    text-align:left;vertical-align:top}:root{color-scheme:light dark}</style>";

fn page(title: &str, body: &str) -> Html<String> {
    Html(format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title>{STYLE}<h1>{title}</h1>{body}</html>"
    ))
}

/// Gives the routes and the problems on one page.
pub(super) async fn docs(Extract(app): Extract<Arc<App>>) -> Html<String> {
    let mut body = String::from(
        "<p>Exact machine-readable description: <a href=/openapi.json>/openapi.json</a>. \
         Keys travel as <code>Authorization: Bearer KEY</code>.</p><h2>Routes</h2>\
         <table><tr><th>Method<th>Path<th>What it does</tr>",
    );
    for (method, path, operation) in operations(&app.openapi.document) {
        let summary = operation["summary"].as_str().unwrap_or("");
        append(
            &mut body,
            format_args!("<tr><td>{method}<td><code>{path}</code><td>{summary}</tr>"),
        );
    }
    body.push_str(
        "</table><h2>Answers that are not a yes</h2>\
         <table><tr><th>Outcome<th>Status<th>Retry<th>Changed<th>Meaning</tr>",
    );
    for code in Code::all() {
        let row = code.row();
        append(
            &mut body,
            format_args!(
                "<tr><td><a href=/problems/{0}><code>{0}</code></a><td>{1}<td>{2}<td>{3}<td>{4}</tr>",
                row.outcome,
                row.status.as_u16(),
                if row.retry { "yes" } else { "no" },
                row.effect.as_str(),
                row.title
            ),
        );
    }
    body.push_str("</table>");
    page("Firstcome", &body)
}

/// Gives the operations of a description: method, path, and what is said of it.
fn operations(openapi: &Value) -> impl Iterator<Item = (String, &str, &Value)> {
    openapi["paths"].as_object().into_iter().flatten().flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (method.to_uppercase(), path.as_str(), operation))
    })
}

/// Gives the description of every route, OpenAPI 3.1.
#[utoipa::path(get, path = "/openapi.json", tag = "operation",
    responses((status = 200, description = "an OpenAPI document", body = Object)))]
pub(super) async fn openapi(Extract(app): Extract<Arc<App>>) -> Response<Body> {
    let mut response = Response::new(Body::from(app.openapi.text.clone()));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Gives the page of one problem, which its `type` points to.
pub(super) async fn problem(Path(outcome): Path<String>) -> Answered {
    let Some(code) = Code::of(&outcome) else {
        return Err(Problem::new(Code::NoSuchRoute, "there is no problem of that name"));
    };
    let row = code.row();
    let retry = if row.retry {
        "The same request may succeed later without anything else being done."
    } else {
        "The same request will not succeed by being sent again."
    };
    let effect = match row.effect {
        Effect::None => "Nothing changed.",
        Effect::Unknown => {
            "It may have happened. Send the same request again: it is known by its own identity, \
             so it happens once, and the answer tells what happened."
        }
        Effect::Done => "It is a result, taken down once: asking again gives the same answer.",
    };
    let body = format!(
        "<p>{}.</p><p>HTTP status {}.</p><p>{retry}</p><p>{effect}</p><p><a href=/docs>All routes and problems</a></p>",
        row.title, row.status
    );
    Ok(page(&format!("Problem: <code>{}</code>", row.outcome), &body).into_response())
}

fn append(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("writing to a string does not fail");
}
