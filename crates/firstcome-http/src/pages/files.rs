//! What pages are made of: files of the team's folder or of the program, compressed, each with a strict policy.

use super::HTML;
use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::app::App;
use crate::options::Pages;
use crate::seat_map::on_thread;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::io::{ErrorKind, Read, Write};

/// Bytes of a file of `pages_dir`; a larger one is not served.
pub const PAGE_FILE_BYTES: u64 = 4 << 20;

/// Parts of scripts that several pages use.
pub(super) const LANGUAGE: &str = include_str!("seats/language.js");
pub(super) const BROWSER: &str = include_str!("seats/browser.js");
pub(super) const FIRST_LANGUAGE: &str = include_str!("campaign/first_language.js");
pub(super) const NET: &str = include_str!("seats/net.js");
pub(super) const MAP: &str = include_str!("seats/map.js");

/// Joins the parts of a script; gives it compressed and plain.
pub(super) fn packed(parts: &[&str]) -> (Bytes, Bytes) {
    let text = parts.concat();
    (compressed(text.as_bytes()).into(), text.into())
}

/// Answers with a page that runs only its own script, and has only the style whose digest the policy names.
pub(super) fn strict(headers: &HeaderMap, html: String, css: &str) -> Response<Body> {
    let digest = STANDARD.encode(Sha256::digest(css.as_bytes()));
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{digest}'; connect-src 'self'; \
         img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let mut response = answer(headers, HTML, compressed(html.as_bytes()).into(), html.into());
    let policy = HeaderValue::from_str(&policy).expect("a digest in base64 can stand in a header");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

pub(super) fn pages(app: &App) -> Result<&Pages, Problem> {
    let off = || Problem::new(Code::NoSuchRoute, "the pages of this server are off (pages)");
    app.options.pages.as_ref().ok_or_else(off)
}

/// Reads a file of the team's own folder; nothing where it has none of that name.
pub(super) async fn read(pages: &Pages, name: &str) -> Result<Option<Bytes>, Problem> {
    let Some(path) = pages.folder.as_ref().map(|folder| folder.join(name)) else {
        return Ok(None);
    };
    let reading = move || {
        let mut bytes = Vec::new();
        // A pipe would be waited for until somebody writes into it.
        if !std::fs::metadata(&path)?.is_file() {
            return Err(std::io::Error::other("it is no regular file"));
        }
        std::fs::File::open(path)?.take(PAGE_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    let cannot = |why: String| Problem::new(Code::NoSuchRoute, format!("file {name:?}: {why}"));
    match on_thread(reading).await {
        Some(Ok(bytes)) if bytes.len() as u64 > PAGE_FILE_BYTES => {
            Err(cannot(format!("it has more than {PAGE_FILE_BYTES} bytes")))
        }
        Some(Ok(bytes)) => Ok(Some(bytes.into())),
        Some(Err(why)) if why.kind() == ErrorKind::NotFound => Ok(None),
        Some(Err(why)) => Err(cannot(why.to_string())),
        None => Err(cannot("the server is stopping".to_owned())),
    }
}

pub(super) fn compressed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).expect("writing to memory does not fail");
    encoder.finish().expect("writing to memory does not fail")
}

/// Answers with a file, compressed for who takes that; a browser asks each time whether it is the same still.
pub(super) fn answer(
    request: &HeaderMap,
    kind: &'static str,
    packed: Bytes,
    plain: Bytes,
) -> Response<Body> {
    let tag = format!("\"{}\"", STANDARD.encode(&Sha256::digest(&plain)[..12]));
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    headers
        .insert(header::ETAG, HeaderValue::from_str(&tag).expect("base64 can stand in a header"));
    let known = request.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    let takes = request.get_all(header::ACCEPT_ENCODING).iter().any(|value| {
        value.to_str().is_ok_and(|value| value.split(',').any(|c| c.trim().starts_with("gzip")))
    });
    *response.body_mut() = if takes && !packed.is_empty() {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        Body::from(packed)
    } else {
        Body::from(plain)
    };
    response
}
