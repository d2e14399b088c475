//! Plain requests: commands of few bytes. They are read, answered and written here; hyper does the same for all others.
//!
//! What is plain is a subset of what hyper takes, with the same meaning: whatever is unusual about a request makes it
//! hyper's, with the bytes that were read. Both give it to the same function, [`super::answer`].

pub(super) mod lent;

use super::{Connection, answer, is_command};
use crate::answer::respond;
use crate::request::whole;
use crate::server::base_path::BasePath;
use crate::server::drain::Drained;
use crate::server::idle::{IdleTimer, Timed};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use bytes::{Bytes, BytesMut};
use http_body_util::Full;
use httparse::{EMPTY_HEADER, Header, Status};
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::{Duration, timeout};
use tokio_util::io::poll_read_buf;

/// Bytes of a plain request at most, and so of the buffer that a connection has.
const BYTES: usize = 4 << 10;

/// Headers of a plain request at most. One with more is hyper's, which takes 64.
const MOST: usize = 32;

/// How long the body of a plain request may come later than its head. Then hyper waits for it.
const BODY_WAIT: Duration = Duration::from_millis(50);

/// A connection without TLS, with what was read of it and is not used yet.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) timed: Timed,
    pub(super) unread: BytesMut,
}

/// What follows on plain requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// Nothing: the connection is over.
    End,
    /// A plain request, which another thread answers.
    Plain,
    /// It takes too long, and is to be cut.
    TooSlow,
    /// A request of this many bytes that hyper answers; then the connection is read here again.
    Hyper(u64),
    /// Hyper has the connection from here on.
    HyperForGood,
}

/// Answers the plain requests of a connection, until one comes that is not; all of them go elsewhere if this thread does
/// not answer them.
///
/// # Cancel safety
///
/// Dropped, a command that was sent may still happen.
pub(super) async fn serve(
    wire: &mut Wire,
    connection: &Connection,
    drained: &mut Drained,
    (table, answers): (&mut HeaderMap, bool),
) -> Next {
    let timer = &*connection.timer;
    loop {
        let head = match head(&wire.unread, &connection.app.options.rare.base_path) {
            Some(head) => head,
            None if wire.unread.len() >= BYTES => return Next::HyperForGood,
            None => match wire.read(timer, Some(drained)).await {
                Ok(0) if wire.unread.is_empty() => return Next::End,
                // Half a request: hyper says what becomes of it.
                Ok(0) => return Next::HyperForGood,
                Ok(_) => continue,
                Err(cut) => return cut,
            },
        };
        match head.kind {
            Kind::Plain if answers => {}
            Kind::Plain => return Next::Plain,
            Kind::Once => return Next::Hyper(head.bytes()),
            Kind::ForGood => return Next::HyperForGood,
        }
        let length = head.bytes() as usize;
        if wire.unread.len() < length {
            match timeout(BODY_WAIT, wire.has_whole(length, timer)).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) | Err(_) => return Next::HyperForGood,
                Ok(Err(cut)) => return cut,
            }
        }
        let bytes = wire.unread.split_to(length).freeze();
        let Some(request) = head.request(&bytes, std::mem::take(table)) else {
            wire.put_back(&bytes);
            return Next::HyperForGood;
        };
        drop(bytes);
        timer.answering();
        let mut answering = pin!(answer(connection, request));
        let answered = poll_fn(|cx| match answering.as_mut().poll(cx) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            // Nobody waits for its answer: a command that was not sent never is.
            Poll::Pending if wire.is_left(cx) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        let Some(answer) = answered.await else { return Next::End };
        let (mut parts, body) = answer.into_parts();
        let Ok(body) = whole(body).await else { return Next::End };
        let is_last = poll_fn(|cx| Poll::Ready(drained.has_begun(cx))).await;
        timer.answered();
        let out = respond::as_bytes(parts.status, &parts.headers, &body, is_last);
        parts.headers.clear();
        *table = parts.headers;
        if let Err(cut) = wire.write(out, timer).await {
            return cut;
        }
        if is_last {
            // A peer that has gone needs no end.
            drop(wire.timed.shutdown().await);
            return Next::End;
        }
    }
}

impl From<io::Error> for Next {
    /// What the operating system does not read or write any more is over.
    fn from(_: io::Error) -> Self {
        Self::End
    }
}

