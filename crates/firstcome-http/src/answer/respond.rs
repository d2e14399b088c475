//! Responses with a body of JSON.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::BytesMut;
use http_body_util::Full;
use httpdate::HttpDate;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of memory that the small answers of a thread share: one that nobody reads keeps as many.
const SHARED_BYTES: usize = 4 << 10;
/// Answers of more bytes have memory of their own.
const SMALL_BYTES: usize = 512;

thread_local! {
    /// Where whole answers are written, and the time of day in their heads: of which second, and as text.
    static LEAVING: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static DATE: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static SHARED: Cell<BytesMut> = Cell::default();
}

/// Writes an answer as JSON into a buffer.
pub(crate) fn write(answer: &impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, answer).expect("what we answer can be written as JSON");
}

/// Returns an answer as JSON.
pub(crate) fn written(answer: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SMALL_BYTES);
    write(answer, &mut bytes);
    bytes
}

/// Has something written into the buffer of this thread, and returns it as bytes of an answer.
pub(crate) fn in_buffer<T>(write: impl FnOnce(&mut Vec<u8>) -> T) -> (T, Bytes) {
    let mut buffer = BUFFER.take();
    let written = write(&mut buffer);
    let bytes = beside_neighbours(&buffer);
    // What a large answer took is given back.
    buffer.clear();
    buffer.shrink_to(SHARED_BYTES);
    BUFFER.set(buffer);
    (written, bytes)
}

/// Copies what leaves with an answer, beside what left with the ones before if it is small.
pub(crate) fn beside_neighbours(bytes: &[u8]) -> Bytes {
    if bytes.len() > SMALL_BYTES {
        return Bytes::copy_from_slice(bytes);
    }
    let mut shared = SHARED.take();
    // Either there is room, or its memory is used again if no answer in it is left, or there is new memory.
    if shared.capacity() < bytes.len() && !shared.try_reclaim(SHARED_BYTES) {
        shared = BytesMut::with_capacity(SHARED_BYTES);
    }
    shared.extend_from_slice(bytes);
    let copied = shared.split().freeze();
    SHARED.set(shared);
    copied
}

/// The answer of a command: its status, and its document, a JSON object.
#[derive(Debug)]
pub(crate) struct JsonReply {
    status: StatusCode,
    document: Bytes,
}

impl JsonReply {
    /// Makes the answer whose document is written by `write`, which returns its status.
    pub(crate) fn written<E>(
        write: impl FnOnce(&mut Vec<u8>) -> Result<StatusCode, E>,
    ) -> Result<Self, E> {
        let (status, document) = in_buffer(write);
        Ok(Self { status: status?, document })
    }

    /// Returns the response, whose headers are in this empty table.
    pub(crate) fn response(self, table: HeaderMap) -> Response<Full<Bytes>> {
        full(self.status, "application/json", self.document, table)
    }
}

/// Makes a response of bytes, with its headers in this table.
pub(crate) fn full(
    status: StatusCode,
    kind: &'static str,
    bytes: Bytes,
    mut table: HeaderMap,
) -> Response<Full<Bytes>> {
    table.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let mut response = Response::new(Full::new(bytes));
    *response.status_mut() = status;
    *response.headers_mut() = table;
    response
}

/// Makes a response of JSON.
pub(crate) fn json(status: StatusCode, answer: &impl Serialize) -> Response<Body> {
    let bytes = Bytes::from(written(answer));
    full(status, "application/json", bytes, HeaderMap::new()).map(Body::new)
}

/// Makes a response of JSON whose `ETag` is a campaign's version.
pub(crate) fn tagged(status: StatusCode, version: u32, answer: &impl Serialize) -> Response<Body> {
    let mut response = json(status, answer);
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// Writes an answer: status, headers, and a body that is there whole. The last answer of a connection says so.
pub(crate) fn as_bytes(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    is_last: bool,
) -> Vec<u8> {
    let mut out = LEAVING.take();
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
    if !headers.contains_key(header::CONTENT_LENGTH) && status != StatusCode::NO_CONTENT {
        write!(out, "content-length: {}\r\n", body.len()).expect("memory takes what is written");
    }
    if is_last {
        out.extend_from_slice(b"connection: close\r\n");
    }
    out.extend_from_slice(b"date: ");
    date(&mut out);
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(body);
    out
}

/// Gives back the buffer of an answer that has left.
pub(crate) fn have_left(mut out: Vec<u8>) {
    out.clear();
    out.shrink_to(SHARED_BYTES);
    LEAVING.set(out);
}

/// Writes the time of day, as text once a second.
fn date(out: &mut Vec<u8>) {
    let second = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    DATE.with_borrow_mut(|(of, text)| {
        if *of != second || text.is_empty() {
            *of = second;
            *text = HttpDate::from(UNIX_EPOCH + Duration::from_secs(second)).to_string();
        }
        out.extend_from_slice(text.as_bytes());
    });
}
