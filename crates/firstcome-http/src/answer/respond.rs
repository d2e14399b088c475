//! Responses with a body of JSON.

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use serde::Serialize;

/// Bytes that are enough for most answers.
const ANSWER_BYTES: usize = 384;

/// Writes an answer as JSON into a buffer.
pub(crate) fn write(answer: &impl Serialize, out: &mut Vec<u8>) {
    out.reserve(ANSWER_BYTES);
    serde_json::to_writer(out, answer).expect("what we answer can be written as JSON");
}

/// Returns an answer as JSON.
pub(crate) fn written(answer: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(answer, &mut bytes);
    bytes
}

/// The answer of a command: its status, and its document, a JSON object.
#[derive(Debug)]
pub(crate) struct JsonReply {
    pub(crate) status: u16,
    pub(crate) document: Vec<u8>,
}

impl JsonReply {
    pub(crate) fn response(self) -> Response<Full<Bytes>> {
        let status = StatusCode::from_u16(self.status).expect("what is written has a status");
        full(status, "application/json", self.document)
    }
}

/// Makes a response of bytes.
pub(crate) fn full(
    status: StatusCode,
    kind: &'static str,
    bytes: Vec<u8>,
) -> Response<Full<Bytes>> {
    // Of its exact length, so that `Bytes` needs no count of references beside it.
    let mut response = Response::new(Full::new(Bytes::from(bytes.into_boxed_slice())));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Makes a response of JSON.
pub(crate) fn json(status: StatusCode, answer: &impl Serialize) -> Response<Body> {
    full(status, "application/json", written(answer)).map(Body::new)
}

/// Makes a response of JSON whose `ETag` is a campaign's version.
pub(crate) fn tagged(status: StatusCode, version: u32, answer: &impl Serialize) -> Response<Body> {
    let mut response = json(status, answer);
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
