//! The page of a campaign for people, `/c/{campaign}`, and the files that it loads, `/c/-/{file}`.
//!
//! The page is one document with its style and one script, without a build step and with nothing from elsewhere. Files of
//! the folder `pages_dir` come before the built-in ones: `page.html`, `page.css` and `page.js` replace them, so do those of the
//! console, and others are served beside them.

use super::{HTML, console, escaped};
use crate::answer::Code;
use crate::app::App;
use crate::options::Pages;
use crate::problem::{Answered, Problem};
use crate::seat_map::on_thread;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State as Extract};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use firstcome_core::names::check_name;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, LazyLock};

/// Bytes of a file of `pages_dir`; a larger one is not served.
pub const PAGE_FILE_BYTES: u64 = 4 << 20;

/// Letters of the name of such a file.
const NAME_LETTERS: usize = 64;

const PAGE: &str = include_str!("campaign/page.html");
const STYLE: &str = include_str!("campaign/page.css");

/// What the console uses as well.
pub(super) const LANGUAGE: &str = include_str!("campaign/language.js");
pub(super) const NET: &str = include_str!("campaign/net.js");
pub(super) const MAP: &str = include_str!("campaign/map.js");

/// The script, in the order in which its parts use each other.
const SCRIPT: [&str; 8] = [
    include_str!("campaign/words.js"),
    LANGUAGE,
    NET,
    include_str!("campaign/server.js"),
    MAP,
    include_str!("campaign/seats.js"),
    include_str!("campaign/view.js"),
    include_str!("campaign/page.js"),
];

/// The built-in script, joined and compressed once.
static BUILT_IN: LazyLock<(Bytes, Bytes)> = LazyLock::new(|| packed(&SCRIPT));

/// Joins the parts of a script; gives it compressed and plain.
pub(super) fn packed(parts: &[&str]) -> (Bytes, Bytes) {
    let text = parts.concat();
    (compressed(text.as_bytes()).into(), text.into())
}

/// Gives the page of a campaign. Whether the campaign is public stands in it, so that it asks for nothing in vain.
pub(crate) async fn page(
    Extract(app): Extract<Arc<App>>,
    Path(campaign): Path<String>,
    headers: HeaderMap,
) -> Answered {
    let pages = pages(&app)?;
    check_name(&campaign).map_err(|why| {
        Problem::new(Code::NoSuchRoute, format!("there is no such page: a campaign's name {why}"))
    })?;
    let html = read(pages, "page.html").await?.unwrap_or(Bytes::from_static(PAGE.as_bytes()));
    let css = read(pages, "page.css").await?.unwrap_or(Bytes::from_static(STYLE.as_bytes()));
    let is_public = if app.is_public(&campaign) { "yes" } else { "no" };
    let shop = escaped(pages.shop.as_deref().unwrap_or_default());
    // The style stands in the page, which saves a request; the policy names it by its digest.
    let css = String::from_utf8_lossy(&css);
    let html = String::from_utf8_lossy(&html)
        .replace("{{public}}", is_public)
        .replace("{{shop}}", &shop)
        .replace("{{style}}", &css);
    Ok(strict(&headers, html, &css))
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

/// Gives a file of the page.
pub(crate) async fn file(
    Extract(app): Extract<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Answered {
    let pages = pages(&app)?;
    let missing = || Problem::new(Code::NoSuchRoute, "there is no such file of the page");
    let kind = kind(&name).ok_or_else(missing)?;
    let own = read(pages, &name).await?;
    let (packed, plain) = match own {
        Some(own) if kind.starts_with("text/") || kind == SVG => (compressed(&own).into(), own),
        Some(own) => (Bytes::new(), own),
        None if name == "page.js" => BUILT_IN.clone(),
        None if name == "console.js" => console::BUILT_IN.clone(),
        None => return Err(missing()),
    };
    Ok(answer(&headers, kind, packed, plain))
}

const SVG: &str = "image/svg+xml";

/// Gives the media type of a file by its name; nothing for a name that is not served.
fn kind(name: &str) -> Option<&'static str> {
    let plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
    if name.len() > NAME_LETTERS || name.starts_with('.') || !name.bytes().all(plain) {
        return None;
    }
    let (_, ending) = name.rsplit_once('.')?;
    [
        ("js", "text/javascript; charset=utf-8"),
        ("css", "text/css; charset=utf-8"),
        ("svg", SVG),
        ("png", "image/png"),
        ("jpg", "image/jpeg"),
        ("webp", "image/webp"),
        ("woff2", "font/woff2"),
    ]
    .into_iter()
    .find_map(|(known, kind)| (known == ending).then_some(kind))
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
fn answer(request: &HeaderMap, kind: &'static str, packed: Bytes, plain: Bytes) -> Response<Body> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small() {
        let all = [PAGE, STYLE, &SCRIPT.concat()].map(|text| compressed(text.as_bytes()).len());
        assert!(all.iter().sum::<usize>() <= 60 << 10, "{all:?} bytes compressed");
    }

    #[test]
    fn only_plain_names_of_known_kinds_are_served() {
        for name in ["page.js", "logo-2.svg", "Font.woff2"] {
            assert!(kind(name).is_some(), "{name}");
        }
        let long = format!("{}.js", "a".repeat(64));
        for name in
            ["../page.js", ".js", "page", "page.html", "a/b.js", "a\\b.js", "", &long, "a%2fb.js"]
        {
            assert_eq!(kind(name), None, "{name}");
        }
    }
}
