//! The lines of a body as it comes, each with its number.

use axum::body::{Body, Bytes};
use hyper::body::Body as _;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Lines of one request.
pub const BULK_LINES: u32 = 100_000;

/// Bytes of one request.
pub const BULK_BYTES: usize = 64 << 20;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A line that is not empty, without its end.
    Line(u32, Bytes),
    /// A line with more bytes than a line may have.
    TooLong(u32),
    /// One line too many.
    TooMany(u32),
    /// A line which ends, or does not end, beyond the bytes of a request.
    TooLarge(u32),
    /// The body is over, or its client is gone.
    End,
}

/// A body that is read line by line.
#[derive(Debug)]
pub(super) struct Lines {
    body: Body,
    /// The bytes of one line, at most.
    most: usize,
    /// What came and is not looked at yet.
    chunk: Bytes,
    /// The beginning of a line whose end is still to come.
    begun: Vec<u8>,
    /// Whether the line that has begun is too long already.
    is_long: bool,
    /// The bytes that were looked at.
    bytes: usize,
    /// The number of the last line.
    number: u32,
}

impl Lines {
    pub(super) fn new(body: Body, most: usize) -> Self {
        let (chunk, begun) = (Bytes::new(), Vec::new());
        Self { body, most, chunk, begun, is_long: false, bytes: 0, number: 0 }
    }

    /// Returns the number of the next line.
    pub(super) fn next_number(&self) -> u32 {
        self.number + 1
    }

    /// Returns the next line that is not empty.
    ///
    /// Nothing is read while nobody asks. What comes after the last line of any request is not looked at.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        loop {
            let end = self.chunk.iter().position(|byte| *byte == b'\n');
            let part = match end {
                Some(end) => self.chunk.split_to(end + 1),
                None => std::mem::take(&mut self.chunk),
            };
            self.bytes += part.len();
            if self.bytes > BULK_BYTES {
                return Poll::Ready(Next::TooLarge(self.next_number()));
            }
            self.is_long |= self.begun.len() + part.len() > self.most;
            let line = if end.is_some() && self.begun.is_empty() {
                part
            } else {
                if self.is_long {
                    self.begun.clear();
                } else {
                    self.begun.extend_from_slice(&part);
                }
                if end.is_none() {
                    let Some(chunk) = std::task::ready!(self.poll_chunk(cx)) else {
                        if self.begun.is_empty() && !self.is_long {
                            return Poll::Ready(Next::End);
                        }
                        let last = std::mem::take(&mut self.begun).into();
                        return Poll::Ready(self.ended(last).unwrap_or(Next::End));
                    };
                    self.chunk = chunk;
                    continue;
                }
                std::mem::take(&mut self.begun).into()
            };
            if let Some(next) = self.ended(line) {
                return Poll::Ready(next);
            }
        }
    }

    /// Counts a line that is whole; gives it unless it is empty.
    fn ended(&mut self, line: Bytes) -> Option<Next> {
        self.number += 1;
        let number = self.number;
        let is_long = std::mem::take(&mut self.is_long);
        if number > BULK_LINES {
            return Some(Next::TooMany(number));
        }
        if is_long {
            return Some(Next::TooLong(number));
        }
        (!line.trim_ascii().is_empty()).then_some(Next::Line(number, line))
    }

    /// Returns what the client sent next; nothing at the end, or if the client is gone: then nobody hears an answer.
    pub(super) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            match std::task::ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    // Trailers say nothing here.
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(data));
                    }
                }
                Some(Err(_)) => {
                    // The line that was cut is no line.
                    self.begun.clear();
                    self.is_long = false;
                    return Poll::Ready(None);
                }
                None => return Poll::Ready(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use std::future::poll_fn;

    async fn read(chunks: &[&'static str], most: usize) -> Vec<Next> {
        let chunks: Vec<_> = chunks.iter().map(|chunk| Ok::<_, std::io::Error>(*chunk)).collect();
        let mut lines = Lines::new(Body::from_stream(stream::iter(chunks)), most);
        let mut all = Vec::new();
        loop {
            match poll_fn(|cx| lines.poll_next(cx)).await {
                Next::End => return all,
                next @ (Next::Line(..)
                | Next::TooLong(_)
                | Next::TooMany(_)
                | Next::TooLarge(_)) => {
                    all.push(next);
                }
            }
        }
    }

    fn line(number: u32, text: &'static str) -> Next {
        Next::Line(number, Bytes::from(text))
    }

    #[tokio::test]
    async fn lines_are_the_same_wherever_the_body_is_cut() {
        let expected = [line(1, "one\n"), line(3, "three\r\n"), line(5, "last")];
        let whole = "one\n\nthree\r\n \nlast";
        assert_eq!(read(&[whole], 100).await, expected);
        for at in 1..whole.len() {
            let (left, right) = whole.split_at(at);
            assert_eq!(read(&[left, right], 100).await, expected, "{at}");
        }
        assert_eq!(read(&[], 100).await, []);
        assert_eq!(read(&["\n\n"], 100).await, []);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_and_not_kept() {
        let expected = [Next::TooLong(1), line(2, "ok\n"), Next::TooLong(3)];
        assert_eq!(read(&["123456\nok\n7654321"], 6).await, expected);
        assert_eq!(read(&["123", "4", "56", "789", "0\nok\n", "65432", "10"], 6).await, expected);
        assert_eq!(read(&["12345\n"], 6).await, [line(1, "12345\n")]);
    }

    #[tokio::test]
    async fn one_line_and_one_byte_too_many_are_said_with_the_number_of_their_line() {
        let many: &'static str = "x\n".repeat(BULK_LINES as usize + 1).leak();
        let mut lines = Lines::new(Body::from(many), 10);
        for number in 1..=BULK_LINES {
            let next = poll_fn(|cx| lines.poll_next(cx)).await;
            assert_eq!(next, line(number, "x\n"));
        }
        let next = poll_fn(|cx| lines.poll_next(cx)).await;
        assert_eq!(next, Next::TooMany(BULK_LINES + 1));

        let large: &'static str = "x".repeat(BULK_BYTES).leak();
        let chunks = ["x\n", large].map(Ok::<_, std::io::Error>);
        let mut lines = Lines::new(Body::from_stream(stream::iter(chunks)), 10);
        assert_eq!(poll_fn(|cx| lines.poll_next(cx)).await, line(1, "x\n"));
        assert_eq!(poll_fn(|cx| lines.poll_next(cx)).await, Next::TooLarge(2));
    }
}
