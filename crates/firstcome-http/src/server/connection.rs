//! A connection from its first byte to its end: which thread serves it, and who reads its requests.
//!
//! Plain requests are answered on the event loop, where there is one; all others by hyper, on a thread of those. A
//! connection moves when its next request is of the other kind.

use super::{Connection, answer};
use crate::bulk::requests::CutBy;
use crate::metrics::Metrics;
use crate::seat_map::events::EndsAt;
use crate::server::drain::{Drain, Drained};
use crate::server::idle::{Answer, IdleTimer, Timed};
use crate::server::plain::lent::Lent;
use crate::server::plain::{self, Next, Wire};
use crate::server::runtimes::ThreadPlace;
use crate::server::serves::Serves;
use crate::server::slots::{Admission, Slot};
use crate::server::tls::Tls;
use axum::http::{HeaderMap, Request, Response};
use bytes::BytesMut;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// Bytes of a request's head, and so of its longest line, that are read at most.
const HEAD_BYTES: usize = 32 << 10;
/// Headers a request may have.
const HEADERS: usize = 64;

/// The tasks that serve the connections of a listener.
#[derive(Clone)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    drain: Arc<Drain>,
}

impl Tasks {
    pub(super) fn new(drain: Arc<Drain>) -> Self {
        Self { tracker: TaskTracker::new(), drain }
    }

    /// Waits until no connection is left, once no more are accepted.
    pub(super) async fn ended(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }

    /// A panic in the task is logged, and ends that connection only.
    fn spawn(
        &self,
        number: (u64, u32),
        on: &Handle,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let task = self.tracker.spawn_on(task, on);
        self.drain.serves(number, task.abort_handle());
    }
}

/// What a connection holds as long as it is open, however it ends: by itself, cut at the end of the drain, or by a panic.
pub(super) struct Permits {
    _slot: Slot,
    _thread: Option<ThreadPlace>,
    /// Where it counts as open.
    open: Option<Arc<Metrics>>,
}

impl Permits {
    pub(super) fn new(slot: Slot, thread: Option<ThreadPlace>, open: Option<Arc<Metrics>>) -> Self {
        if let Some(metrics) = &open {
            metrics.connections.inc();
        }
        Self { _slot: slot, _thread: thread, open }
    }
}

impl Drop for Permits {
    fn drop(&mut self) {
        if let Some(metrics) = &self.open {
            metrics.connections.dec();
        }
    }
}

/// A connection on its way to a thread.
struct Moving {
    stream: std::net::TcpStream,
    unread: BytesMut,
    /// Why it moves; nothing at its beginning.
    next: Option<Next>,
    drained: Drained,
    permits: Permits,
}

impl Connection {
    /// Serves a connection until it ends, on a thread for it.
    pub(super) fn begin(
        self: Arc<Self>,
        stream: std::net::TcpStream,
        drained: Drained,
        permits: Permits,
    ) {
        if self.app.options.rare.tls.is_some() {
            let (tasks, other) = (self.tasks.clone(), self.threads.other.clone());
            let number = drained.number();
            tasks.spawn(number, &other, self.serve_secured(stream, drained, permits));
            return;
        }
        let moving = Moving { stream, unread: BytesMut::new(), next: None, drained, permits };
        let begins_plain = self.reads_plain();
        self.moves(begins_plain, moving);
    }

    /// Says whether the server itself reads the plain requests of this connection.
    fn reads_plain(&self) -> bool {
        !self.app.options.rare.hyper_only
            && self.source.serves != Serves::Operations
            && self.source.admission == Admission::Everything
    }

    /// Goes on with a connection on the thread for requests of this kind.
    fn moves(self: Arc<Self>, plain: bool, moving: Moving) {
        let event_loop = self.threads.event_loop.as_ref().filter(|_| plain);
        let here = match (event_loop, &self.threads.event_loop) {
            (Some(_), _) => Here::Plain,
            (None, Some(_)) if self.reads_plain() => Here::Others,
            (None, _) => Here::All,
        };
        let on = event_loop.unwrap_or(&self.threads.other).clone();
        let (tasks, number) = (self.tasks.clone(), moving.drained.number());
        tasks.spawn(number, &on, async move {
            let connection = Arc::clone(&self);
            if let Some(moving) = connection.serve(moving, here).await {
                self.moves(here != Here::Plain, moving);
            }
        });
    }

