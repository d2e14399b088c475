//! Changes of seat status, as server-sent events.

use super::own::Own;
use super::streams::{Follower, StreamSlot};
use super::{Event, Watched};
use crate::answer::problem::{HandlerResult, Problem};
use crate::app::App;
use crate::codes::Origin;
use crate::request;
use crate::request::bearer::{Bearer, Reader};
use crate::request::call::Call;
use crate::server::slots::network;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, header};
use firstcome_core::Timestamp;
use firstcome_core::names::Position;
use firstcome_inject::{Mistake, inject};
use firstcome_node::Decided;
use futures_util::stream;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// The media type.
const MEDIA_TYPE: &str = "text/event-stream";
/// The longest silence: a proxy would close a connection on which nothing is sent.
const QUIET: Duration = Duration::from_secs(15);

/// What a stream says last: a browser comes back after a second.
const RETRY: &[u8] = b"retry: 1000\n\n";
/// What it says where its token is over: the page has to get another one first.
const TOKEN_OVER: &[u8] = b"event: end\ndata: {\"outcome\":\"token_expired\"}\n\nretry: 1000\n\n";

/// When a stream ends at the latest, for the accept loop, which cuts it where its peer does not read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndsAt(pub(crate) Instant);

/// Follows the changes of a campaign, as server-sent events.
///
/// A `standing` event has all changed pools, at most every 25 ms: `pools`, each with `left`, `seats` by letter, `areas` as
/// [number, left, held, confirmed, blocked], and `waiting` if that changed. A `campaign` event has the new `state` and
/// `version`. With a subject token or a ticket an `own` event has what the subject has: at once, and whenever that changed, at
/// most every 250 ms: the live `holds` and the `places` on waitlists, and of the `claims` (without codes) those that are new
/// or changed since the event before. With `whole` they take the place of all that are known; with `more` further ones
/// follow. Its id is its position. Send the position of a map, or of the last
/// event, as `Last-Event-ID` or `after`. After a `reset` event, fetch the map: the server does not know that position (any
/// more), seats were added or changed, or the reader was too slow.
///
/// A public campaign is followed without a key, too. The `EventSource` of a browser cannot send `Authorization`: it sends a `ticket` instead.
///
/// A stream lasts 10 minutes (`stream_max_ms`), and not longer than its subject token; then there is an `end` event. Its last
/// line is `retry: 1000`: connect again with the last id.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/events", tag = "seats", operation_id = "follow_seats",
    params(("Last-Event-ID" = Option<String>, Header, description = "The position of the map, or of the last event"),
           ("after" = Option<String>, Query, description = "The same, for the first connection of an EventSource")),
    responses((status = "2XX", description = "events", content_type = "text/event-stream")))]
