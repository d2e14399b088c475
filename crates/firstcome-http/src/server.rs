//! The accept loop: connections with their limits, and the way to a clean end.

use super::halls::events;
use super::patience::{Patience, Watched};
use super::problem::{MEDIA_TYPE, Problem};
use super::{claims, holds, router};
use crate::app::App;
use crate::guard::cors::Told;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Method, Request, Response, StatusCode, header};
use firstcome_api::answer::Code;
use firstcome_node::told;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tower_service::Service;

/// Bytes of a request's head, and so of its longest line, that are read at most.
const HEAD_BYTES: usize = 32 << 10;
/// Headers a request may have.
const HEADERS: usize = 64;
/// The pause after the operating system refused to accept, for want of file handles for example.
const AFTER_REFUSAL: Duration = Duration::from_millis(50);
/// How long a refused connection may take to read its answer.
const REFUSING: Duration = Duration::from_secs(1);

/// Serves until `stop`, then lets open requests finish, for `drain` at most.
///
/// Gives how many connections had to be cut because they did not finish in time.
pub async fn serve(
    app: Arc<App>,
    listener: TcpListener,
    mut stop: watch::Receiver<bool>,
    drain: Duration,
) -> usize {
    let options = app.options.clone();
    let metrics = Arc::clone(&app.metrics);
    let places = Arc::new(Semaphore::new(options.connections));
    let router = router(Arc::clone(&app));
    let graceful = GracefulShutdown::new();
    let (cut, _) = watch::channel(false);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => (stream, peer.ip()),
                Err(why) if is_about_one_connection(&why) => continue,
                Err(_) => {
                    sleep(AFTER_REFUSAL).await;
                    continue;
                }
            },
            () = told(&mut stop) => break,
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            metrics.connections_refused.inc();
            tokio::spawn(refuse(stream));
            continue;
        };
        // Small answers must not wait for more to send.
        if stream.set_nodelay(true).is_err() {
            continue;
        }
        let patience = Patience::new();
        let (router, app) = (router.clone(), Arc::clone(&app));
        let watched = Watched { stream, patience: Arc::clone(&patience) };
        let answering = Arc::clone(&patience);
        let service = service_fn(move |request: Request<Incoming>| {
            let (app, router) = (Arc::clone(&app), router.clone());
            let patience = Arc::clone(&answering);
            async move {
                patience.answering();
                let answer = answer(app, router, peer, request).await;
                let Ok(answer) = answer;
                // Who follows events is not idle while nothing happens.
                let kind = answer.headers().get(header::CONTENT_TYPE);
                if kind.is_none_or(|kind| kind != events::MEDIA_TYPE) {
                    patience.idle();
                }
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = connection().serve_connection(TokioIo::new(watched), service);
        let connection = graceful.watch(connection);
        metrics.connections.inc();
        let metrics = Arc::clone(&metrics);
        let (head, idle) = (options.header_time, options.idle_time);
        let mut cut = cut.subscribe();
        tokio::spawn(async move {
            let _place: OwnedSemaphorePermit = place;
            tokio::select! {
                // The connection first, so that an answer which is ready leaves.
                biased;
                // A peer that goes away or sends what is no HTTP ends its own connection only.
                ended = connection => {
                    if ended.is_err_and(|why| why.is_parse()) {
                        metrics.connections_unreadable.inc();
                    }
                }
                // Nothing is under way: no answer is lost.
                () = patience.ends(head, idle) => {
                    metrics.connections_too_slow.inc();
                }
                // The drain is over: what was accepted is finished without it.
                () = told(&mut cut) => {}
            }
            metrics.connections.dec();
        });
    }
    drop(listener);
    let left = graceful.count();
    match timeout(drain, graceful.shutdown()).await {
        Ok(()) => 0,
        Err(_) => {
            cut.send_replace(true);
            left
        }
    }
}

/// Answers a request, with what its browser has to be told where a page asks.
async fn answer(
    app: Arc<App>,
    router: Router,
    peer: IpAddr,
    request: Request<Incoming>,
) -> Result<Response<Either<Full<Bytes>, Body>>, Infallible> {
    let told = app.guards.origins.told(request.headers());
    if told.is_none() {
        return decide(app, router, peer, request).await;
    }
    let preflight = Told::is_preflight(request.method(), request.headers());
    let mut answer = if preflight {
        let mut answer = Response::new(Either::Left(Full::default()));
        *answer.status_mut() = StatusCode::NO_CONTENT;
        Told::write_preflight(answer.headers_mut());
        answer
    } else {
        decide(app, router, peer, request).await?
    };
    if let Some(told) = told {
        told.write(answer.headers_mut());
    }
    Ok(answer)
}

/// Answers a request: a claim and a hold straight away, everything else by its route.
async fn decide(
    app: Arc<App>,
    mut router: Router,
    peer: IpAddr,
    request: Request<Incoming>,
) -> Result<Response<Either<Full<Bytes>, Body>>, Infallible> {
    if let Err(problem) = app.paced_address(peer, request.uri().path(), request.headers()) {
        app.metrics.answered(problem.outcome());
        return Ok(problem.response().map(Either::Left));
    }
    if request.method() == Method::POST {
        let path = request.uri().path();
        if let Some(campaign) = claims::campaign_in(path, "/claims").map(str::to_owned) {
            let (parts, body) = request.into_parts();
            let (query, headers) = (parts.uri.query(), &parts.headers);
            let answer = claims::answer(&app, &campaign, query, headers, body).await;
            return Ok(answer.map(Either::Left));
        }
        if let Some(campaign) = claims::campaign_in(path, "/holds").map(str::to_owned) {
            let (parts, body) = request.into_parts();
            let (query, headers) = (parts.uri.query(), &parts.headers);
            let answer = holds::answer(&app, &campaign, query, headers, body).await;
            return Ok(answer.map(Either::Right));
        }
    }
    let answer = router.call(request.map(Body::new)).await?;
    Ok(answer.map(Either::Right))
}

fn connection() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(None);
    // Answers are not held back for requests that follow (`pipeline_flush`): half a request behind a
    // whole one, or a head that is refused, would keep its answer from ever leaving.
    builder.max_buf_size(HEAD_BYTES).max_headers(HEADERS);
    builder
}

/// Tells one peer too many so, and hangs up.
async fn refuse(mut stream: TcpStream) {
    let problem = Problem::new(
        Code::TooManyConnections,
        "as many connections are open as this server takes (connections)",
    );
    let document = problem.document();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n\
         content-type: {MEDIA_TYPE}\r\ncontent-length: {}\r\n\r\n",
        document.len()
    );
    // Who is refused and does not listen is refused all the same.
    drop(
        timeout(REFUSING, async move {
            stream.write_all(answer.as_bytes()).await?;
            stream.write_all(&document).await?;
            stream.shutdown().await
        })
        .await,
    );
}

fn is_about_one_connection(why: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        why.kind(),
        Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::ConnectionRefused
            | Kind::Interrupted
    )
}
