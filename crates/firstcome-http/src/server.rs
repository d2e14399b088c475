//! The accept loop: connections with their limits, from accept to a clean end.

use crate::accepting::Accepting;
use crate::app::App;
use crate::guard::cors::Allowed;
use crate::idle::{Answer, IdleTimer, Timed};
use crate::latency::Route;
use crate::metrics::Metrics;
use crate::observed::Observed;
use crate::problem::{Problem, ToCount};
use crate::routes::router;
use crate::seat_map::events::EndsAt;
use crate::serves::{ForOperations, Serves};
use crate::slots::{self, Admission, KEPT_LIFE, Slot};
use crate::{claims, holds};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use firstcome_api::answer::Code;
use firstcome_api::problem::MEDIA_TYPE;
use firstcome_node::log;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

/// Bytes of a request's head, and so of its longest line, that are read at most.
const HEAD_BYTES: usize = 32 << 10;
/// Headers a request may have.
const HEADERS: usize = 64;
/// How long a refused connection may take to read its answer.
const REFUSING: Duration = Duration::from_secs(1);

/// Serves until `stop`, then lets open requests finish, for `drain` at most.
///
/// Gives how many connections had to be cut because they did not finish in time. No connection is left when this
/// returns: nothing it started holds the app any more.
///
/// # Cancel safety
///
/// Dropped, it cuts every connection at its next await.
pub async fn serve(
    app: Arc<App>,
    (listener, serves): (TcpListener, Serves),
    stop: CancellationToken,
    drain: Duration,
) -> usize {
    let slots = serves.slots(app.options.connections);
    let router = router(Arc::clone(&app));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut accepting = Accepting::new(Arc::clone(&app.metrics));
    loop {
        let (stream, peer) = tokio::select! {
            accepted = accepting.next(&listener) => accepted,
            // Only its memory is to be given back. A panic in it is logged, and ended that connection only.
            Some(_) = connections.join_next() => continue,
            () = stop.cancelled() => break,
        };
        let address = (!app.guards.proxies.trusts(peer)).then_some(peer);
        let slot = slots.admit(address);
        let admission = slot.as_ref().map(|slot| slot.admission);
        let Some((slot, admission)) = slot.zip(admission) else {
            app.metrics.connections_refused.inc();
            continue;
        };
        if let Admission::Refusal(full) = admission {
            app.metrics.connections_refused.inc();
            connections.spawn(refuse(stream, full, slot));
            continue;
        }
        // Small answers must not wait for more to send.
        if stream.set_nodelay(true).is_err() {
            continue;
        }
        let timer = IdleTimer::new();
        let stream = Timed { stream, timer: Arc::clone(&timer) };
        let (router, of_requests) = (router.clone(), Arc::clone(&app));
        let timer_of_requests = Arc::clone(&timer);
        let place = Place { peer, serves, admission };
        let service = service_fn(move |request: Request<Incoming>| {
            let (app, router) = (Arc::clone(&of_requests), router.clone());
            let timer = Arc::clone(&timer_of_requests);
            async move {
                timer.answering();
                let answer = answer(&app, router, place, request).await;
                if let Some(EndsAt(end)) = answer.extensions().get() {
                    timer.ends_at(*end);
                }
                Ok::<_, Infallible>(answer.map(|body| Answer::new(body, timer)))
            }
        });
        let is_whole = admission == Admission::Everything;
        let mut builder = connection();
        builder.keep_alive(is_whole);
        let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
        let open = is_whole.then(|| Open::new(&app.metrics));
        let metrics = Arc::clone(&app.metrics);
        let (head, idle) = (app.options.header_time, app.options.idle_time);
        let life = (!is_whole).then_some(KEPT_LIFE);
        connections.spawn(async move {
            let _held = (slot, open);
            tokio::select! {
                // The connection first, so that an answer which is ready leaves.
                biased;
                // A peer that goes away or sends what is no HTTP ends its own connection only.
                ended = connection => {
                    if ended.is_err_and(|why| why.is_parse()) {
                        metrics.connections_unreadable.inc();
                    }
                }
                // Nothing is under way, or nobody reads it: no answer is lost.
                () = timer.ends(head, idle) => {
                    metrics.connections_too_slow.inc();
                }
                () = async { sleep(life.unwrap_or_default()).await }, if life.is_some() => {}
            }
        });
    }
    drop(listener);
    let left = graceful.count();
    let cut = if timeout(drain, graceful.shutdown()).await.is_ok() { 0 } else { left };
    // What was accepted by the journal is finished without the connections.
    connections.shutdown().await;
    cut
}

/// A connection in the count of those that are open, however it ends: by itself, cut at the end of the drain, or by a panic.
struct Open(Arc<Metrics>);

impl Open {
    fn new(metrics: &Arc<Metrics>) -> Self {
        metrics.connections.inc();
        Self(Arc::clone(metrics))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections.dec();
    }
}

/// Where a request came in, and from where.
#[derive(Clone, Copy)]
struct Place {
    peer: IpAddr,
    serves: Serves,
    admission: Admission,
}

