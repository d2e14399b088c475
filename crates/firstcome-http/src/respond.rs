//! Responses with a body of JSON.

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use serde::Serialize;

/// Writes an answer as JSON, into a buffer that is large enough for most answers.
pub(crate) fn written(answer: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(384);
    serde_json::to_writer(&mut bytes, answer).expect("what we answer can be written as JSON");
    bytes
}

/// A yes, ready to leave: as the answer of a route, or as a line of many.
#[derive(Debug)]
pub(crate) struct Yes {
    pub(crate) status: StatusCode,
    /// The document, a JSON object.
    pub(crate) document: Vec<u8>,
}

impl Yes {
    pub(crate) fn new(status: StatusCode, answer: &impl Serialize) -> Self {
        Self { status, document: written(answer) }
    }

    pub(crate) fn response(self) -> Response<Full<Bytes>> {
        full(self.status, "application/json", self.document)
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
