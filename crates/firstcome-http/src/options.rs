//! The settings of the HTTP server.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};
use std::net::IpAddr;
use std::time::Duration;

/// The settings of the HTTP server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections that may be open.
    pub connections: usize,
    /// Bytes a request body may have.
    pub body_bytes: usize,
    /// How long a request's head may take, from the first byte waited for.
    pub header_time: Duration,
    /// How long a request's body may take.
    pub body_time: Duration,
    /// How long a connection may be idle between requests.
    pub idle_time: Duration,
    /// How long a hold may wait at most for seats that somebody has.
    pub hold_wait: Duration,
    /// Who reads `/metrics` without a key.
    pub metrics_without_key: WithoutKey,
    /// What an answer that left is safe against, in a sentence.
    pub durability: String,
}

/// Who needs no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutKey {
    /// Nobody.
    Nobody,
    /// Programs on this machine: requests with a `Host` of loopback that no proxy has forwarded.
    ThisMachine,
    /// Everybody.
    Everybody,
}

impl WithoutKey {
    /// Says whether a request needs no key, on a server that can be reached over loopback only.
    pub(crate) fn is_enough(self, headers: &HeaderMap) -> bool {
        match self {
            Self::Nobody => false,
            Self::ThisMachine => !is_forwarded(headers) && names_loopback(headers),
            Self::Everybody => true,
        }
    }
}

/// Says whether a proxy has forwarded a request: then it comes from anywhere.
fn is_forwarded(headers: &HeaderMap) -> bool {
    ["forwarded", "x-forwarded-for", "x-real-ip"].iter().any(|name| headers.contains_key(*name))
}

/// Says whether a request is for this machine by its `Host`.
///
/// A page of another origin whose name leads to loopback (DNS rebinding) brings that name.
fn names_loopback(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else {
        return false;
    };
    let authority = host.parse::<Authority>();
    let host = authority.as_ref().map_or("", |authority| authority.host());
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn this_machine_is_who_names_it_and_comes_through_no_proxy() {
        let ask = |headers: &[(&'static str, &'static str)]| {
            let pairs = headers.iter().map(|(name, value)| {
                (header::HeaderName::from_static(name), HeaderValue::from_static(value))
            });
            WithoutKey::ThisMachine.is_enough(&pairs.collect())
        };
        for host in ["localhost", "LocalHost:8080", "127.0.0.1:8080", "127.1.2.3", "[::1]:8080"] {
            assert!(ask(&[("host", host)]), "{host}");
            for header in ["forwarded", "x-forwarded-for", "x-real-ip"] {
                assert!(!ask(&[("host", host), (header, "")]), "{header}");
            }
        }
        let others = ["", "shop.example", "localhost.evil.example", "127.0.0.1.nip.io", "10.0.0.1"];
        for host in others.into_iter().chain(["evil@localhost.example", "[::2]:80"]) {
            assert!(!ask(&[("host", host)]), "{host}");
        }
        assert!(!ask(&[]));
        assert!(WithoutKey::Everybody.is_enough(&HeaderMap::new()));
    }
}
