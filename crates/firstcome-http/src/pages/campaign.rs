//! The page of a campaign for people, `/c/{campaign}`, and the files of all pages, `/c/-/{file}`.
//!
//! The page is one document with its style and one script, without a build step and with nothing from elsewhere. Files of
//! the folder `pages_dir` come before the built-in ones: `page.html`, `page.css` and `page.js` replace them, so do those of the
//! console, and others are served beside them.

use super::files::{
    BROWSER, FIRST_LANGUAGE, LANGUAGE, MAP, NET, answer, compressed, packed, pages, read, strict,
};
use super::{console, escaped, seats};
use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::app::App;
use axum::body::Bytes;
use axum::extract::{self, Path};
use axum::http::HeaderMap;
use firstcome_core::names::check_name;
use std::sync::{Arc, LazyLock};

/// Letters of the name of such a file.
const NAME_LETTERS: usize = 64;

const PAGE: &str = include_str!("campaign/page.html");
/// The style of the seats, and of the rest of the page.
const STYLE: &str = concat!(include_str!("seats/seats.css"), include_str!("campaign/page.css"));

/// The script, in the order in which its parts use each other.
const SCRIPT: [&str; 11] = [
    seats::WORDS,
    include_str!("campaign/words.js"),
    LANGUAGE,
    BROWSER,
    FIRST_LANGUAGE,
    NET,
    MAP,
    seats::SESSION,
    seats::PANEL,
    include_str!("campaign/view.js"),
    include_str!("campaign/page.js"),
];

/// The built-in script, joined and compressed once.
static BUILT_IN: LazyLock<(Bytes, Bytes)> = LazyLock::new(|| packed(&SCRIPT));

/// Returns the page of a campaign. Whether the campaign is public stands in it, so that it asks for nothing in vain.
pub(crate) async fn page(
    extract::State(app): extract::State<Arc<App>>,
    Path(campaign): Path<String>,
    headers: HeaderMap,
) -> HandlerResult {
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

/// Returns a file of the page.
pub(crate) async fn file(
    extract::State(app): extract::State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> HandlerResult {
    let pages = pages(&app)?;
    let missing = || Problem::new(Code::NoSuchRoute, "there is no such file of the page");
    let kind = kind(&name).ok_or_else(missing)?;
    let own = read(pages, &name).await?;
    let (packed, plain) = match own {
        Some(own) if kind.starts_with("text/") || kind == SVG => (compressed(&own).into(), own),
        Some(own) => (Bytes::new(), own),
        None if name == "page.js" => BUILT_IN.clone(),
        None if name == "console.js" => console::BUILT_IN.clone(),
        None if name == "seats.js" => seats::BUILT_IN.clone(),
        None => return Err(missing()),
    };
    Ok(answer(&headers, kind, packed, plain))
}

const SVG: &str = "image/svg+xml";

/// Returns the media type of a file by its name; nothing for a name that is not served.
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
