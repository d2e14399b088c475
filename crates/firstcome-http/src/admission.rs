//! Checks of a request before its command is written: rate limits and eligibility.

use crate::app::App;
use crate::guard::eligibility::{Down, Question, Verdict};
use crate::problem::Problem;
use axum::http::HeaderMap;
use firstcome_api::answer::Code;
use serde_json::json;
use std::net::IpAddr;
use std::time::Duration;

/// Paths of those who monitor the server: their requests are never too many.
const MONITORED: [&str; 3] = ["/livez", "/readyz", "/metrics"];

impl App {
    /// Refuses a request from an address that asks too often.
    ///
    /// Costs a look at one pointer where addresses are not limited.
    pub(crate) fn check_address_rate(
        &self,
        peer: IpAddr,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(), Problem> {
        let Some(limiter) = &self.guards.addresses else {
            return Ok(());
        };
        if MONITORED.contains(&path) {
            return Ok(());
        }
        let address = self.guards.proxies.origin(peer, headers);
        let checked = match address {
            IpAddr::V4(v4) => limiter.check(&u64::from(u32::from(v4))),
            // A caller that has one address of a /64 has all of them: they share one key.
            IpAddr::V6(v6) => limiter.check(&(u128::from(v6) | u128::from(u64::MAX))),
        };
        checked.map_err(|wait| {
            let who = format_args!("address {address}");
            Problem::too_many(who, "address", limiter.rate(), wait)
        })
    }

    /// Refuses a request about a subject that is asked about too often.
    pub(crate) fn check_subject_rate(&self, subject: &str) -> Result<(), Problem> {
        let Some(limiter) = &self.guards.subjects else {
            return Ok(());
        };
        limiter.check(subject).map_err(|wait| {
            let who = format_args!("subject {subject:?}");
            Problem::too_many(who, "subject", limiter.rate(), wait)
        })
    }

    /// Asks the campaign's check whether a command for this subject may be written, and gives the limit to write into
    /// it, if the check says one.
    ///
    /// For every command that sets units aside or gives them. Costs a look at an empty list where there
    /// are no checks; ask from memory first, where that can be done.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing was written.
    pub(crate) async fn eligible(
        &self,
        campaign: &str,
        pool: Option<&str>,
        subject: &str,
    ) -> Result<Option<u32>, Problem> {
        let Some(check) = self.guards.checks.of(campaign) else {
            return Ok(None);
        };
        match check.decide(Question { campaign, pool, subject }).await {
            Verdict::Admitted(limit) => Ok(limit),
            Verdict::NotEligible(reason) => {
                let detail = match &reason {
                    Some(reason) => format!("the campaign's own check says no: {reason}"),
                    None => "the campaign's own check says no".to_owned(),
                };
                let problem = Problem::new(Code::NotEligible, detail);
                let problem = problem.with("campaign", json!(campaign));
                Err(match reason {
                    Some(reason) => problem.with("reason", json!(&*reason)),
                    None => problem,
                })
            }
            Verdict::Unknown(down) => {
                let wait = match &down {
                    Down::Open(wait) => *wait,
                    Down::Full | Down::Slow | Down::Unreachable(_) | Down::Wrong(_) => {
                        Duration::from_secs(1)
                    }
                };
                let detail = format!(
                    "whether this subject may is not known: the campaign's own check was asked and {down}; \
                     nothing changed"
                );
                let problem = Problem::new(Code::EligibilityUnknown, detail).after(wait);
                Err(problem.with("campaign", json!(campaign)))
            }
        }
    }
}
