//! Claims: won, looked up, cancelled. Their route is in `claiming`.

use crate::answer::Code;
use crate::app::App;
use crate::bearer::Bearer;
use crate::clock_text;
use crate::early::{Early, Look};
use crate::problem::{Answered, Problem, yes};
use crate::request::{self, InPath, Query};
use crate::respond::{Yes, json};
use crate::text::Text;
use axum::body::Body;
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, StatusCode};
use firstcome_api::claim::{Cancel, Cancelled, Claim, SubjectClaims, Won};
use firstcome_api::key::Role;
use firstcome_core::campaign::Campaign;
use firstcome_core::outcome::By;
use firstcome_core::pool;
use firstcome_core::{Command, Outcome, Refusal, State, Timestamp, limits};
use firstcome_node::{Answer, CommandError, Decided};
use std::borrow::Cow;
use std::sync::Arc;

/// A claim as it is asked for.
#[derive(Debug)]
pub(crate) struct ClaimAsk<'a> {
    pub(crate) campaign: Cow<'a, str>,
    pub(crate) pool: Option<Cow<'a, str>>,
    pub(crate) subject: Cow<'a, str>,
    /// The campaign's first pool where none is named: once it is decided the campaign may leave memory.
    only: Option<String>,
    /// The limit that the team's own service gave.
    limit: Option<u32>,
}

impl<'a> ClaimAsk<'a> {
    pub(crate) fn new(
        campaign: Cow<'a, str>,
        pool: Option<Cow<'a, str>>,
        subject: Cow<'a, str>,
    ) -> Self {
        Self { campaign, pool, subject, only: None, limit: None }
    }

    pub(crate) async fn prepare(
        &mut self,
        app: &App,
        bearer: &Bearer<'_>,
        look: Look,
    ) -> Result<Early, Problem> {
        let Self { campaign, pool, subject, .. } = &*self;
        let (campaign, pool, subject) = (&**campaign, pool.as_deref(), &**subject);
        app.may_act(bearer, campaign, subject)?;
        if let Some(pool) = pool {
            request::pool(campaign, pool)?;
        }
        if look.memory {
            let early = app.node.intake.claim_early(campaign, pool, subject, look.min).await;
            if let Some(answer) = early.transpose() {
                return Ok(Early::Answered(answer));
            }
        }
        self.limit = app.eligible(campaign, pool, subject).await?;
        self.note_only_pool(app);
        Ok(Early::Decide(self.limit))
    }

    /// Takes note of the campaign's first pool where none is named.
    pub(crate) fn note_only_pool(&mut self, app: &App) {
        if self.pool.is_none() {
            self.only = first_pool(app, &self.campaign);
        }
    }

    /// Returns the name of the pool of a claim that came to something.
    pub(crate) fn pool_name(&self, app: &App) -> Cow<'_, str> {
        match (&self.pool, &self.only) {
            (Some(pool), _) => (&**pool).into(),
            (None, Some(only)) => only.as_str().into(),
            (None, None) => first_pool(app, &self.campaign).unwrap_or_default().into(),
        }
    }

    /// Returns what the journal decides, once it is prepared.
    pub(crate) fn command(&self) -> Command<'_> {
        let Self { campaign, pool, subject, only: _, limit } = self;
        Command::Claim { campaign, pool: pool.as_deref(), subject, limit: *limit, tag: None }
    }

    pub(crate) fn finish(
        &self,
        app: &App,
        bearer: &Bearer<'_>,
        answer: Result<Answer, CommandError>,
    ) -> Result<Yes, Problem> {
        let Self { campaign, subject, .. } = self;
        let answer = yes(answer, campaign)
            .map_err(|problem| app.says_who_barred(problem, bearer, campaign, subject))?;
        let (status, rank, at) = if let Outcome::Won { rank, at } = answer.outcome {
            (StatusCode::CREATED, rank, at)
        } else if let Outcome::AlreadyWon { rank, at } = answer.outcome {
            (StatusCode::OK, rank, at)
        } else {
            unreachable!("a claim is not answered with {}", answer.outcome.as_str())
        };
        let pool = self.pool_name(app);
        // A claim whose code cannot be shown here was not sent.
        let code = app.node.intake.code_of(campaign, &pool, rank);
        let code = code.map_err(|missing| Problem::failed(&missing.into()))?;
        app.metrics.decided(&answer.outcome);
        let (at, position) = (clock_text::short(at), Text::<64>::of(&answer.position));
        let won = Won {
            outcome: answer.outcome.as_str().into(),
            campaign: (&**campaign).into(),
            pool,
            subject: (&**subject).into(),
            rank,
            code: code.map(Into::into),
            at: (&*at).into(),
            position: (&*position).into(),
            decided: answer.decided.as_str().into(),
        };
        Ok(Yes::new(status, &won))
    }
}

