//! Checks of a request before its command is written: rate limits and eligibility.

use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::app::App;
use crate::guard::eligibility::{Down, Question, Verdict};
use crate::server::serves::OPERATIONS;
use crate::server::slots::network;
use serde_json::json;
use std::net::IpAddr;
use std::time::Duration;

impl App {
    /// Refuses a request from an address that asks too often.
    ///
    /// Costs a look at one pointer where addresses are not limited.
    pub(crate) fn check_address_rate(&self, address: IpAddr, path: &str) -> Result<(), Problem> {
        let Some(limiter) = &self.guards.addresses else {
            return Ok(());
        };
        if OPERATIONS.contains(&path) {
            return Ok(());
        }
        limiter.check(&network(address)).map_err(|wait| {
            let who = format_args!("address {address}");
            Problem::too_many(who, "address", limiter.rate(), wait)
        })
    }

    /// Counts a request of an address that came with a key or a token nobody gave out, or asked for a hold that is not
    /// its own; refuses to say so where there are too many of them.
    ///
    /// Whoever shows a good key, and asks for what is its own, never waits for this.
    pub(crate) fn check_misses(&self, address: IpAddr) -> Result<(), Problem> {
        let Some(limiter) = &self.guards.misses else {
            return Ok(());
        };
        limiter.check(&network(address)).map_err(|wait| {
            let rate = limiter.rate();
            let detail = format!(
                "address {address} may try {rate} keys, tokens and hold ids that are not known; nothing changed"
            );
            Problem::new(Code::TooManyRequests, detail).after(wait).with("limit", json!("misses"))
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
