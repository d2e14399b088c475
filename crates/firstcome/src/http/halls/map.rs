//! The map of a seated pool: whole, or only how its seats stand.

use super::super::claims::path;
use super::super::problem::Problem;
use super::super::{App, Role, request};
use super::{Hall, Seen};
use crate::node::Decided;
use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State as Extract};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use firstcome_core::outcome::Missing;
use firstcome_core::{Refusal, State};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::sync::Arc;

/// Gives the map of a seated pool, with how every seat stands; with `standing=1` only that.
///
/// `standing` has a letter for each seat, in the order of adding: `.` free, `-` not for sale, `h` held, `c` confirmed,
/// `b` blocked. `area_standing` has left, held, confirmed and blocked of each area. Compressed for whoever accepts gzip.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/pools/{pool}/seats", tag = "seats",
    params(("campaign" = String, Path), ("pool" = String, Path),
           ("standing" = Option<String>, Query, description = "1: only how the seats stand"),
           ("If-None-Match" = Option<String>, Header, description = "The ETag of the map one has"),
           ("min_position" = Option<String>, Query)),
    responses((status = 200, description = "the map", content_type = "application/json"), (status = 304, description = "the same as before"),
        (status = 404, description = "not_found"), (status = 409, description = "not_seated")))]
pub(in crate::http) async fn show(
    Extract(app): Extract<Arc<App>>,
    place: Result<Path<(String, String)>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    let answered = async {
        let Path((campaign, pool)) = path(place)?;
        app.bearer(&headers, Role::Read, &campaign)?;
        request::campaign(&campaign)?;
        request::pool(&campaign, &pool)?;
        let query = request::Query::parse(query.as_deref(), &["standing"])?;
        app.reach(&query).await?;
        app.readable(&campaign)?;
        let now = app.node.replica.look(State::token);
        let refused = |(refusal, position)| {
            Problem::refused(refusal, &campaign).at(position, Decided::Replica)
        };
        let watched = app.halls.watch(&app.node.intake, &campaign).map_err(refused)?;
        let seen = watched.seen(now).await;
        let missing = Refusal::NotFound(Missing::Pool);
        let at = seen.pools.iter().position(|seen| seen.name == pool);
        let at = at.ok_or_else(|| refused((missing, seen.position)))?;
        if seen.pools[at].hall.is_none() {
            return Err(refused((Refusal::NotSeated, seen.position)));
        }
        let standing = query.get("standing").is_some_and(|value| value != "0");
        answer(seen, at, &campaign, standing, &headers).await
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}

async fn answer(
    seen: Arc<Seen>,
    at: usize,
    campaign: &str,
    standing: bool,
    headers: &HeaderMap,
) -> Result<Response<Body>, Problem> {
    let Some(hall) = &seen.pools[at].hall else {
        unreachable!("it was looked whether it is seated")
    };
    let tag = if standing { format!("\"{}\"", seen.position) } else { tag_of(hall) };
    let mut response = Response::new(Body::empty());
    let out = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        out.insert(header::ETAG, tag);
    }
    out.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let packs = headers.get_all(header::ACCEPT_ENCODING).iter().any(|value| {
        value.to_str().is_ok_and(|value| value.split(',').any(|c| c.trim().starts_with("gzip")))
    });
    let body: Bytes = if !packs {
        text(&seen, at, campaign, standing).into()
    } else if standing {
        pack(&text(&seen, at, campaign, true))
    } else {
        let campaign = campaign.to_owned();
        let whole = Arc::clone(&seen);
        let packing = async move {
            // A large map takes tens of milliseconds, which nobody else should wait for.
            let pack = move || pack(&text(&whole, at, &campaign, false));
            tokio::task::spawn_blocking(pack).await.unwrap_or_default()
        };
        hall.packed.get_or_init(|| packing).await.clone()
    };
    if packs {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    *response.body_mut() = Body::from(body);
    Ok(response)
}

/// Gives a tag that two maps share if they show the same.
fn tag_of(hall: &Hall) -> String {
    let mut hasher = DefaultHasher::new();
    (&hall.letters, &hall.areas, &hall.layout.text).hash(&mut hasher);
    format!("W/\"{:016x}\"", hasher.finish())
}

fn text(seen: &Seen, at: usize, campaign: &str, standing: bool) -> String {
    let (pool, position) = (&seen.pools[at], seen.position);
    let Some(hall) = &pool.hall else { unreachable!("it was looked whether it is seated") };
    let (name, letters, areas) = (&pool.name, &hall.letters, &hall.areas);
    let layout = &hall.layout.text;
    let (comma, layout) = if standing { ("", "") } else { (",", layout.as_str()) };
    format!(
        r#"{{"campaign":"{campaign}","pool":"{name}","position":"{position}"{comma}{layout},"standing":"{letters}","area_standing":{areas:?}}}"#
    )
}

fn pack(text: &str) -> Bytes {
    let mut packed = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::default());
    packed.write_all(text.as_bytes()).expect("writing to memory does not fail");
    packed.finish().expect("writing to memory does not fail").into()
}