/// Answers a request, with the headers its browser needs where a page of another origin asks.
async fn answer(
    app: &App,
    router: Router,
    place: Place,
    request: Request<Incoming>,
) -> Response<Either<Full<Bytes>, Body>> {
    let mut observed = Observed::new(&request);
    let origins = &app.guards.origins;
    let allowed = origins.allowed(request.headers());
    let foreign = origins.foreign(request.headers());
    if let Some(origin) = foreign.filter(|origin| origins.is_news(origin)) {
        log!(
            OriginRefused,
            origin,
            "a page of this origin asked and may not: cors_origins lacks it"
        );
    }
    let preflight =
        Allowed::is_preflight(request.method(), request.headers()).then(|| match foreign {
            None => Ok(()),
            Some(origin) => {
                let detail = format!("cors_origins of this server lacks {origin:?}");
                Err(Problem::new(Code::OriginNotAllowed, detail))
            }
        });
    let address = app.guards.proxies.origin(place.peer, request.headers());
    let answered =
        decide(app, router, (place, address), preflight, request, &mut observed.route).await;
    let missed = match &answered {
        Ok(answer) => answer.extensions().get().is_some_and(|ToCount { missed, .. }| *missed),
        Err(problem) => problem.is_missed(),
    };
    let answered = if missed { app.check_misses(address).and(answered) } else { answered };
    let mut answer = answered.unwrap_or_else(|problem| {
        observed.outcome = Some(problem.outcome());
        app.problem(&problem).map(Either::Left)
    });
    origins.write(allowed, answer.headers_mut());
    // What a client chose stands in answers: a browser takes them for what they say they are.
    let nosniff = HeaderValue::from_static("nosniff");
    answer.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    observed.answered(app, address, &mut answer);
    answer
}

/// Answers a request: a claim and a hold straight away, everything else by its route.
async fn decide(
    app: &App,
    mut router: Router,
    (place, address): (Place, IpAddr),
    preflight: Option<Result<(), Problem>>,
    mut request: Request<Incoming>,
    route: &mut Route,
) -> Result<Response<Either<Full<Bytes>, Body>>, Problem> {
    let checked = place.serves.check(request.uri().path(), place.admission);
    if let Err(problem) = checked {
        if place.admission != Admission::Everything {
            app.metrics.connections_refused.inc();
        }
        return Err(problem);
    }
    app.check_address_rate(address, request.uri().path())?;
    if let Some(may) = preflight {
        may?;
        let mut answer = Response::new(Either::Left(Full::default()));
        *answer.status_mut() = StatusCode::NO_CONTENT;
        Allowed::write_preflight(answer.headers_mut());
        return Ok(answer);
    }
    if place.serves == Serves::Operations {
        request.extensions_mut().insert(ForOperations);
    }
    if request.method() == Method::POST {
        let path = request.uri().path();
        if let Some(campaign) = campaign_in(path, "/claims").map(str::to_owned) {
            *route = Route::Claim;
            let (parts, body) = request.into_parts();
            let (query, headers) = (parts.uri.query(), &parts.headers);
            let answer = claims::answer(app, &campaign, query, headers, body).await?;
            return Ok(answer.map(Either::Left));
        }
        if let Some(campaign) = campaign_in(path, "/holds").map(str::to_owned) {
            *route = Route::Hold;
            let (parts, body) = request.into_parts();
            let (query, headers) = (parts.uri.query(), &parts.headers);
            let answer = holds::answer(app, &campaign, query, headers, body).await?;
            return Ok(answer.map(Either::Right));
        }
    }
    let Ok(answer) = router.call(request.map(Body::new)).await;
    Ok(answer.map(Either::Right))
}

/// Gives the campaign if this is the path of its claims, or of what else ends it, with nothing in it that is
/// percent-encoded.
fn campaign_in<'a>(path: &'a str, end: &str) -> Option<&'a str> {
    let campaign = path.strip_prefix("/v1/campaigns/")?.strip_suffix(end)?;
    (!campaign.contains(['/', '%'])).then_some(campaign)
}

fn connection() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(None);
    // Answers are not held back for requests that follow (`pipeline_flush`): half a request behind a
    // whole one, or a head that is refused, would keep its answer from ever leaving.
    builder.max_buf_size(HEAD_BYTES).max_headers(HEADERS);
    builder
}

/// Answers `too_many_connections`, and hangs up.
async fn refuse(mut stream: TcpStream, full: slots::Full, _slot: Slot) {
    let problem = Problem::new(Code::TooManyConnections, full.to_string());
    let document = problem.document();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n\
         content-type: {MEDIA_TYPE}\r\nx-content-type-options: nosniff\r\ncontent-length: {}\r\n\r\n",
        document.len()
    );
    // A peer that does not read its refusal is refused all the same.
    drop(
        timeout(REFUSING, async move {
            stream.write_all(answer.as_bytes()).await?;
            stream.write_all(&document).await?;
            stream.shutdown().await
        })
        .await,
    );
}
