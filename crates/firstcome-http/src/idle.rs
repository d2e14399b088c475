//! The timeout of a connection: for a request's head, and for being idle between requests.
//!
//! Each connection is checked once a second, in place of a timer set and cleared for each request.

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

const HEAD: u64 = 0;
const IDLE: u64 = 1;
const ANSWERING: u64 = 2;

/// What a connection does, and since when: two low bits and milliseconds.
#[derive(Debug)]
pub(super) struct IdleTimer {
    begun: Instant,
    state: AtomicU64,
}

impl IdleTimer {
    /// Begins with a connection that owes a request's head.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { begun: Instant::now(), state: AtomicU64::new(HEAD) })
    }

    /// Notes that a request's head is there.
    pub(super) fn answering(&self) {
        self.state.store(ANSWERING, Ordering::Relaxed);
    }

    /// Notes that the request is answered.
    pub(super) fn idle(&self) {
        self.set(IDLE);
    }

    /// Notes that bytes were read: if the connection was idle they are the beginning of a head.
    fn bytes_read(&self) {
        if self.state.load(Ordering::Relaxed) & 3 == IDLE {
            self.set(HEAD);
        }
    }

    fn set(&self, state: u64) {
        let millis = self.begun.elapsed().as_millis() as u64;
        self.state.store(millis << 2 | state, Ordering::Relaxed);
    }

    /// Waits until the head takes longer than `head`, or the connection is idle for longer than `idle`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub(super) async fn ends(&self, head: Duration, idle: Duration) {
        loop {
            sleep(CHECK_EVERY.min(head)).await;
            let state = self.state.load(Ordering::Relaxed);
            let since = Duration::from_millis(state >> 2);
            let lasted = self.begun.elapsed().saturating_sub(since);
            let over = match state & 3 {
                HEAD => lasted > head,
                IDLE => lasted > idle,
                _ => false,
            };
            if over {
                return;
            }
        }
    }
}

/// A stream that notes in its [`IdleTimer`] when bytes are read.
#[derive(Debug)]
pub(super) struct Timed {
    pub(super) stream: TcpStream,
    pub(super) timer: Arc<IdleTimer>,
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
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
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
