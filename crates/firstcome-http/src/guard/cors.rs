//! Which pages a browser may call this server from (CORS).

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method};
use std::fmt;
use std::str::FromStr;

/// The origin of a page, `https://shop.example`, or `*` for every one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(HeaderValue);

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "must be origins such as `https://shop.example` or `http://localhost:3000`, \
                 without a path, or `*`, not `{text}`"
            )
        };
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let plain = |host: &str| {
            let letters = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.:[]_".contains(&byte)
            };
            !host.is_empty() && host.bytes().all(letters)
        };
        if text != "*" && !host.is_some_and(plain) {
            return Err(wrong());
        }
        HeaderValue::from_str(text).map(Self).map_err(|_| wrong())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.to_str().unwrap_or_default())
    }
}

/// The origins that may call; none, and no header is written.
#[derive(Clone, Debug, Default)]
pub struct Origins(pub Vec<Origin>);

impl Origins {
    /// Gives the origin that the answer to a request allows; none where the page is not one of these.
    ///
    /// A browser reads an answer only that allows its page's origin. It never sends a key by
    /// itself: who may not read has no token either.
    pub fn allowed(&self, request: &HeaderMap) -> Option<Allowed> {
        let origin = request.get(ORIGIN).filter(|_| !self.0.is_empty())?;
        let known = |known: &Origin| known.0 == *origin || known.0 == *"*";
        self.0.iter().find(|one| known(one)).map(|one| Allowed(one.0.clone()))
    }

    /// Writes into an answer which page may read it.
    pub fn write(&self, allowed: Option<Allowed>, headers: &mut HeaderMap) {
        if self.0.is_empty() {
            return;
        }
        // Also where no origin is allowed: a cache must not give that answer to a page that is.
        headers.append(VARY, HeaderValue::from_static("origin"));
        if let Some(Allowed(origin)) = allowed {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            let exposed = "etag, firstcome-durable, firstcome-next, retry-after, x-request-id";
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
        }
    }
}

/// The origin that an answer allows to read it.
#[derive(Debug)]
pub struct Allowed(HeaderValue);

impl Allowed {
    /// Says whether a request only asks what may be asked.
    pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
        method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// Writes what may be asked, for ten minutes.
    pub fn write_preflight(headers: &mut HeaderMap) {
        let methods = HeaderValue::from_static("GET, POST, PUT, DELETE");
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        let asked = "authorization, content-type, idempotency-key, if-match, if-none-match, \
             last-event-id, traceparent, x-request-id";
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(asked));
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_origins_that_are_named_are_allowed() {
        for good in ["https://shop.example", "http://localhost:3000", "https://[::1]:1", "*"] {
            assert_eq!(good.parse::<Origin>().unwrap().to_string(), good);
        }
        for bad in
            ["", "shop.example", "https://", "https://a/", "https://a/b", "https://A", "null"]
        {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
        let allowed = |known: &[&str], asks: &str| {
            let origins = Origins(known.iter().map(|known| known.parse().unwrap()).collect());
            let mut request = HeaderMap::new();
            request.insert(ORIGIN, asks.parse().unwrap());
            let mut answer = HeaderMap::new();
            origins.write(origins.allowed(&request), &mut answer);
            let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
            (answer.get(ACCESS_CONTROL_ALLOW_ORIGIN).map(text), answer.get(VARY).map(text))
        };
        let some = |text: &str| Some(text.to_owned());
        let (shop, other) = ("https://shop.example", "https://shop.example.evil");
        assert_eq!(allowed(&[], shop), (None, None));
        assert_eq!(allowed(&[shop], shop), (some(shop), some("origin")));
        assert_eq!(allowed(&[shop], other), (None, some("origin")));
        assert_eq!(allowed(&["*"], other), (some("*"), some("origin")));
    }
}
