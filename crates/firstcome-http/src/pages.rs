//! Pages for people: where to go, what the routes are, and what each problem means.

pub(crate) mod campaign;
pub(crate) mod console;
mod docs;
pub(crate) mod files;
mod seats;
mod what_to_do;

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::{Code, Effect};
use crate::app::App;
use axum::body::{Body, Bytes};
use axum::extract::{self, Path};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::json;
use std::fmt::Write;
use std::sync::Arc;

/// Nothing is loaded from elsewhere, no script stands in a page, and no page of another server shows one of these.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const HTML: &str = "text/html; charset=utf-8";

/// Returns a page as bytes; `up` leads from it to the path of the server.
fn page(title: &str, up: &str, body: &str) -> Bytes {
    let plain = title.replace('`', "");
    let (plain, title) = (escaped(&plain), marked(title));
    let page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{plain}</title><link rel=stylesheet href={up}docs/docs.css><h1>{title}</h1>{body}</html>"
    );
    page.into()
}

fn served(kind: &'static str, bytes: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(bytes.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Says where to go: a page for browsers, JSON for others.
pub(super) async fn root(
    extract::State(app): extract::State<Arc<App>>,
    headers: HeaderMap,
) -> Response<Body> {
    // Not relative: the page may be at the path of the server without a `/` at its end.
    let base = &app.options.rare.base_path;
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let mut response = if accepts.is_some_and(|accepts| accepts.contains("text/html")) {
        let body = format!(
            "<p>This is a server of Firstcome: it decides who was first.</p><ul>\
             <li><a href={base}/console>The console for operators</a>\
             <li><a href={base}/docs>All routes, with examples, and a way to try them</a>\
             <li><a href={base}/openapi.json>The description of the routes for programs (OpenAPI 3.1)</a>\
             <li><a href={base}/readyz>Whether this server takes commands</a></ul>"
        );
        served(HTML, page("Firstcome", &format!("{base}/"), &body))
    } else {
        let places = json!({
            "name": "Firstcome", "docs": format!("{base}/docs"), "openapi": format!("{base}/openapi.json"),
            "campaigns": format!("{base}/v1/campaigns"), "ready": format!("{base}/readyz"),
        });
        crate::answer::respond::json(StatusCode::OK, &places)
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    response
}

/// Returns the routes, with examples and forms, and the problems on one page.
pub(super) async fn docs(extract::State(app): extract::State<Arc<App>>) -> Response<Body> {
    let page = app.openapi.page(&app.options.rare.base_path, docs::page);
    served(HTML, page)
}

/// Returns the style of the pages.
pub(super) async fn style() -> Response<Body> {
    served("text/css; charset=utf-8", include_str!("pages/docs.css"))
}

/// Returns the script of the forms.
pub(super) async fn script() -> Response<Body> {
    served("text/javascript; charset=utf-8", include_str!("pages/docs.js"))
}

/// Returns the description of every route, OpenAPI 3.1.
#[utoipa::path(get, path = "/openapi.json", tag = "operation", operation_id = "openapi",
    responses((status = "2XX", description = "an OpenAPI document", body = Object)))]
pub(super) async fn openapi(extract::State(app): extract::State<Arc<App>>) -> Response<Body> {
    let mut response = Response::new(Body::from(app.openapi.text(&app.options.rare.base_path)));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Returns the page of one problem, which its `type` points to.
pub(super) async fn problem(Path(outcome): Path<String>) -> HandlerResult {
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
        "<p>{}.</p><p>HTTP status {}.</p><p>{retry}</p><p>{effect}</p><h2>What to do</h2><p>{}</p>\
         <p><a href=../docs#problems>All routes and problems</a></p>",
        marked(row.title),
        row.status,
        marked(what_to_do::about(row.outcome))
    );
    Ok(served(HTML, page(&format!("Problem: `{}`", row.outcome), "../", &body)))
}

/// Returns a text as it can stand in HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Returns a text of the description as HTML: what stands between backticks as code, an empty line as a break.
fn marked(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 16);
    for (nth, part) in text.split('`').enumerate() {
        let part = escaped(part).replace("\n\n", "<br>");
        match nth % 2 {
            0 => html.push_str(&part),
            _ => append(&mut html, format_args!("<code>{part}</code>")),
        }
    }
    html
}

fn append(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_in_backticks_is_code_and_nothing_is_markup() {
        assert_eq!(
            marked("a `b<c>` & \"d\"\n\ne"),
            "a <code>b&lt;c&gt;</code> &amp; &quot;d&quot;<br>e"
        );
        let page = page("Problem: `x`", "../", "");
        let text = std::str::from_utf8(&page).unwrap();
        assert!(text.contains("<title>Problem: x</title>"), "{text}");
        assert!(text.contains("<h1>Problem: <code>x</code></h1>"), "{text}");
    }
}
