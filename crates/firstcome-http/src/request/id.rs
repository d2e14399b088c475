//! The id of a request: the caller's own, that of its trace, or a new one. It is given back in the answer.

use crate::answer::respond;
use crate::clock_text::Text;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::fmt;

/// The header that an id comes in and goes out with.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The header of W3C Trace Context.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// Characters of a caller's id: 1 to this many.
const LONGEST: usize = 128;

/// The id of a request, whose characters are safe in a log line and in a header.
#[derive(Clone, Debug)]
pub(crate) enum RequestId {
    /// The caller's, or its trace's.
    Given(HeaderValue),
    /// A new one; it is written in hexadecimal digits.
    New(u64),
}

impl RequestId {
    /// Takes the caller's id if it is well-formed, else the trace id of a well-formed `traceparent`, else makes one.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        if let Some(id) = headers.get(X_REQUEST_ID).filter(|id| is_safe(id.as_bytes())) {
            return Self::Given(id.clone());
        }
        let trace = headers.get(TRACEPARENT).and_then(|parent| trace_id(parent.as_bytes()));
        if let Some(id) = trace.and_then(|id| HeaderValue::from_bytes(id).ok()) {
            return Self::Given(id);
        }
        Self::New(fastrand::u64(..))
    }

    /// Writes it into an answer.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        let value = match self {
            Self::Given(id) => id.clone(),
            Self::New(_) => {
                let text = Text::<16>::of(self);
                let bytes = respond::beside_neighbours(text.as_bytes());
                HeaderValue::from_maybe_shared(bytes).expect("hexadecimal digits stand in a header")
            }
        };
        headers.insert(X_REQUEST_ID, value);
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(id) => f.write_str(id.to_str().unwrap_or_default()),
            Self::New(number) => write!(f, "{number:016x}"),
        }
    }
}

fn is_safe(id: &[u8]) -> bool {
    let safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(byte);
    (1..=LONGEST).contains(&id.len()) && id.iter().all(safe)
}

/// Returns the trace id of `00-<32 digits>-<16 digits>-<2 digits>`, digits being hexadecimal in lower case.
///
/// Later versions may have more behind that. <https://www.w3.org/TR/trace-context/#traceparent-header>
fn trace_id(parent: &[u8]) -> Option<&[u8]> {
    let mut parts = parent.split(|byte| *byte == b'-');
    let mut digits = |count: usize| {
        let hexadecimal = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        parts.next().filter(|part| part.len() == count && part.iter().all(hexadecimal))
    };
    let version = digits(2)?;
    let (trace, span, _flags) = (digits(32)?, digits(16)?, digits(2)?);
    let is_zero = |part: &[u8]| part.iter().all(|byte| *byte == b'0');
    let is_whole = version != b"00" || parts.next().is_none();
    (version != b"ff" && is_whole && !is_zero(trace) && !is_zero(span)).then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(headers: &[(&str, &str)]) -> String {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            map.insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        RequestId::of(&map).to_string()
    }

    fn is_minted(id: &str) -> bool {
        id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    #[test]
    fn a_well_formed_id_is_taken_and_anything_else_is_not() {
        let longest = "a".repeat(128);
        for good in ["a", "3f0c-11.X_y:z/1+2=", &longest] {
            assert_eq!(id(&[("x-request-id", good)]), good);
        }
        let too_long = "a".repeat(129);
        for bad in ["", " ", "a b", "a\"b", "a\\nb", "<a>", "é", &too_long] {
            assert!(is_minted(&id(&[("x-request-id", bad)])), "{bad}");
        }
        assert!(is_minted(&id(&[])));
        assert_ne!(id(&[]), id(&[]));
    }

    #[test]
    fn a_trace_gives_its_id_where_the_caller_gives_none() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let parent =
            |version: &str, rest: &str| format!("{version}-{trace}-00f067aa0ba902b7-{rest}");
        for good in [parent("00", "01"), parent("cc", "01"), parent("cc", "01-more")] {
            assert_eq!(id(&[("traceparent", &good)]), trace);
            assert_eq!(id(&[("traceparent", &good), ("x-request-id", "mine")]), "mine");
            assert_eq!(id(&[("traceparent", &good), ("x-request-id", "not mine")]), trace);
        }
        let zero = "00-00000000000000000000000000000000-00f067aa0ba902b7-01";
        let upper = parent("00", "01").to_uppercase();
        for bad in [&parent("ff", "01"), &parent("00", "1"), &parent("00", "01-more"), zero, &upper]
        {
            assert!(is_minted(&id(&[("traceparent", bad)])), "{bad}");
        }
    }
}
