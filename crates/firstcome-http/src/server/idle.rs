//! The timeouts of a connection: for a request's head, between requests, for an answer that nobody reads, and for the end
//! of a stream.
//!
//! Each connection is checked once a second, in place of a timer set and cleared for each request.

use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// How often a connection is checked.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// How long the last words of a stream whose time is over may take; then it is cut.
const LAST_WORDS: Duration = Duration::from_secs(1);

const HEAD: u64 = 0;
const IDLE: u64 = 1;
const ANSWERING: u64 = 2;

/// What a connection does, and since when: two low bits and milliseconds.
#[derive(Debug)]
pub(crate) struct IdleTimer {
    begun: Instant,
    state: AtomicU64,
    /// Since when bytes wait to leave, in milliseconds from 1; 0 if none do.
    stalled: AtomicU64,
    /// When the answer under way is cut, in milliseconds from 1; 0 if it may take as long as it moves.
    until: AtomicU64,
}

impl IdleTimer {
    /// Begins with a connection that owes a request's head.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            begun: Instant::now(),
            state: AtomicU64::new(HEAD),
            stalled: AtomicU64::new(0),
            until: AtomicU64::new(0),
        })
    }

    /// Notes that a request's head is there.
    pub(crate) fn answering(&self) {
        self.until.store(0, Ordering::Relaxed);
        self.state.store(ANSWERING, Ordering::Relaxed);
    }

    /// Notes when the answer under way ends by itself, at the latest.
    pub(crate) fn ends_at(&self, end: Instant) {
        let millis = (end + LAST_WORDS).saturating_duration_since(self.begun).as_millis() as u64;
        self.until.store(millis.max(1), Ordering::Relaxed);
    }

    /// Notes that the answer has been handed over, to its last byte.
    fn answered(&self) {
        self.until.store(0, Ordering::Relaxed);
        self.set(IDLE);
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
                self.stalled.store(self.millis().max(1), Ordering::Relaxed);
            }
            Poll::Pending => {}
        }
    }

    fn millis(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    fn set(&self, state: u64) {
        self.state.store(self.millis() << 2 | state, Ordering::Relaxed);
    }

    /// Waits until the head takes longer than `head`, nothing happens for longer than `idle`, bytes wait to leave for longer
    /// than that, or the time of the answer under way is over.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub(crate) async fn ends(&self, head: Duration, idle: Duration) {
        loop {
            sleep(CHECK_EVERY.min(head)).await;
            let now = self.millis();
            let longer = |since: u64, most: Duration| {
                Duration::from_millis(now.saturating_sub(since)) > most
            };
            let (state, stalled) =
                (self.state.load(Ordering::Relaxed), self.stalled.load(Ordering::Relaxed));
            let until = self.until.load(Ordering::Relaxed);
            let over = match state & 3 {
                HEAD => longer(state >> 2, head),
                IDLE => longer(state >> 2, idle),
                _ => until != 0 && now > until,
            };
            if over || stalled != 0 && longer(stalled, idle) {
                return;
            }
        }
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
