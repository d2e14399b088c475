//! The timeouts of a connection: for a request's head, between requests, for an answer that nobody reads, for the end of a
//! stream, and for the life of a connection that is kept for little.
//!
//! One task looks at all connections of a listener, in place of a timer for each, and its clock is the one they note times
//! by: a request reads no other.

use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// How often connections are looked at; and as much longer than it may a connection take.
const CHECK_EVERY: Duration = Duration::from_millis(250);

/// How long the last words of a stream whose time is over may take; then it is cut.
const LAST_WORDS: Duration = Duration::from_secs(1);

const HEAD: u64 = 0;
const IDLE: u64 = 1;
const ANSWERING: u64 = 2;

/// The clock that the connections of a listener note times by, in milliseconds: late by [`CHECK_EVERY`] at most.
#[derive(Debug)]
pub(crate) struct CoarseClock {
    begun: Instant,
    millis: AtomicU64,
}

/// How long a connection may take for what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimits {
    /// For the head of a request.
    pub(crate) head: Duration,
    /// Between requests, and for bytes that nobody takes.
    pub(crate) idle: Duration,
    /// For all it does, if it is kept for little.
    pub(crate) life: Option<Duration>,
}

impl CoarseClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { begun: Instant::now(), millis: AtomicU64::new(0) })
    }

    /// Returns how often connections are looked at that have so long for a head.
    pub(crate) fn period(head: Duration) -> Duration {
        CHECK_EVERY.min(head)
    }

    /// Moves it on to now.
    pub(crate) fn advance(&self) {
        self.millis.store(self.until(Instant::now()), Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.millis.load(Ordering::Relaxed)
    }

    fn until(&self, moment: Instant) -> u64 {
        moment.saturating_duration_since(self.begun).as_millis() as u64
    }
}

/// What a connection does, and since when: two low bits and milliseconds.
#[derive(Debug)]
pub(crate) struct IdleTimer {
    clock: Arc<CoarseClock>,
    limits: TimeLimits,
    begun: u64,
    state: AtomicU64,
    /// Since when bytes wait to leave, in milliseconds from 1; 0 if none do.
    stalled: AtomicU64,
    /// When the answer under way is cut, in milliseconds from 1; 0 if it may take as long as it moves.
    until: AtomicU64,
    /// Whether it was found to take too long, and was woken to see for itself.
    found: AtomicBool,
}

impl IdleTimer {
    /// Begins with a connection that owes a request's head.
    pub(crate) fn new(clock: &Arc<CoarseClock>, limits: TimeLimits) -> Arc<Self> {
        let begun = clock.now();
        Arc::new(Self {
            clock: Arc::clone(clock),
            limits,
            begun,
            state: AtomicU64::new(begun << 2 | HEAD),
            stalled: AtomicU64::new(0),
            until: AtomicU64::new(0),
            found: AtomicBool::new(false),
        })
    }

    /// Notes that a request's head is there.
    pub(crate) fn answering(&self) {
        self.until.store(0, Ordering::Relaxed);
        self.state.store(ANSWERING, Ordering::Relaxed);
    }

    /// Notes when the answer under way ends by itself, at the latest.
    pub(crate) fn ends_at(&self, end: Instant) {
        let millis = self.clock.until(end + LAST_WORDS);
        self.until.store(millis.max(1), Ordering::Relaxed);
    }

    /// Notes that the answer has been handed over, to its last byte.
    pub(crate) fn answered(&self) {
        self.until.store(0, Ordering::Relaxed);
        self.set(IDLE);
    }

    /// Says whether the answer has left. The next request may have begun.
    pub(crate) fn has_answered(&self) -> bool {
        self.state.load(Ordering::Relaxed) & 3 != ANSWERING && !self.is_stalled()
    }

