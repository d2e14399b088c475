//! The guards as a request meets them: who asks too often is told so.

use super::problem::Problem;
use crate::app::App;
use crate::guard::rate::Rate;
use axum::http::HeaderMap;
use firstcome_api::answer::Code;
use serde_json::json;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// Paths of those who watch the server, not of those who use it: their requests are never too many.
const WATCHED: [&str; 3] = ["/livez", "/readyz", "/metrics"];

impl App {
    /// Lets a request from this peer in, unless its address asks too often.
    ///
    /// Costs a look at one pointer where addresses are not limited.
    pub(super) fn paced_address(
        &self,
        peer: IpAddr,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(), Problem> {
        let Some(limiter) = &self.guards.addresses else {
            return Ok(());
        };
        if WATCHED.contains(&path) {
            return Ok(());
        }
        let address = self.guards.proxies.origin(peer, headers);
        let checked = match address {
            IpAddr::V4(v4) => limiter.check(&u64::from(u32::from(v4))),
            // Whoever has one address of a /64 has all of them. The low half marks these keys.
            IpAddr::V6(v6) => limiter.check(&(u128::from(v6) | u128::from(u64::MAX))),
        };
        checked.map_err(|wait| {
            too_many(format_args!("address {address}"), "address", limiter.rate(), wait)
        })
    }

    /// Lets a request about this subject in, unless there are too many.
    pub(super) fn paced_subject(&self, subject: &str) -> Result<(), Problem> {
        let Some(limiter) = &self.guards.subjects else {
            return Ok(());
        };
        limiter.check(subject).map_err(|wait| {
            too_many(format_args!("subject {subject:?}"), "subject", limiter.rate(), wait)
        })
    }
}

/// Says who asks too often, by which limit, and when to ask again.
pub(super) fn too_many(
    who: fmt::Arguments<'_>,
    limit: &'static str,
    rate: Rate,
    wait: Duration,
) -> Problem {
    let detail = format!("{who} may ask {rate} (rate_{limit}); nothing changed");
    let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    Problem::new(Code::TooManyRequests, detail)
        .after(wait)
        .with("limit", json!(limit))
        .with("retry_after_ms", json!(millis))
}