pub(crate) async fn events(call: Call<String>) -> HandlerResult {
    let Call { app, path: campaign, headers, origin: Origin(address), .. } = &call;
    let query = call.query(&["after", "ticket"]);
    // Who asks comes before what is wrong with it.
    let reader = match query.as_ref().ok().and_then(|query| query.get("ticket")) {
        None => app.reader(headers, campaign)?,
        Some(_) if headers.contains_key(header::AUTHORIZATION) => {
            let detail = "give Authorization or a ticket, not both";
            return Err(Problem::invalid(detail));
        }
        Some(ticket) => Reader::Bearer(app.ticket(ticket, campaign)?),
    };
    request::campaign(campaign)?;
    let query = query?;
    app.reach(&query).await?;
    app.readable(campaign)?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let after = last.or(query.get("after")).and_then(|text| text.parse().ok());
    let watched = app
        .seat_maps
        .watch(&app.node.intake, campaign)
        .map_err(|(refusal, at)| Problem::refused(refusal, campaign).at(at, Decided::Replica))?;
    let end = End::of(app, &reader);
    let (follower, subject) = match reader {
        Reader::Bearer(Bearer::Key(key)) => (Follower::Key(key.name.clone()), None),
        Reader::Bearer(Bearer::Subject(token)) => {
            (Follower::Subject(token.subject.clone()), Some(token.subject))
        }
        Reader::Anybody => (Follower::Anybody(network(*address)), None),
    };
    let slot = app.seat_maps.streams.take(follower)?;
    let ends_at = EndsAt(end.at);
    let draining = app.draining.clone();
    let own = subject.map(|subject| Own::new(Arc::clone(app), &watched, subject));
    let subscriber = Subscriber { own, ..Subscriber::join(watched, after, draining, (end, slot)) };
    let events = stream::unfold(subscriber, |mut subscriber| async move {
        let text = subscriber.next().await?;
        Some((Ok::<_, Infallible>(text), subscriber))
    });
    let mut response = Response::new(Body::from_stream(events));
    response.extensions_mut().insert(ends_at);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A proxy is not to gather events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// When a stream ends, and what it says then.
struct End {
    at: Instant,
    words: &'static [u8],
}

impl End {
    /// The longest life of a stream, or the end of the token it was opened with, by the store's clock.
    fn of(app: &App, reader: &Reader) -> Self {
        let longest = app.options.stream_time;
        let left = match reader {
            Reader::Bearer(Bearer::Key(_)) | Reader::Anybody => None,
            Reader::Bearer(Bearer::Subject(token)) => {
                let end = Timestamp::from_micros(token.expires.saturating_mul(1_000_000));
                let left = end.micros_since(app.node.intake.now()).max(0).cast_unsigned();
                Some(Duration::from_micros(left)).filter(|left| *left < longest)
            }
        };
        match left {
            Some(left) => Self { at: Instant::now() + left, words: TOKEN_OVER },
            None => Self { at: Instant::now() + longest, words: RETRY },
        }
    }
}

/// A stream of events.
struct Subscriber {
    end: End,
    /// Whether the last words are said.
    over: bool,
    _slot: StreamSlot,
    /// What the subject of the stream has, if it has one.
    own: Option<Own>,
    /// Kept so that its task reads on.
    watched: Arc<Watched>,
    missed: VecDeque<Event>,
    events: broadcast::Receiver<Event>,
    draining: CancellationToken,
}

impl Subscriber {
    fn join(
        watched: Arc<Watched>,
        after: Option<Position>,
        draining: CancellationToken,
        (end, slot): (End, StreamSlot),
    ) -> Self {
        let past = watched.shared.past();
        let events = watched.shared.events.subscribe();
        let known = past.reads.iter().position(|(position, _)| Some(*position) == after);
        let missed = match known {
            Some(index) => {
                past.reads.iter().skip(index + 1).filter_map(|(_, e)| e.clone()).collect()
            }
            None => VecDeque::from([watched.shared.seen.borrow().reset()]),
        };
        drop(past);
        Self { end, over: false, _slot: slot, own: None, watched, missed, events, draining }
    }

    /// Returns what is to be sent next; nothing if the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        if Instant::now() >= self.end.at {
            return Some(self.last_words(self.end.words));
        }
        if let Some(event) = self.missed.pop_front() {
            return Some(event.text);
        }
        tokio::select! {
            heard = timeout(QUIET, self.events.recv()) => match heard {
                Ok(Ok(event)) => Some(event.text),
                Ok(Err(RecvError::Lagged(_))) if inject(Mistake::LaggedWithoutReset) => {
                    Some(Bytes::from_static(b":\n\n"))
                }
                Ok(Err(RecvError::Lagged(_))) => {
                    Some(self.watched.shared.seen.borrow().reset().text)
                }
                Ok(Err(RecvError::Closed)) => None,
                Err(_) => Some(Bytes::from_static(b":\n\n")),
            },
            text = changed(&mut self.own) => Some(text),
            () = sleep_until(self.end.at) => Some(self.last_words(self.end.words)),
            () = self.draining.cancelled() => None,
            () = self.watched.shared.broken.cancelled() => Some(self.last_words(RETRY)),
        }
    }

    fn last_words(&mut self, words: &'static [u8]) -> Bytes {
        self.over = true;
        Bytes::from_static(words)
    }
}

/// Returns the next event about the subject; never, where the stream is of none.
async fn changed(own: &mut Option<Own>) -> Bytes {
    match own {
        Some(own) => own.next().await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Past, Seen, Shared, guarded, streams::Streams};
    use super::*;
    use firstcome_node::Task;
    use std::sync::Mutex;

    fn shared() -> Arc<Shared> {
        let position = "1.1".parse().expect("a position");
        let phase = (firstcome_core::campaign::Phase::Open, 1);
        let seen = Seen { position, branch: 0, phase, pools: Vec::new() };
        Arc::new(Shared {
            campaign: "spring".to_owned(),
            seen: tokio::sync::watch::Sender::new(Arc::new(seen)),
            events: broadcast::Sender::new(2),
            past: Mutex::new(Past { reads: VecDeque::new(), asked: Instant::now(), over: false }),
            broken: CancellationToken::new(),
        })
    }

    /// It would hear nothing more, and its page would show yesterday's seats.
    #[tokio::test(start_paused = true)]
    async fn a_stream_whose_reader_panicked_ends_and_has_its_page_come_back() {
        let shared = shared();
        let (breaks, has_a_bug) = (CancellationToken::new(), true);
        let reading = breaks.clone().cancelled_owned();
        let task = Task::spawn(guarded(Arc::clone(&shared), async move {
            reading.await;
            assert!(!has_a_bug, "a bug");
        }));
        let watched = Arc::new(Watched { shared: Arc::clone(&shared), task });
        let slot = Streams::default().take(Follower::Key("desk".into())).expect("a stream");
        let end = End { at: Instant::now() + Duration::from_secs(600), words: TOKEN_OVER };
        let mut stream = Subscriber::join(watched, None, CancellationToken::new(), (end, slot));
        let first = stream.next().await.expect("it is told to fetch the map");
        assert!(first.starts_with(b"event: reset"), "{first:?}");
        breaks.cancel();
        assert_eq!(stream.next().await.as_deref(), Some(RETRY));
        assert_eq!(stream.next().await, None);
        assert!(shared.past().over, "the next request begins anew");
    }
}
