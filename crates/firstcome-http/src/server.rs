//! The accept loop: connections with their limits, from accept to a clean end.

pub(crate) mod accepting;
pub(crate) mod admission;
pub(crate) mod base_path;
pub(crate) mod connection;
pub(crate) mod dev_clock;
pub(crate) mod drain;
pub(crate) mod frames;
pub(crate) mod idle;
pub(crate) mod latency;
pub(crate) mod memory;
pub(crate) mod observed;
pub(crate) mod plain;
pub(crate) mod process;
pub(crate) mod runtimes;
pub(crate) mod serves;
pub(crate) mod slots;
pub(crate) mod tls;

use crate::answer::Code;
use crate::answer::problem::{Problem, ToCount};
use crate::app::App;
use crate::codes::Origin;
use crate::codes::steps::{self, Step};
use crate::guard::cors::Allowed;
use crate::routes::router;
use crate::server::accepting::Accepting;
use crate::server::base_path::BasePath;
use crate::server::connection::{Permits, Tasks};
use crate::server::drain::Drain;
use crate::server::idle::{CoarseClock, IdleTimer, TimeLimits};
use crate::server::latency::Route;
use crate::server::observed::Observed;
use crate::server::runtimes::Runtimes;
use crate::server::serves::{ForOperations, OPERATIONS, Serves};
use crate::server::slots::{Admission, KEPT_LIFE, Slot};
use crate::{claims, holds};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use firstcome_api::problem::MEDIA_TYPE;
use firstcome_node::{Task, log};
use http_body_util::{Either, Full};
use std::error::Error;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

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
    let tasks = Tasks::new(Arc::clone(&draining));
    let _cuts = CutsAll(Arc::clone(&draining));
    let mut refusals = JoinSet::new();
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
            // Only its memory is to be given back.
            Some(_) = refusals.join_next() => continue,
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
                refusals.spawn(refuse(stream, app.options.rare.base_path.clone(), full, slot));
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
        let connection = Arc::new(Connection {
            app: Arc::clone(&app),
            router: router.clone(),
            threads: Threads {
                event_loop: runtimes.event_loop().cloned(),
                slow: runtime.is_some().then(Handle::current),
                other: runtime.cloned().unwrap_or_else(Handle::current),
            },
            source: Source { peer, serves, admission },
            timer: Arc::clone(&timer),
            tasks: tasks.clone(),
        });
        let permits = Permits::new(slot, thread, is_whole.then(|| Arc::clone(&app.metrics)));
        connection.begin(stream, draining.connection(timer), permits);
    }
    drop((listener, refusals));
    let left = draining.begin();
    let finished = async {
        let mut ended = pin!(tasks.ended());
        loop {
            tokio::select! {
                () = &mut ended => break,
                _ = check_times.tick() => draining.check_times(&clock),
            }
        }
    };
    let cut = if timeout(drain, finished).await.is_ok() { 0 } else { left };
    // What was accepted by the journal is finished without the connections.
    draining.cut();
    tasks.ended().await;
    cut
}

/// Cuts the connections that are left when the accept loop is dropped.
struct CutsAll(Arc<Drain>);

impl Drop for CutsAll {
    fn drop(&mut self) {
        self.0.cut();
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
    threads: Threads,
    source: Source,
    timer: Arc<IdleTimer>,
    tasks: Tasks,
}

/// The runtimes that serve a connection.
struct Threads {
    /// That of plain requests; none where they are answered beside the others.
    event_loop: Option<Handle>,
    /// That of the other requests.
    other: Handle,
    /// The one on which those routes are answered that may take long; none where that is the same.
    slow: Option<Handle>,
}

/// Answers a request, with the headers its browser needs where a page of another origin asks.
async fn answer<B>(
    connection: &Connection,
    mut request: Request<B>,
) -> Response<Either<Full<Bytes>, Body>>
where
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
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
async fn decide<B>(
    connection: &Connection,
    address: IpAddr,
    preflight: Option<Result<(), Problem>>,
    mut request: Request<B>,
    (route, table): (&mut Route, &mut HeaderMap),
) -> Result<Response<Either<Full<Bytes>, Body>>, Problem>
where
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
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
async fn routed<B>(
    connection: &Connection,
    address: IpAddr,
    mut request: Request<B>,
) -> Result<Response<Either<Full<Bytes>, Body>>, Problem>
where
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let Connection { router, threads, .. } = connection;
    request.extensions_mut().insert(Origin(address));
    let slow = threads.slow.as_ref().filter(|_| may_take_long(request.uri().path()));
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
    // Many commands are not answered where they are read: their lines are, as their client takes the answers.
    let is_many = path == "/v1/commands";
    !(is_many || OPERATIONS.contains(&path) || behind_campaign(path).is_some_and(is_step))
}

/// Says whether a POST to this target is a command about one subject or code: its answer is short and there at once.
fn is_command(target: &str) -> bool {
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    behind_campaign(path).is_some_and(|end| ["claims", "holds"].contains(&end) || is_step(end))
}

/// Returns the end of a path, behind the campaign in it.
fn behind_campaign(path: &str) -> Option<&str> {
    path.strip_prefix("/v1/campaigns/")?.split_once('/').map(|(_, end)| end)
}

/// Says whether this end of a path is that of a step of a claim, a hold, a wish or a code.
fn is_step(end: &str) -> bool {
    let under = ["claims/", "holds/", "waitlist/"];
    under.iter().any(|begin| end.starts_with(begin)) || Step::of_path(end).is_some()
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