    /// Serves the requests of a connection until it ends, or until one comes that is not for this thread.
    async fn serve(&self, moving: Moving, here: Here) -> Option<Moving> {
        let Moving { stream, unread, next, mut drained, permits } = moving;
        let stream = TcpStream::from_std(stream).ok()?;
        let timed = Timed { stream, timer: Arc::clone(&self.timer) };
        let mut wire = Wire { timed, unread };
        let mut table = HeaderMap::new();
        let mut next = next.filter(|next| !matches!(next, Next::Plain));
        if !self.reads_plain() {
            next = Some(Next::HyperForGood);
        }
        loop {
            let (bytes, is_for_here) = match next {
                Some(Next::Hyper(bytes)) => (Some(bytes), here != Here::Plain),
                Some(Next::HyperForGood) => (None, here != Here::Plain),
                Some(Next::Plain) => (None, false),
                Some(Next::End) => return None,
                Some(Next::TooSlow) => {
                    self.app.metrics.connections_too_slow.inc();
                    return None;
                }
                None => {
                    let answers = here != Here::Others;
                    let come = plain::serve(&mut wire, self, &mut drained, (&mut table, answers));
                    next = Some(come.await);
                    continue;
                }
            };
            if !is_for_here {
                let stream = wire.timed.stream.into_std().ok()?;
                drained.moves();
                return Some(Moving { stream, unread: wire.unread, next, drained, permits });
            }
            next = None;
            if let Err(cut) = wire.can_write(&self.timer, &mut drained).await {
                next = Some(cut);
                continue;
            }
            let used_up = AtomicBool::new(false);
            let mut lent = Lent::new(&mut wire, bytes, &used_up);
            let has_ended =
                self.serve_with_hyper(&mut lent, &mut drained, bytes.map(|_| &used_up)).await;
            if !(has_ended && lent.is_back()) {
                return None;
            }
        }
    }

    /// Secures a connection, and has hyper serve its requests until it ends.
    async fn serve_secured(
        self: Arc<Self>,
        stream: std::net::TcpStream,
        mut drained: Drained,
        permits: Permits,
    ) {
        let options = &self.app.options;
        let (Ok(stream), Some(tls)) = (TcpStream::from_std(stream), &options.rare.tls) else {
            return;
        };
        let stream = Timed { stream, timer: Arc::clone(&self.timer) };
        match timeout(options.header_time, Tls::acceptor(tls).accept(stream)).await {
            Ok(Ok(stream)) => {
                self.serve_with_hyper(stream, &mut drained, None).await;
            }
            // No key, no certificate that counts, no TLS at all: it is nobody whom an answer would reach.
            Ok(Err(_)) => {
                self.app.metrics.connections_insecure.inc();
            }
            Err(_) => {
                self.app.metrics.connections_too_slow.inc();
            }
        }
        drop(permits);
    }

    /// Serves the requests of a connection, or one, until hyper ends; says whether it ended as it should, and not because the
    /// server stops.
    async fn serve_with_hyper(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send,
        drained: &mut Drained,
        used_up: Option<&AtomicBool>,
    ) -> bool {
        let metrics = &self.app.metrics;
        let timer = &self.timer;
        let mut builder = connection();
        builder.keep_alive(self.source.admission == Admission::Everything);
        let service = service_fn(async |request: Request<Incoming>| {
            timer.answering();
            let answer = answer(self, request).await;
            note_end(&answer, timer);
            Ok::<_, Infallible>(answer.map(|body| Answer::new(body, Arc::clone(timer))))
        });
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let mut is_ending = false;
        let ended = poll_fn(|cx| {
            if timer.outlasts_answer() {
                return Poll::Ready(None);
            }
            // The connection first, so that an answer which is ready leaves, and what was read already is answered.
            let mut polled = connection.as_mut().poll(cx);
            if !is_ending && drained.has_begun(cx) {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
                if polled.is_pending() {
                    polled = connection.as_mut().poll(cx);
                }
            }
            let is_used_up = used_up.is_some_and(|used_up| used_up.load(Ordering::Relaxed));
            if is_used_up && polled.is_pending() && timer.has_answered() {
                // It finds the end of what it was lent.
                polled = connection.as_mut().poll(cx);
            }
            match polled {
                // Nothing is under way, or nobody reads it: no answer is lost.
                Poll::Pending if timer.is_over() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
                Poll::Ready(ended) => Poll::Ready(Some(ended)),
            }
        });
        match ended.await {
            Some(Ok(())) => !is_ending,
            // A peer that goes away or sends what is no HTTP ends its own connection only.
            Some(Err(why)) => {
                if why.is_parse() {
                    metrics.connections_unreadable.inc();
                }
                false
            }
            None => {
                if !timer.outlived() {
                    metrics.connections_too_slow.inc();
                }
                false
            }
        }
    }
}

/// Which requests a thread answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Here {
    /// Plain ones: it is the event loop.
    Plain,
    /// All others.
    Others,
    /// All: there is no event loop.
    All,
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

fn connection() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(None);
    // Answers are not held back for requests that follow (`pipeline_flush`): half a request behind a
    // whole one, or a head that is refused, would keep its answer from ever leaving.
    builder.max_buf_size(HEAD_BYTES).max_headers(HEADERS);
    builder
}
