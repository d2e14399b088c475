//! The accept loop: connections with their limits, from accept to a clean end.

pub(crate) mod accepting;
pub(crate) mod admission;
pub(crate) mod base_path;
pub(crate) mod dev_clock;
pub(crate) mod drain;
pub(crate) mod frames;
pub(crate) mod idle;
pub(crate) mod latency;
pub(crate) mod memory;
pub(crate) mod observed;
pub(crate) mod process;
pub(crate) mod runtimes;
pub(crate) mod serves;
pub(crate) mod slots;
pub(crate) mod tls;

use crate::answer::Code;
use crate::answer::problem::{Problem, ToCount};
use crate::app::App;
use crate::bulk::requests::CutBy;
use crate::codes::Origin;
use crate::codes::steps::{self, Step};
use crate::guard::cors::Allowed;
use crate::metrics::Metrics;
use crate::routes::router;
use crate::seat_map::events::EndsAt;
use crate::server::accepting::Accepting;
use crate::server::base_path::BasePath;
use crate::server::drain::{Drain, Drained};
use crate::server::idle::{Answer, CoarseClock, IdleTimer, TimeLimits, Timed};
use crate::server::latency::Route;
use crate::server::observed::Observed;
use crate::server::runtimes::Runtimes;
use crate::server::serves::{ForOperations, OPERATIONS, Serves};
use crate::server::slots::{Admission, KEPT_LIFE, Slot};
use crate::server::tls::Tls;
use crate::{claims, holds};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use firstcome_api::problem::MEDIA_TYPE;
use firstcome_node::{Task, log};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};
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
/// Connections are served on `runtimes`, routes that may take long on the runtime that calls this.
///
/// Returns how many connections had to be cut because they did not finish in time. No connection is left when this
/// returns: nothing it started holds the app any more.
///
/// # Cancel safety
///
/// Dropped, it cuts every connection at its next await.
pub async fn serve(
    app: Arc<App>,
    (listener, serves): (TcpListener, Serves),
    runtimes: &Runtimes,
    stop: CancellationToken,
    drain: Duration,
) -> usize {
    let slots = serves.slots(app.options.connections);
    let router = router(Arc::clone(&app));
    let draining = Arc::new(Drain::default());
    let mut connections = JoinSet::new();
    let (clock, head) = (CoarseClock::new(), app.options.header_time);
    let mut check_times = interval(CoarseClock::period(head));
    check_times.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut accepting = Accepting::new(Arc::clone(&app.metrics));
    let mut ended = pin!(runtimes.one_ended());
    let mut has_ended = false;
    loop {
        let (stream, peer) = tokio::select! {
            accepted = accepting.next(&listener) => accepted,
            () = &mut ended, if !has_ended => {
                has_ended = true;
                app.node.panics.add("a thread for connections");
                continue;
            }
            _ = check_times.tick() => {
                draining.check_times(&clock);
                continue;
            }
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
            // Who speaks TLS could not read it, and is not worth the keys.
            if app.options.rare.tls.is_none() {
                connections.spawn(refuse(stream, app.options.rare.base_path.clone(), full, slot));
            }
            continue;
        }
        // Small answers must not wait for more to send.
        if stream.set_nodelay(true).is_err() {
            continue;
        }
        // It moves to another runtime, which then watches it.
        let Ok(stream) = stream.into_std() else { continue };
        let is_whole = admission == Admission::Everything;
        let life = (!is_whole).then_some(KEPT_LIFE);
        let timer = IdleTimer::new(&clock, TimeLimits { head, idle: app.options.idle_time, life });
        let (runtime, thread) = runtimes.fewest().unzip();
        let of_requests = Arc::new(Connection {
            app: Arc::clone(&app),
            router: router.clone(),
            slow: runtime.is_some().then(Handle::current),
            source: Source { peer, serves, admission },
            timer: Arc::clone(&timer),
        });
        let permits = (slot, thread, is_whole.then(|| Open::new(&app.metrics)));
        let drained = draining.connection(timer);
        let connection = async move {
            let _permits = permits;
            serve_connection(stream, of_requests, drained).await;
        };
        match runtime {
            Some(runtime) => connections.spawn_on(connection, runtime),
            None => connections.spawn(connection),
        };
    }
    drop(listener);
    let left = draining.begin();
    let finished = async {
        loop {
            tokio::select! {
                ended = connections.join_next() => if ended.is_none() { break },
                _ = check_times.tick() => draining.check_times(&clock),
            }
        }
    };
    let cut = if timeout(drain, finished).await.is_ok() { 0 } else { left };
    // What was accepted by the journal is finished without the connections.
    connections.shutdown().await;
    cut
}

