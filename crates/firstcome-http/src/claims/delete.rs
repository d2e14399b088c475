//! The route that cancels a claim.

use super::pool_name;
use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond;
use crate::app::App;
use crate::asks::{self, Ask, Known, ReadOptions};
use crate::clock_text;
use crate::request;
use crate::request::bearer::Bearer;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use firstcome_api::claim::Cancelled;
use firstcome_api::key::Role;
use firstcome_core::outcome::By;
use firstcome_core::{Command, Outcome, State, Timestamp, limits};
use firstcome_node::Answer;
use std::borrow::Cow;
use std::sync::Arc;

/// Cancels a claim.
#[utoipa::path(delete, path = "/v1/campaigns/{campaign}/claims/{subject}", tag = "claims", operation_id = "cancel_claim",
    params(("rank" = u32, Query, description = "The rank of the claim: a repeated cancel cannot cancel a newer claim"),
           ("pool" = Option<String>, Query, description = "May be left out if the campaign has one"),
           ("by" = Option<String>, Query, description = "`subject` or `operator`; if left out, the role of the key decides"),
           ("reason" = Option<String>, Query, description = "Required if it is by the operator")),
    responses((status = "2XX", body = Cancelled)))]
pub(crate) async fn cancel(call: Call<(String, String)>) -> HandlerResult {
    let Call { app, path: (campaign, subject), headers, .. } = &call;
    let bearer = app.bearer(headers, Role::Backend, campaign)?;
    let query = call.query(&["pool", "rank", "reason", "by"])?;
    let text = |name| query.get(name).map(Cow::from);
    let ask = CancelAsk {
        campaign: campaign.into(),
        subject: subject.into(),
        pool: text("pool"),
        rank: query.number("rank")?,
        by: text("by"),
        reason: text("reason").unwrap_or_default(),
        who: bearer.name(),
        decides: By::Subject,
        first_pool: None,
    };
    let reply = asks::run(ask, app, &bearer, query.min_position()?).await?;
    Ok(reply.response(HeaderMap::new()).map(Body::new))
}

/// A cancel as it is asked for.
#[derive(Debug)]
pub(crate) struct CancelAsk<'a> {
    pub(crate) campaign: Cow<'a, str>,
    pub(crate) subject: Cow<'a, str>,
    pub(crate) pool: Option<Cow<'a, str>>,
    pub(crate) rank: Option<u32>,
    pub(crate) by: Option<Cow<'a, str>>,
    pub(crate) reason: Cow<'a, str>,
    pub(crate) who: Box<str>,
    /// On whose word it is done, once it is prepared.
    pub(crate) decides: By,
    /// The name of the campaign's first pool, where none is named and it was known before the journal was asked.
    pub(crate) first_pool: Option<Arc<str>>,
}

impl Ask for CancelAsk<'_> {
    fn whose(&self) -> (&str, &str) {
        (&self.campaign, &self.subject)
    }

    async fn check(
        &mut self,
        app: &App,
        bearer: &Bearer,
        options: ReadOptions,
    ) -> Result<Known, Problem> {
        let campaign = &*self.campaign;
        app.may_act(bearer, campaign, &self.subject)?;
        bearer.may_cancel()?;
        self.decides = match self.by.as_deref() {
            None if bearer.is_operator() => By::Operator,
            None | Some("subject") => By::Subject,
            Some("operator") if bearer.is_operator() => By::Operator,
            Some("operator") => {
                let detail = format!("{} may cancel on the subject's word only", bearer.shown());
                return Err(Problem::new(Code::Forbidden, detail));
            }
            Some(other) => {
                return Err(Problem::invalid(format!("by={other}: it is subject or operator")));
            }
        };
        let reason = &*self.reason;
        if self.decides == By::Operator && reason.is_empty() {
            let detail = "an operator gives a reason: add `reason`, or `by` with subject";
            return Err(Problem::invalid(detail));
        }
        let most = limits::REASON_BYTES;
        if reason.len() > most || firstcome_core::names::check_text(reason).is_err() {
            let detail = format!("the reason has more than {most} bytes or control characters");
            return Err(Problem::invalid(detail));
        }
        self.rank()?;
        app.node.intake.reach(options.min).await.map_err(|failure| Problem::failed(&failure))?;
        if let Some(pool) = &self.pool {
            request::pool(campaign, pool)?;
        }
        Ok(None)
    }

    fn take_first_pool(&mut self, name: Option<Arc<str>>) {
        self.first_pool = name;
    }

    fn command(&self) -> Result<Command<'_>, Problem> {
        let Self { campaign, subject, pool, reason, who, decides: by, .. } = self;
        let (rank, pool, by) = (self.rank()?, pool.as_deref(), *by);
        Ok(Command::Cancel { campaign, pool, subject, rank, by, reason, who })
    }

    fn write_yes(&self, app: &App, answer: &Answer, out: &mut Vec<u8>) -> Result<u16, Problem> {
        let (campaign, subject) = (&*self.campaign, &*self.subject);
        let (by, at) = cancelled(answer);
        let pool = self.pool.as_deref().or(self.first_pool.as_deref()).map(str::to_owned);
        // The rules take a cancel without a pool only where there is one.
        let pool = pool.or_else(|| pool_name(app, campaign, 0).map(Into::into)).unwrap_or_default();
        let kept_out = app.node.replica.look(|state: &State| {
            state.campaign(campaign).is_ok_and(|found| found.keeps_out(subject))
        });
        let answer = Cancelled {
            outcome: answer.outcome.as_str().into(),
            campaign: campaign.to_owned(),
            pool,
            subject: subject.to_owned(),
            rank: self.rank()?,
            by: by.as_str().into(),
            at: clock_text::rfc3339(at),
            kept_out,
            position: answer.position.to_string(),
            decided: answer.decided.as_str().into(),
        };
        respond::write(&answer, out);
        Ok(StatusCode::OK.as_u16())
    }
}

impl CancelAsk<'_> {
    fn rank(&self) -> Result<u32, Problem> {
        let detail = "rank is required: a retried cancel must not hit a newer claim";
        self.rank.ok_or_else(|| Problem::invalid(detail))
    }
}

fn cancelled(answer: &Answer) -> (By, Timestamp) {
    let Outcome::Cancelled { by, at } = answer.outcome else {
        unreachable!("a cancel is not answered with {}", answer.outcome.as_str())
    };
    (by, at)
}
