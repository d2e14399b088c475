//! The accept loop: connections with their limits, and the way to a clean end.

use super::problem::{MEDIA_TYPE, Problem};
use super::{App, Options, router};
use crate::answer::Code;
use crate::node::told;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::io;
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
    let router = router(app);
    let graceful = GracefulShutdown::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
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
        let router = router.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let mut router = router.clone();
            async move { router.call(request.map(Body::new)).await }
        });
        let connection = connection(&options).serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        metrics.connections.inc();
        let metrics = Arc::clone(&metrics);
        tokio::spawn(async move {
            let _place: OwnedSemaphorePermit = place;
            // A peer that goes away or sends what is no HTTP ends its own connection only.
            drop(connection.await);
            metrics.connections.dec();
        });
    }
    drop(listener);
    let left = graceful.count();
    match timeout(drain, graceful.shutdown()).await {
        Ok(()) => 0,
        Err(_) => left,
    }
}

fn connection(options: &Options) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_time.max(options.idle_time))
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .half_close(false)
        .pipeline_flush(true);
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
         content-type: {MEDIA_TYPE}\r\ncontent-length: {}\r\n\r\n{document}",
        document.len()
    );
    // Who is refused and does not listen is refused all the same.
    drop(
        timeout(REFUSING, async move {
            stream.write_all(answer.as_bytes()).await?;
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