    /// Says whether bytes wait to leave.
    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed) != 0
    }

    /// Notes that bytes were read: if the connection was idle they are the beginning of a head.
    fn bytes_read(&self) {
        if self.state.load(Ordering::Relaxed) & 3 == IDLE {
            self.set(HEAD);
        }
    }

    /// Records the result of a write: a client that waits for the last bytes of an answer is not idle while they move.
    fn wrote(&self, polled: &Poll<io::Result<usize>>) {
        match polled {
            Poll::Ready(Ok(0) | Err(_)) => {}
            Poll::Ready(Ok(_)) => {
                self.stalled.store(0, Ordering::Relaxed);
                if self.state.load(Ordering::Relaxed) & 3 == IDLE {
                    self.set(IDLE);
                }
            }
            Poll::Pending if self.stalled.load(Ordering::Relaxed) == 0 => {
                self.stalled.store(self.clock.now().max(1), Ordering::Relaxed);
            }
            Poll::Pending => {}
        }
    }

    fn set(&self, state: u64) {
        self.state.store(self.clock.now() << 2 | state, Ordering::Relaxed);
    }

    /// Looks whether it takes too long, for the task that looks at all connections; says whether its own task is to be woken.
    pub(crate) fn looks_over(&self) -> bool {
        let is_over = self.takes_too_long() || self.outlived();
        self.found.store(is_over, Ordering::Relaxed);
        is_over
    }

    /// Says, to the task of the connection, whether it is to end. A request may have come since it was woken.
    pub(crate) fn is_over(&self) -> bool {
        self.found.load(Ordering::Relaxed) && self.looks_over()
    }

    /// Says, to the task of the connection, whether the answer under way is to be cut. Asked for more, it would say that it
    /// is over, which nobody reads.
    pub(crate) fn outlasts_answer(&self) -> bool {
        self.found.load(Ordering::Relaxed)
            && self.state.load(Ordering::Relaxed) & 3 == ANSWERING
            && self.is_over()
    }

    /// Says whether its life is over, which is no fault of whoever asks.
    pub(crate) fn outlived(&self) -> bool {
        self.limits.life.is_some_and(|life| self.is_longer(self.begun, life))
    }

    /// Says whether a head takes longer than it may, nothing happens for too long, bytes wait to leave for too long, or the
    /// time of the answer under way is over.
    fn takes_too_long(&self) -> bool {
        let TimeLimits { head, idle, .. } = self.limits;
        let state = self.state.load(Ordering::Relaxed);
        let over = match state & 3 {
            HEAD => self.is_longer(state >> 2, head),
            IDLE => self.is_longer(state >> 2, idle),
            _ => {
                let until = self.until.load(Ordering::Relaxed);
                until != 0 && self.clock.now() > until
            }
        };
        let stalled = self.stalled.load(Ordering::Relaxed);
        over || stalled != 0 && self.is_longer(stalled, idle)
    }

    /// Says whether it is longer ago than `most`: what was noted may be late by a period of the clock.
    fn is_longer(&self, since: u64, most: Duration) -> bool {
        let passed = Duration::from_millis(self.clock.now().saturating_sub(since));
        passed > most + CoarseClock::period(self.limits.head)
    }
}

/// The body of an answer, which notes in the connection's [`IdleTimer`] when it has been handed over.
#[derive(Debug)]
pub(crate) struct Answer<B> {
    body: B,
    timer: Arc<IdleTimer>,
}

impl<B> Answer<B> {
    pub(crate) fn new(body: B, timer: Arc<IdleTimer>) -> Self {
        Self { body, timer }
    }
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for Answer<B> {
    fn drop(&mut self) {
        self.timer.answered();
    }
}

/// A stream that notes in its [`IdleTimer`] when bytes are read, and when they are written.
#[derive(Debug)]
pub(crate) struct Timed {
    pub(crate) stream: TcpStream,
    pub(crate) timer: Arc<IdleTimer>,
}

impl AsyncRead for Timed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.timer.bytes_read();
        }
        polled
    }
}

impl AsyncWrite for Timed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.timer.wrote(&polled);
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.timer.wrote(&polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
