//! The lines of a request, written while the server reads them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::iter::Peekable;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use firstcome_api::bulk::{CommandLine, Do};
use hyper::body::{Body, Bytes, Frame};

/// Lines that are sent and not answered; then no more are written. Twice as many as a server keeps.
const UNANSWERED: usize = 8_192;
/// Lines of one request: as many as a server takes.
const LINES: u32 = 100_000;
/// Bytes of one request, after which no line is begun: a server takes 64 MiB.
const BYTES: usize = 60 << 20;
/// Bytes that are written together, about.
const CHUNK: usize = 16 << 10;

/// A line that was taken from the caller and is not answered.
#[derive(Debug)]
pub(super) struct Taken {
    /// Its number among all lines of the caller, from 1.
    pub(super) number: u64,
    pub(super) line: CommandLine,
    /// Whether it was in a request whose answers are lost.
    pub(super) lost: bool,
}

/// The lines of a caller, as far as they were taken.
pub(super) struct Sending<I: Iterator> {
    lines: Peekable<I>,
    taken: u64,
    /// Those to be sent first, again.
    again: VecDeque<Taken>,
    /// Those that are written and not answered.
    unanswered: VecDeque<Taken>,
    /// Lines and bytes written into the request.
    written: (u32, usize),
    /// Wakes the request where it waits for answers.
    waker: Option<Waker>,
}

/// What the request and the reader of its answers share.
pub(super) struct SharedLines<I: Iterator>(Arc<Mutex<Sending<I>>>);

impl<I: Iterator> Clone for SharedLines<I> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<I: Iterator<Item = CommandLine>> SharedLines<I> {
    pub(super) fn new(lines: I) -> Self {
        Self(Arc::new(Mutex::new(Sending {
            lines: lines.peekable(),
            taken: 0,
            again: VecDeque::new(),
            unanswered: VecDeque::new(),
            written: (0, 0),
            waker: None,
        })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Sending<I>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<I: Iterator<Item = CommandLine>> Sending<I> {
    /// Begins another request: what has no answer is sent first.
    pub(super) fn begin(&mut self) {
        while let Some(mut taken) = self.unanswered.pop_back() {
            taken.lost = true;
            self.again.push_front(taken);
        }
        self.written = (0, 0);
    }

    /// Says whether every line that was taken has its answer.
    pub(super) fn is_answered(&self) -> bool {
        self.unanswered.is_empty() && self.again.is_empty()
    }

    /// Says whether there is nothing left to send or to wait for.
    pub(super) fn is_done(&mut self) -> bool {
        self.is_answered() && self.lines.peek().is_none()
    }

    /// Returns the line that is answered next.
    pub(super) fn answered(&mut self) -> Option<Taken> {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        self.unanswered.pop_front()
    }

    /// Returns the next line that will not be answered any more.
    pub(super) fn given_up(&mut self) -> Option<Taken> {
        self.unanswered.pop_front().or_else(|| self.again.pop_front())
    }

    /// Takes the next line, from those that are sent again or from the caller.
    fn take(&mut self) -> Option<Taken> {
        if let Some(again) = self.again.pop_front() {
            return Some(again);
        }
        let mut line = self.lines.next()?;
        self.taken += 1;
        // What is sent again has to be the same: a hold and its steps are known by an id.
        if line.id.is_none() && !matches!(line.verb, Do::Claim | Do::Cancel | Do::Leave) {
            line.id = Some(format!("bulk-{:032x}", fastrand::u128(..)));
        }
        Some(Taken { number: self.taken, line, lost: false })
    }

    /// Writes lines; nothing at the end of the request.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut chunk = Vec::with_capacity(CHUNK + CHUNK / 8);
        while chunk.len() < CHUNK && self.written.0 < LINES && self.written.1 < BYTES {
            if self.unanswered.len() >= UNANSWERED {
                if chunk.is_empty() {
                    self.waker = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                break;
            }
            let Some(taken) = self.take() else { break };
            let before = chunk.len();
            serde_json::to_writer(&mut chunk, &taken.line)
                .expect("a command can be written as JSON");
            chunk.push(b'\n');
            self.written.0 += 1;
            self.written.1 += chunk.len() - before;
            self.unanswered.push_back(taken);
        }
        Poll::Ready((!chunk.is_empty()).then(|| chunk.into()))
    }
}

/// The body of a request: it takes lines from the caller as fast as the server reads them.
pub(super) struct LineBody<I: Iterator>(pub(super) SharedLines<I>);

impl<I: Iterator<Item = CommandLine>> Body for LineBody<I> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let written = self.0.lock().poll_write(cx);
        written.map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
    }
}
