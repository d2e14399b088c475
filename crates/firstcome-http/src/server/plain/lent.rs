//! A connection that hyper has: for one request, or for good.

use super::Wire;
use crate::server::idle::IdleTimer;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What hyper reads and writes. Where it has the connection for one request, it finds its end behind that once the answer
/// has left, and ends its work; the connection stays open.
#[derive(Debug)]
pub(crate) struct Lent<'a> {
    pub(super) wire: &'a mut Wire,
    /// Bytes that it may still have; no limit where it has the connection for good.
    left: Option<u64>,
    /// Whether it has had all of them.
    used_up: &'a AtomicBool,
    /// Whether the other end has gone.
    is_over: bool,
}

impl<'a> Lent<'a> {
    /// Lends a connection for one request of so many bytes, or for good.
    pub(crate) fn new(wire: &'a mut Wire, bytes: Option<u64>, used_up: &'a AtomicBool) -> Self {
        if bytes.is_some() {
            // Its head is there. Until its answer has left, nothing else is taken for idle.
            wire.timed.timer.answering();
        }
        Self { wire, left: bytes, used_up, is_over: false }
    }

    /// Says whether the connection is to be read again, once hyper has ended without an error.
    pub(crate) fn is_back(&self) -> bool {
        self.left == Some(0) && !self.is_over
    }

    fn timer(&self) -> &IdleTimer {
        &self.wire.timed.timer
    }

    /// Reads on behind its one request: only to see whether the other end leaves meanwhile.
    fn poll_behind(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.timer().has_answered() {
            return Poll::Ready(Ok(()));
        }
        if !self.wire.unread.is_empty() {
            return Poll::Pending;
        }
        match self.wire.poll_read(cx) {
            Poll::Ready(Ok(1..)) | Poll::Pending => Poll::Pending,
            Poll::Ready(ended) => {
                self.is_over = true;
                Poll::Ready(ended.map(|_| ()))
            }
        }
    }
}

impl AsyncRead for Lent<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == Some(0) {
            return self.poll_behind(cx);
        }
        if self.wire.unread.is_empty() {
            if self.left.is_none() {
                return Pin::new(&mut self.wire.timed).poll_read(cx, buf);
            }
            match self.wire.poll_read(cx) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Pending => return Poll::Pending,
                Poll::Ready(ended) => return Poll::Ready(ended.map(|_| ())),
            }
        }
        let most = self.left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.wire.unread.len().min(buf.remaining()).min(most);
        buf.put_slice(&self.wire.unread.split_to(count));
        if let Some(left) = self.left {
            self.left = Some(left - count as u64);
            self.used_up.store(left == count as u64, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Lent<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let was_stalled = this.timer().is_stalled();
        let polled = Pin::new(&mut this.wire.timed).poll_write(cx, bytes);
        this.look_again(was_stalled, cx);
        polled
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let was_stalled = this.timer().is_stalled();
        let polled = Pin::new(&mut this.wire.timed).poll_write_vectored(cx, slices);
        this.look_again(was_stalled, cx);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.timed.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire.timed).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_back() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.wire.timed).poll_shutdown(cx)
    }
}

impl Lent<'_> {
    /// Has hyper look once more for what it reads, once bytes leave that had to wait.
    fn look_again(&self, was_stalled: bool, cx: &Context<'_>) {
        if was_stalled && !self.timer().is_stalled() && self.left == Some(0) {
            cx.waker().wake_by_ref();
        }
    }
}