/// Returns the claims of a subject.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/claims/{subject}", tag = "claims",
    params(("campaign" = String, Path), ("subject" = String, Path),
           ("min_position" = Option<String>, Query, description = "Wait until the server is at this position")),
    responses((status = 200, body = SubjectClaims)))]
pub(crate) async fn look_up(
    Extract(app): Extract<Arc<App>>,
    path: InPath<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let (campaign, subject) = request::path(path)?;
    let bearer = app.bearer(&headers, Role::Read, &campaign)?;
    app.may_act(&bearer, &campaign, &subject)?;
    app.reach(&Query::parse(query.as_deref(), &[])?).await?;
    app.readable(&campaign)?;
    let stale = app.is_stale();
    let (claims, position) = app.node.replica.look(|state| {
        let position = state.token();
        let problem = |refusal| Problem::refused(refusal, &campaign).at(position, Decided::Replica);
        let found = state.campaign(&campaign).map_err(problem)?;
        let claims = claims_of(&app, state, found, (&subject, bearer.sees_codes()))?;
        if claims.is_empty() {
            return Err(problem(Refusal::NoSuchClaim));
        }
        Ok((claims, position))
    })?;
    let durable = app.node.intake.endures(position).await;
    let position = position.to_string();
    let answer = SubjectClaims { campaign, subject, claims, position, stale, durable };
    Ok(json(StatusCode::OK, &answer))
}

/// Returns the claims of a subject in a campaign, those that are live with their codes if the bearer sees them.
///
/// Costs about 2 µs for each live claim of a coded pool, of which there is one in each.
pub(crate) fn claims_of(
    app: &App,
    state: &State,
    campaign: &Campaign,
    (subject, sees_codes): (&str, bool),
) -> Result<Vec<Claim>, Problem> {
    let (mut claims, codes) = (Vec::new(), &app.node.intake.codes);
    let now = (state.at(), state.service());
    for (index, pool) in campaign.pools().iter().enumerate() {
        for claim in pool.claims_of(subject) {
            let mut shown = view(pool, &claim);
            let has_code = sees_codes && claim.cancel.is_none();
            let code = has_code.then(|| campaign.code_at(index, claim.rank, now)).flatten();
            if let Some(code) = code {
                let written = codes.write(state.space(), (campaign, index), code.unit);
                shown.code = Some(written.map_err(|missing| Problem::failed(&missing.into()))?);
            }
            claims.push(shown);
        }
    }
    Ok(claims)
}

/// Returns a claim of this pool, without its code.
fn view(pool: &pool::Pool, claim: &pool::Claim<'_>) -> Claim {
    let unit = pool.unit_of(claim.rank).and_then(|unit| pool.unit_name(unit));
    Claim {
        pool: pool.name().to_owned(),
        rank: claim.rank,
        unit: unit.map(str::to_owned),
        hold: pool.granted(claim.rank).map(|(_, hold)| hold.to_owned()),
        code: None,
        at: clock_text::rfc3339(claim.at),
        cancelled: claim.cancel.map(|cancel| Cancel {
            at: clock_text::rfc3339(cancel.at),
            by: cancel.by.as_str().into(),
            reason: cancel.reason.to_string(),
        }),
    }
}