/// Secures a connection, where that is set, and serves its requests until it ends.
async fn serve_connection(
    stream: std::net::TcpStream,
    of_requests: Arc<Connection>,
    drained: Drained,
) {
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let stream = Timed { stream, timer: Arc::clone(&of_requests.timer) };
    let options = &of_requests.app.options;
    let Some(tls) = options.rare.tls.as_ref().map(Tls::acceptor) else {
        return serve_requests(stream, of_requests, drained).await;
    };
    match timeout(options.header_time, tls.accept(stream)).await {
        Ok(Ok(stream)) => serve_requests(stream, of_requests, drained).await,
        // No key, no certificate that counts, no TLS at all: it is nobody whom an answer would reach.
        Ok(Err(_)) => {
            of_requests.app.metrics.connections_insecure.inc();
        }
        Err(_) => {
            of_requests.app.metrics.connections_too_slow.inc();
        }
    }
}

/// Serves the requests of a connection until it ends.
async fn serve_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    of_requests: Arc<Connection>,
    mut drained: Drained,
) {
    let metrics = Arc::clone(&of_requests.app.metrics);
    let timer = Arc::clone(&of_requests.timer);
    let mut builder = connection();
    builder.keep_alive(of_requests.source.admission == Admission::Everything);
    let service = service_fn(move |request: Request<Incoming>| {
        // The connection's own count, which no other thread touches.
        let of_request = Arc::clone(&of_requests);
        async move {
            let timer = &of_request.timer;
            timer.answering();
            let answer = answer(&of_request, request).await;
            note_end(&answer, timer);
            Ok::<_, Infallible>(answer.map(|body| Answer::new(body, Arc::clone(timer))))
        }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut is_ending = false;
    let ended = poll_fn(|cx| {
        if !is_ending && drained.has_begun(cx) {
            is_ending = true;
            connection.as_mut().graceful_shutdown();
        }
        if timer.outlasts_answer() {
            return Poll::Ready(None);
        }
        // The connection first, so that an answer which is ready leaves.
        match connection.as_mut().poll(cx) {
            // Nothing is under way, or nobody reads it: no answer is lost.
            Poll::Pending if timer.is_over() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
        }
    });
    match ended.await {
        // A peer that goes away or sends what is no HTTP ends its own connection only.
        Some(ended) => {
            if ended.is_err_and(|why| why.is_parse()) {
                metrics.connections_unreadable.inc();
            }
        }
        None if timer.outlived() => {}
        None => {
            metrics.connections_too_slow.inc();
        }
    }
}

/// Notes when an answer ends at the latest, or gives its request what can end it later.
fn note_end<B>(answer: &Response<B>, timer: &Arc<IdleTimer>) {
    if let Some(EndsAt(end)) = answer.extensions().get() {
        timer.ends_at(*end);
    }
    if let Some(CutBy(of_request)) = answer.extensions().get() {
        of_request.get_or_init(|| Arc::clone(timer));
    }
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
struct Source {
    peer: IpAddr,
    serves: Serves,
    admission: Admission,
}

/// What the requests of a connection share.
struct Connection {
    app: Arc<App>,
    router: Router,
    /// The runtime on which those routes are answered that may take long; none where that is this one.
    slow: Option<Handle>,
    source: Source,
    timer: Arc<IdleTimer>,
}

/// Answers a request, with the headers its browser needs where a page of another origin asks.
async fn answer(
    connection: &Connection,
    mut request: Request<Incoming>,
) -> Response<Either<Full<Bytes>, Body>> {
    let app = &*connection.app;
    app.options.rare.base_path.remove_from(&mut request);
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
    let address = app.guards.proxies.origin(connection.source.peer, request.headers());
    let mut table = HeaderMap::new();
    let noted = (&mut observed.route, &mut table);
    let answered = decide(connection, address, preflight, request, noted).await;
    let missed = match &answered {
        Ok(answer) => answer.extensions().get().is_some_and(|ToCount { missed, .. }| *missed),
        Err(problem) => problem.is_missed(),
    };
    let answered = if missed { app.check_misses(address).and(answered) } else { answered };
    let mut answer = answered.unwrap_or_else(|problem| {
        observed.outcome = Some(problem.outcome());
        app.problem(&problem, table).map(Either::Left)
    });
    origins.write(allowed, answer.headers_mut());
    // What a client chose stands in answers: a browser takes them for what they say they are.
    let nosniff = HeaderValue::from_static("nosniff");
    answer.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    if let Some(hsts) = &app.options.rare.hsts {
        answer.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, hsts.clone());
    }
    observed.answered(app, address, &mut answer);
    answer
}

/// Answers a request: a claim, a hold and a step on a code straight away, everything else by its route.
///
/// The table of headers that a request came with is emptied, and is that of its answer.
async fn decide(
    connection: &Connection,
    address: IpAddr,
    preflight: Option<Result<(), Problem>>,
    mut request: Request<Incoming>,
    (route, table): (&mut Route, &mut HeaderMap),
) -> Result<Response<Either<Full<Bytes>, Body>>, Problem> {
    let Connection { app, source, .. } = connection;
    let checked = source.serves.check(request.uri().path(), source.admission);
    if let Err(problem) = checked {
        if source.admission != Admission::Everything {
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
    if source.serves == Serves::Operations {
        request.extensions_mut().insert(ForOperations);
    }
    if request.method() == Method::POST {
        let (mut parts, body) = request.into_parts();
        let (path, query, headers) = (parts.uri.path(), parts.uri.query(), &parts.headers);
        let answered = if let Some(campaign) = campaign_in(path, "/claims") {
            *route = Route::Claim;
            claims::post::answer(app, campaign, query, headers, body).await
        } else if let Some(campaign) = campaign_in(path, "/holds") {
            *route = Route::Hold;
            holds::answer(app, campaign, query, headers, body).await
        } else if let Some((step, campaign)) = code_step_in(path) {
            *route = Route::Beside(step.template());
            let (step, origin) = ((step, campaign), Origin(address));
            steps::answer(app, step, query, origin, headers, body).await
        } else {
            request = Request::from_parts(parts, body);
            return routed(connection, address, request).await;
        };
        parts.headers.clear();
        *table = parts.headers;
        return Ok(answered?.response(std::mem::take(table)).map(Either::Left));
    }
    routed(connection, address, request).await
}

/// Answers a request by its route.
async fn routed(
    connection: &Connection,
    address: IpAddr,
    mut request: Request<Incoming>,
) -> Result<Response<Either<Full<Bytes>, Body>>, Problem> {
    let Connection { router, slow, .. } = connection;
    request.extensions_mut().insert(Origin(address));
    let slow = slow.as_ref().filter(|_| may_take_long(request.uri().path()));
    let answering = router.clone().call(request.map(Body::new));
    let Ok(answer) = match slow {
        // Dropped with the connection, it ends as well.
        Some(slow) => match Task::spawn_on(Some(slow), answering).ended().await {
            Some(answer) => answer,
            None => unreachable!("a route panicked: see the log"),
        },
        None => answering.await,
    };
    Ok(answer.map(Either::Right))
}

/// Says whether a route may keep a thread for long: results, imports, maps, lists. The steps of claims and holds do not;
/// nor do the probes, which must not wait behind them.
fn may_take_long(path: &str) -> bool {
    let in_campaign = || path.strip_prefix("/v1/campaigns/")?.split_once('/').map(|(_, rest)| rest);
    let under = ["claims/", "holds/", "waitlist/"];
    let is_step = |rest: &str| {
        under.iter().any(|begin| rest.starts_with(begin)) || Step::of_path(rest).is_some()
    };
    // Many commands are not answered where they are read: their lines are, as their client takes the answers.
    let is_many = path == "/v1/commands";
    !(is_many || OPERATIONS.contains(&path) || in_campaign().is_some_and(is_step))
}

/// Returns the campaign if this is the path of its claims, or of what else ends it, with nothing in it that is
/// percent-encoded.
fn campaign_in<'a>(path: &'a str, end: &str) -> Option<&'a str> {
    let campaign = path.strip_prefix("/v1/campaigns/")?.strip_suffix(end)?;
    (!campaign.contains(['/', '%'])).then_some(campaign)
}

/// Returns the step and the campaign if this is the path of a step on a code, with nothing in it that is percent-encoded.
fn code_step_in(path: &str) -> Option<(Step, &str)> {
    let (campaign, end) = path.strip_prefix("/v1/campaigns/")?.split_once('/')?;
    Some((Step::of_path(end)?, campaign)).filter(|_| !campaign.contains('%'))
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
async fn refuse(mut stream: TcpStream, base: BasePath, full: slots::Full, _slot: Slot) {
    let problem = Problem::new(Code::TooManyConnections, full.to_string());
    let document = problem.document(&base);
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
