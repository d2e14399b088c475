//! The console of operators, `/console`: one document and one script, `/c/-/console.js`, as strict as the page for people.
//!
//! It knows nothing that the routes do not say, and does nothing that they do not do: whoever has a key can do the same.

use super::files::{BROWSER, FIRST_LANGUAGE, LANGUAGE, MAP, NET, packed, pages, read, strict};
use crate::answer::problem::HandlerResult;
use crate::app::App;
use axum::body::Bytes;
use axum::extract;
use axum::http::HeaderMap;
use std::sync::{Arc, LazyLock};

const PAGE: &str = include_str!("console/console.html");
const STYLE: &str = include_str!("console/console.css");

/// The script, in the order in which its parts use each other.
const SCRIPT: [&str; 14] = [
    include_str!("console/words.js"),
    LANGUAGE,
    BROWSER,
    FIRST_LANGUAGE,
    NET,
    MAP,
    include_str!("console/api.js"),
    include_str!("console/campaigns.js"),
    include_str!("console/minute.js"),
    include_str!("console/form.js"),
    include_str!("console/seats.js"),
    include_str!("console/people.js"),
    include_str!("console/webhooks.js"),
    include_str!("console/console.js"),
];

/// The built-in script, joined and compressed once.
pub(super) static BUILT_IN: LazyLock<(Bytes, Bytes)> = LazyLock::new(|| packed(&SCRIPT));

/// Returns the console. It asks for a key itself: the page has nothing to hide.
pub(crate) async fn page(
    extract::State(app): extract::State<Arc<App>>,
    headers: HeaderMap,
) -> HandlerResult {
    let pages = pages(&app)?;
    let html = read(pages, "console.html").await?.unwrap_or(Bytes::from_static(PAGE.as_bytes()));
    let css = read(pages, "console.css").await?.unwrap_or(Bytes::from_static(STYLE.as_bytes()));
    let css = String::from_utf8_lossy(&css);
    let html = String::from_utf8_lossy(&html).replace("{{style}}", &css);
    Ok(strict(&headers, html, &css))
}