impl Wire {
    /// Reads what comes next; 0 is its end, also where no request has begun and the server stops.
    async fn read(
        &mut self,
        timer: &IdleTimer,
        mut drained: Option<&mut Drained>,
    ) -> Result<usize, Next> {
        poll_fn(|cx| {
            let is_ending = drained.as_mut().is_some_and(|drained| drained.has_begun(cx));
            match self.poll_read(cx)? {
                Poll::Ready(read) => Poll::Ready(Ok(read)),
                // Lines may stand between two requests.
                Poll::Pending if is_ending && self.unread.trim_ascii().is_empty() => {
                    self.unread.clear();
                    Poll::Ready(Ok(0))
                }
                Poll::Pending if timer.is_over() => Poll::Ready(Err(Next::TooSlow)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Reads until so many bytes are there; says whether they came.
    async fn has_whole(&mut self, length: usize, timer: &IdleTimer) -> Result<bool, Next> {
        while self.unread.len() < length {
            if self.read(timer, None).await? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.unread.capacity() == self.unread.len() {
            self.unread.reserve(BYTES);
        }
        poll_read_buf(Pin::new(&mut self.timed), cx, &mut self.unread)
    }

    /// Waits until bytes can leave: on another thread that is not known at once. Hyper would read on while its first answer
    /// waits, and could not say then what is wrong with a second request.
    pub(super) async fn can_write(
        &self,
        timer: &IdleTimer,
        drained: &mut Drained,
    ) -> Result<(), Next> {
        poll_fn(|cx| {
            drained.has_begun(cx);
            match self.timed.stream.poll_write_ready(cx) {
                Poll::Ready(ready) => Poll::Ready(ready.map_err(Next::from)),
                Poll::Pending if timer.is_over() => Poll::Ready(Err(Next::TooSlow)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Says whether the other end has left, as far as that is to be seen: what it sends meanwhile is kept.
    fn is_left(&mut self, cx: &mut Context<'_>) -> bool {
        self.unread.is_empty() && matches!(self.poll_read(cx), Poll::Ready(Ok(0) | Err(_)))
    }

    /// Puts back what was taken last.
    fn put_back(&mut self, bytes: &Bytes) {
        let behind = std::mem::take(&mut self.unread);
        self.unread = BytesMut::from(&bytes[..]);
        self.unread.extend_from_slice(&behind);
    }

    async fn write(&mut self, out: Vec<u8>, timer: &IdleTimer) -> Result<(), Next> {
        let mut written = 0;
        while written < out.len() {
            written +=
                poll_fn(|cx| match Pin::new(&mut self.timed).poll_write(cx, &out[written..])? {
                    Poll::Ready(0) => Poll::Ready(Err(Next::End)),
                    Poll::Ready(more) => Poll::Ready(Ok(more)),
                    Poll::Pending if timer.is_over() => Poll::Ready(Err(Next::TooSlow)),
                    Poll::Pending => Poll::Pending,
                })
                .await?;
        }
        respond::have_left(out);
        Ok(())
    }
}

/// The head of a request that is whole.
#[derive(Debug)]
struct Head {
    kind: Kind,
    /// Bytes of the head.
    head: usize,
    /// Bytes of the body behind it.
    body: u64,
    target: Range<usize>,
    /// Where the names and values of headers are.
    headers: [(Range<u16>, Range<u16>); MOST],
    count: usize,
}

/// Who answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// This server's own reader.
    Plain,
    /// Hyper, this one only: its end is known.
    Once,
    /// Hyper, this one and those behind it: where it ends is for hyper to say, or what the connection is then.
    ForGood,
}

/// Reads the head that these bytes begin with; none if there is more of it to come.
fn head(bytes: &[u8], base: &BasePath) -> Option<Head> {
    let mut fields = [EMPTY_HEADER; MOST];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(Status::Complete(length)) => Some(length),
        Ok(Status::Partial) => return None,
        // Hyper says what is wrong, if it finds the same.
        Err(_) => None,
    };
    let mut head = Head {
        kind: Kind::ForGood,
        head: length.unwrap_or_default(),
        body: 0,
        target: 0..0,
        headers: std::array::from_fn(|_| (0..0, 0..0)),
        count: 0,
    };
    let Some((method, target)) = request.method.zip(request.path).filter(|_| length.is_some())
    else {
        return Some(head);
    };
    if request.version != Some(1) || bytes.len() > usize::from(u16::MAX) {
        return Some(head);
    }
    let place = |part: &[u8]| {
        let begin = part.as_ptr().addr() - bytes.as_ptr().addr();
        begin..begin + part.len()
    };
    let short = |part: &[u8]| {
        let Range { start, end } = place(part);
        start as u16..end as u16
    };
    let mut length = None;
    for field in request.headers.iter() {
        match framing(field, &mut length) {
            Some(()) => {}
            None => return Some(head),
        }
        head.headers[head.count] = (short(field.name.as_bytes()), short(field.value));
        head.count += 1;
    }
    head.target = place(target.as_bytes());
    head.body = length.unwrap_or_default();
    let is_short = head.bytes() <= BYTES as u64;
    let is_plain =
        method == "POST" && length.is_some() && is_short && is_command(base.without(target));
    head.kind = match method {
        "CONNECT" => Kind::ForGood,
        _ if is_plain => Kind::Plain,
        _ => Kind::Once,
    };
    Some(head)
}

/// Reads what a header says about where a request ends and what follows it; nothing where hyper is to say that.
fn framing(field: &Header<'_>, length: &mut Option<u64>) -> Option<()> {
    let is = |name: &str| field.name.eq_ignore_ascii_case(name);
    if is("content-length") {
        let digits = field.value;
        let is_number = (1..=15).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(digits).ok()?.parse().ok().filter(|_| is_number)?;
        return length.replace(number).is_none().then_some(());
    }
    if is("connection") {
        return field.value.eq_ignore_ascii_case(b"keep-alive").then_some(());
    }
    let is_hypers = is("transfer-encoding") || is("expect") || is("upgrade");
    (!is_hypers).then_some(())
}

impl Head {
    /// Returns the bytes of the whole request.
    fn bytes(&self) -> u64 {
        self.head as u64 + self.body
    }

    /// Returns the request that these bytes are, with its headers in an empty table; nothing if a part of it is not what
    /// it may be.
    fn request(&self, bytes: &Bytes, mut table: HeaderMap) -> Option<Request<Full<Bytes>>> {
        for (name, value) in &self.headers[..self.count] {
            let part = |range: &Range<u16>| usize::from(range.start)..usize::from(range.end);
            let name = HeaderName::from_bytes(&bytes[part(name)]).ok()?;
            table.append(name, HeaderValue::from_maybe_shared(bytes.slice(part(value))).ok()?);
        }
        let mut request = Request::new(Full::new(bytes.slice(self.head..)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_maybe_shared(bytes.slice(self.target.clone())).ok()?;
        *request.headers_mut() = table;
        Some(request)
    }
}
