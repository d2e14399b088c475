//! Which pages a browser may call this server from (CORS).

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HOST,
    ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use url::Url;

/// The origin of a page, `https://shop.example`, or `*` for every one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(HeaderValue);

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |instead: &str| {
            format!(
                "must be origins such as `https://shop.example` or `http://localhost:3000`, \
                 without a path, or `*`, not `{text}`{instead}"
            )
        };
        if text != "*" {
            // As a browser writes it: in lower case, without a port that the scheme implies, without a path.
            let origin = origin_of(text).ok_or_else(|| wrong(""))?;
            if origin != text {
                return Err(wrong(&format!(": a browser sends `{origin}`")));
            }
        }
        HeaderValue::from_str(text).map(Self).map_err(|_| wrong(""))
    }
}

/// Returns the origin of the pages at a URL, as a browser writes it into `Origin`.
fn origin_of(url: &str) -> Option<String> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let origin = url.origin().ascii_serialization();
    // A URL may have other characters in its host, `*` among them; no host on the Internet has.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]/".contains(&byte);
    origin.bytes().all(is_plain).then_some(origin)
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.to_str().unwrap_or_default())
    }
}

/// Origins that are refused and said in the log, each once. Of one more nothing is said there: anybody can make them up.
pub const ORIGINS_IN_LOG: usize = 64;
/// Bytes of an origin that is said in the log: a scheme, a host name of 253 and a port. A longer one is not said.
pub const ORIGIN_BYTES: usize = 267;

/// The origins that may call; none, and no header is written.
#[derive(Debug, Default)]
pub struct Origins {
    known: Vec<Origin>,
    /// Those that were refused and are said in the log.
    refused: Mutex<BTreeSet<Box<str>>>,
}

impl Origins {
    /// Lets pages of these origins call.
    pub fn new(known: Vec<Origin>) -> Self {
        Self { known, refused: Mutex::default() }
    }

    /// Returns the origin of the page that asks, where it is neither one of these nor this server's own.
    pub fn foreign<'a>(&self, request: &'a HeaderMap) -> Option<&'a str> {
        let origin = request.get(ORIGIN)?.to_str().ok()?;
        let known = |known: &Origin| known.0 == *origin || known.0 == *"*";
        // The pages of the server itself: a browser says their origin with every POST.
        let host = origin.split_once("://").map(|(_, host)| host.as_bytes());
        let own = host.is_some() && request.get(HOST).map(HeaderValue::as_bytes) == host;
        (!own && !self.known.iter().any(known)).then_some(origin)
    }

    /// Says whether a refusal of this origin is to be said in the log: once, and of so many.
    pub fn is_news(&self, origin: &str) -> bool {
        if origin.len() > ORIGIN_BYTES || origin != "null" && origin.parse::<Origin>().is_err() {
            return false;
        }
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.len() < ORIGINS_IN_LOG && refused.insert(origin.into())
    }

    /// Returns the origin that the answer to a request allows; none where the page is not one of these.
    ///
    /// A browser reads an answer only that allows its page's origin. It never sends a key by
    /// itself: who may not read has no token either.
    pub fn allowed(&self, request: &HeaderMap) -> Option<Allowed> {
        let origin = request.get(ORIGIN).filter(|_| !self.known.is_empty())?;
        let known = |known: &Origin| known.0 == *origin || known.0 == *"*";
        self.known.iter().find(|one| known(one)).map(|one| Allowed(one.0.clone()))
    }

    /// Writes into an answer which page may read it.
    pub fn write(&self, allowed: Option<Allowed>, headers: &mut HeaderMap) {
        if self.known.is_empty() {
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
    /// Says whether a browser only asks what a page may ask.
    pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
        method == Method::OPTIONS
            && headers.contains_key(ORIGIN)
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// Writes what may be asked, for ten minutes.
    pub fn write_preflight(headers: &mut HeaderMap) {
        let methods = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
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
            ["", "shop.example", "https://", "https://a/", "https://a/b", "https://A", "null", "**"]
        {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
        for (meant, sent) in [
            ("https://Shop.example", "https://shop.example"),
            ("https://shop.example/", "https://shop.example"),
            ("https://shop.example:443", "https://shop.example"),
            ("http://shop.example:080", "http://shop.example"),
            ("https://ann@shop.example", "https://shop.example"),
            ("https://süß.example", "https://xn--s-qfa0g.example"),
            ("https://[0:0:0:0:0:0:0:1]:1", "https://[::1]:1"),
        ] {
            let why = meant.parse::<Origin>().unwrap_err();
            assert!(why.ends_with(&format!("not `{meant}`: a browser sends `{sent}`")), "{why}");
        }
        for bad in ["ftp://shop.example", "file:///a", "https://a b", "https://*.example"] {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
        let allowed = |known: &[&str], asks: &str| {
            let origins = Origins::new(known.iter().map(|known| known.parse().unwrap()).collect());
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

    #[test]
    fn a_foreign_origin_is_news_once_and_so_many_are() {
        let origins = Origins::new(vec!["https://shop.example".parse().unwrap()]);
        let foreign = |origin: &str| {
            let mut request = HeaderMap::new();
            request.insert(ORIGIN, origin.parse().unwrap());
            request.insert(HOST, "127.0.0.1:8080".parse().unwrap());
            origins.foreign(&request).is_some()
        };
        assert!(!foreign("https://shop.example") && !foreign("http://127.0.0.1:8080"));
        assert!(foreign("https://127.0.0.1:8081") && foreign("null") && foreign("127.0.0.1:8080"));
        assert!(!origins.is_news("not an origin") && !origins.is_news(&"https://a".repeat(40)));
        assert!(origins.is_news("null") && !origins.is_news("null"));
        let said = (0..1_000).filter(|n| origins.is_news(&format!("https://o{n}.example"))).count();
        assert_eq!(said, ORIGINS_IN_LOG - 1);
    }
}