/// Cancels a claim.
#[utoipa::path(delete, path = "/v1/campaigns/{campaign}/claims/{subject}", tag = "claims",
    params(("campaign" = String, Path), ("subject" = String, Path),
           ("rank" = u32, Query, description = "The rank of the claim: a repeated cancel cannot cancel a newer claim"),
           ("pool" = Option<String>, Query, description = "May be left out if the campaign has one"),
           ("by" = Option<String>, Query, description = "`subject` or `operator`; if left out, the role of the key decides"),
           ("reason" = Option<String>, Query, description = "Required if it is by the operator")),
    responses((status = 200, body = Cancelled)))]
pub(crate) async fn cancel(
    Extract(app): Extract<Arc<App>>,
    path: InPath<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let (campaign, subject): (String, String) = request::path(path)?;
    let bearer = app.bearer(&headers, Role::Backend, &campaign)?;
    let query = Query::parse(query.as_deref(), &["pool", "rank", "reason", "by"])?;
    let text = |name| query.get(name).map(Cow::from);
    let mut ask = CancelAsk {
        campaign: campaign.into(),
        subject: subject.into(),
        pool: text("pool"),
        rank: query.number("rank")?,
        by: text("by"),
        reason: text("reason").unwrap_or_default(),
        who: bearer.name(),
        decides: By::Subject,
        known: None,
    };
    let look = Look { min: query.min_position()?, memory: true };
    let answer = match ask.prepare(&app, &bearer, look).await? {
        Early::Answered(answer) => answer,
        Early::Decide(_) => app.node.intake.decide(&ask.command()?).await,
    };
    ask.finish(&app, answer).map(|yes| yes.response().map(Body::new))
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
    /// The pool, as far as it was known before: the campaign may leave memory meanwhile.
    pub(crate) known: Option<String>,
}

impl CancelAsk<'_> {
    pub(crate) async fn prepare(
        &mut self,
        app: &App,
        bearer: &Bearer<'_>,
        look: Look,
    ) -> Result<Early, Problem> {
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
        app.node.intake.reach(look.min).await.map_err(|failure| Problem::failed(&failure))?;
        match &self.pool {
            Some(pool) => request::pool(campaign, pool)?,
            // The rules find it.
            None => self.known = first_pool(app, campaign),
        }
        Ok(Early::Decide(None))
    }

    fn rank(&self) -> Result<u32, Problem> {
        let detail = "rank is required: a retried cancel must not hit a newer claim";
        self.rank.ok_or_else(|| Problem::invalid(detail))
    }

    pub(crate) fn command(&self) -> Result<Command<'_>, Problem> {
        let Self { campaign, subject, pool, reason, who, decides: by, .. } = self;
        let (rank, pool, by) = (self.rank()?, pool.as_deref(), *by);
        Ok(Command::Cancel { campaign, pool, subject, rank, by, reason, who })
    }

    pub(crate) fn finish(
        &self,
        app: &App,
        answer: Result<Answer, CommandError>,
    ) -> Result<Yes, Problem> {
        let (campaign, subject) = (&*self.campaign, &*self.subject);
        let answer = yes(answer, campaign)?;
        let (by, at) = cancelled(&answer);
        app.metrics.decided(&answer.outcome);
        let pool = self.pool.as_deref().or(self.known.as_deref()).map(str::to_owned);
        let pool = pool.or_else(|| first_pool(app, campaign)).unwrap_or_default();
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
        Ok(Yes::new(StatusCode::OK, &answer))
    }
}

fn cancelled(answer: &Answer) -> (By, Timestamp) {
    let Outcome::Cancelled { by, at } = answer.outcome else {
        unreachable!("a cancel is not answered with {}", answer.outcome.as_str())
    };
    (by, at)
}

/// Returns the name of the campaign's first pool: the only one, where a claim or a cancel without a pool came to something.
fn first_pool(app: &App, campaign: &str) -> Option<String> {
    app.node.replica.look(|state: &State| {
        let pool = state.campaign(campaign).ok()?.pools().first()?;
        Some(pool.name().to_owned())
    })
}
