//! The eligibility check as a request meets it.

use super::problem::Problem;
use crate::app::App;
use crate::guard::eligibility::{Down, Question, Verdict};
use firstcome_api::answer::Code;
use serde_json::json;
use std::time::Duration;

impl App {
    /// Has the campaign's check decide whether a command for this subject may be written, and gives the limit to write
    /// into it, if the check says one.
    ///
    /// For every command that sets units aside or gives them. Costs a look at an empty list where there
    /// are no checks; ask from memory first, where that can be done.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing was written.
    pub(super) async fn eligible(
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
