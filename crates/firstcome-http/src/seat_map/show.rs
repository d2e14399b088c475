//! The map of a seated pool: whole, or only the status of its seats.

use super::gzip::{Deflated, gzip};
use super::layout::Written;
use super::{Seats, Seen};
use crate::answer::problem::{HandlerResult, Problem};
use crate::request;
use crate::request::call::Call;
use crate::server::frames::Frames;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use firstcome_core::outcome::Missing;
use firstcome_core::{Refusal, State};
use firstcome_node::{Decided, Replica};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Returns the map of a seated pool, with the status of every seat; with `standing=1` only the status.
///
/// `standing` has a letter for each seat, in the order of adding: `.` free, `-` not for sale, `h` held, `c` confirmed,
/// `b` blocked. `area_standing` has left, held, confirmed and blocked of each area. It is compressed for clients that accept
/// gzip.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/pools/{pool}/seats", tag = "seats", operation_id = "show_seats",
    params(("standing" = Option<String>, Query, description = "1: only the status of the seats"),
           ("If-None-Match" = Option<String>, Header, description = "The ETag of the last map")),
    responses((status = "2XX", description = "the map", content_type = "application/json"),
              (status = 304, description = "the same as before")))]
pub(crate) async fn show(call: Call<(String, String)>) -> HandlerResult {
    let Call { app, path: (campaign, pool), headers, .. } = &call;
    let reader = app.reader(headers, campaign)?;
    request::campaign(campaign)?;
    request::pool(campaign, pool)?;
    let query = call.query(&["standing"])?;
    app.reach(&query).await?;
    app.readable(campaign)?;
    let now = app.node.replica.look(State::token);
    let refused =
        |(refusal, position)| Problem::refused(refusal, campaign).at(position, Decided::Replica);
    let watched = app.seat_maps.watch(&app.node.intake, campaign).map_err(refused)?;
    let seen = watched.seen(now).await;
    let missing = Refusal::NotFound(Missing::Pool);
    let index = seen.pools.iter().position(|seen| seen.name == *pool);
    let index = index.ok_or_else(|| refused((missing, seen.position)))?;
    if seen.pools[index].seats.is_none() {
        return Err(refused((Refusal::NotSeated, seen.position)));
    }
    let only_status = query.get("standing").is_some_and(|value| value != "0");
    let answer = answer(&app.node.replica, seen, index, campaign, only_status, headers).await?;
    Ok(reader.cache(answer))
}

async fn answer(
    replica: &Arc<Replica>,
    seen: Arc<Seen>,
    index: usize,
    campaign: &str,
    only_status: bool,
    headers: &HeaderMap,
) -> HandlerResult {
    let Some(seats) = &seen.pools[index].seats else {
        unreachable!("a pool without seats was refused before")
    };
    let layout = if only_status {
        None
    } else {
        let missing = Refusal::NotFound(Missing::Campaign);
        let gone = || Problem::refused(missing, campaign).at(seen.position, Decided::Replica);
        Some(seats.layout.written(replica, campaign).await.ok_or_else(gone)?)
    };
    let tag = match layout {
        None => format!("\"{}\"", seen.position),
        Some(layout) => seats.tag(layout).to_owned(),
    };
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
    let (pool, position) = (&seen.pools[index].name, seen.position);
    let head = format!(r#"{{"campaign":"{campaign}","pool":"{pool}","position":"{position}""#);
    let body = if packs {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let head = Deflated::of(head.as_bytes());
        let tail = packed_status(&seen, index).await;
        Body::from(match layout {
            None => gzip(&[&head, tail]),
            Some(layout) => {
                let pack = || async { gzip(&[&head, &layout.packed, tail]) };
                seats.packed.get_or_init(pack).await.clone()
            }
        })
    } else {
        // Whoever asks and does not read has no copy of its own.
        let layout = layout.map_or_else(Bytes::new, |layout| layout.text.clone());
        Body::new(Frames::of([head.into(), layout, seats.status_members().clone()]))
    };
    *response.body_mut() = body;
    Ok(response)
}

/// Returns the members of the map that give the status of all, compressed once for all who ask.
async fn packed_status(seen: &Arc<Seen>, index: usize) -> &Deflated {
    let packing = || async {
        let seen = Arc::clone(seen);
        // A large map takes milliseconds, which nobody else should wait for.
        let pack = move || {
            let members = seen.pools[index].seats.as_ref().map(Seats::status_members);
            members.map_or_else(Deflated::default, |members| Deflated::of(members))
        };
        super::on_thread(pack).await.unwrap_or_default()
    };
    let Some(seats) = &seen.pools[index].seats else {
        unreachable!("a pool without seats was refused before")
    };
    seats.packed_status.get_or_init(packing).await
}

impl Seats {
    /// Returns the members of the map that give the status of all, a letter for each seat, to its end.
    fn status_members(&self) -> &Bytes {
        self.status_members.get_or_init(|| {
            let kinds = (0..).zip(self.status.kinds());
            let letters = kinds.map(|(seat, kind)| char::from(self.layout.letter(seat, kind)));
            let letters: String = letters.collect();
            format!(r#","standing":"{letters}","area_standing":{:?}}}"#, self.areas).into()
        })
    }

    /// Returns a tag that two maps share if they show the same.
    fn tag(&self, layout: &Written) -> &str {
        self.tag.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            (self.status_members(), layout.hash).hash(&mut hasher);
            format!("W/\"{:016x}\"", hasher.finish())
        })
    }
}
