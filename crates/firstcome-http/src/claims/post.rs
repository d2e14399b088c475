//! The route that claims a unit, and waits for units if it is told to.

use super::pool_name;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::{self, JsonReply};
use crate::app::App;
use crate::asks::{self, Ask, Known, ReadOptions};
use crate::clock_text::{self, Text};
use crate::holds;
use crate::request::bearer::Bearer;
use crate::request::call::Call;
use crate::request::{self, Query};
use crate::waitlist::join::{self, Wanted};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode};
use firstcome_api::claim::{ClaimRequest, Won};
use firstcome_api::hidden::Hidden;
use firstcome_api::key::Role;
use firstcome_api::waitlist::{ClaimBefore, Waitlisted};
use firstcome_core::names::Position;
use firstcome_core::{Command, Outcome};
use firstcome_node::Answer;
use std::borrow::Cow;
use std::sync::Arc;

/// Claims a unit.
///
/// With `wait` the subject joins the waitlist if what it wants is not free.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/claims", tag = "claims", operation_id = "claim",
    request_body = ClaimRequest,
    responses((status = 201, body = Won),
              (status = 200, description = "already_won; of a claim that waits, offered", body = ClaimBefore),
              (status = 202, body = Waitlisted)))]
pub(crate) async fn claim(call: Call<String>, body: Body) -> HandlerResult {
    let Call { app, path: campaign, query, headers, .. } = &call;
    let reply = answer(app, campaign, query.as_deref(), headers, body).await?;
    Ok(reply.response(HeaderMap::new()).map(Body::new))
}

/// Answers a claim; the accept loop comes here straight away.
pub(crate) async fn answer<B>(
    app: &App,
    campaign: &str,
    query: Option<&str>,
    headers: &HeaderMap,
    body: B,
) -> Result<JsonReply, Problem>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let bearer = app.bearer(headers, Role::Backend, campaign)?;
    let bytes = request::body(&app.options, headers, body).await?;
    let (ask, min) = read(&bearer, campaign, query, &bytes)?;
    asks::run(ask, app, &bearer, min).await
}

/// Reads what is asked, and the position that this server is to be at.
fn read<'a>(
    bearer: &Bearer,
    campaign: &'a str,
    query: Option<&str>,
    body: &'a [u8],
) -> Result<(ClaimAsk<'a>, Option<Position>), Problem> {
    let mut asked: ClaimRequest<'_> = request::json(body)?;
    let subject = bearer.subject(asked.subject.take())?;
    let min = Query::parse(query, &[])?.min_position()?;
    let wanted = Wanted::of(&mut asked)?;
    Ok((ClaimAsk::new(campaign.into(), asked.pool, subject, wanted), min))
}

/// A claim as it is asked for.
#[derive(Debug)]
pub(crate) struct ClaimAsk<'a> {
    campaign: Cow<'a, str>,
    pool: Option<Cow<'a, str>>,
    subject: Cow<'a, str>,
    /// What it waits for, if it waits.
    wanted: Option<Wanted<'a>>,
    /// The limit that the team's own service gave.
    limit: Option<u32>,
    /// The name of the campaign's first pool, where none is named and it was known before the journal was asked.
    first_pool: Option<Arc<str>>,
}

impl<'a> ClaimAsk<'a> {
    pub(crate) fn new(
        campaign: Cow<'a, str>,
        pool: Option<Cow<'a, str>>,
        subject: Cow<'a, str>,
        wanted: Option<Wanted<'a>>,
    ) -> Self {
        Self { campaign, pool, subject, wanted, limit: None, first_pool: None }
    }

    /// Returns the claim itself, which does not wait.
    fn claim(&self, limit: Option<u32>) -> Command<'_> {
        let Self { campaign, pool, subject, .. } = self;
        Command::Claim { campaign, pool: pool.as_deref(), subject, limit, tag: None }
    }
}

impl Ask for ClaimAsk<'_> {
    fn whose(&self) -> (&str, &str) {
        (&self.campaign, &self.subject)
    }

    async fn check(
        &mut self,
        app: &App,
        bearer: &Bearer,
        options: ReadOptions,
    ) -> Result<Known, Problem> {
        let (campaign, pool, subject) = (&*self.campaign, self.pool.as_deref(), &*self.subject);
        app.may_act(bearer, campaign, subject)?;
        if let Some(pool) = pool {
            request::pool(campaign, pool)?;
        }
        let intake = &app.node.intake;
        if self.wanted.is_some() {
            // The journal decides every claim that waits: a place is read, not asked for.
            intake.reach(options.min).await.map_err(|failure| Problem::failed(&failure))?;
        } else if options.memory {
            let early = intake.claim_early(campaign, pool, subject, options.min).await;
            if let Some(answer) = early.transpose() {
                return Ok(Some(answer));
            }
        }
        self.limit = app.eligible(campaign, pool, subject).await?;
        if self.wanted.is_some() {
            // Whoever cannot show a code offers none.
            let shows = join::codes_of_pool(app, campaign, (pool, subject)).map(|_| ());
            shows.map_err(|missing| Problem::failed(&missing.into()))?;
        }
        Ok(None)
    }

    fn command(&self) -> Result<Command<'_>, Problem> {
        let Some(wanted) = &self.wanted else { return Ok(self.claim(self.limit)) };
        let Self { campaign, pool, subject, limit, .. } = self;
        let (pool, wish) = (pool.as_deref(), wanted.wish());
        Ok(Command::Join { campaign, pool, subject, wish, limit: *limit })
    }

    fn take_first_pool(&mut self, name: Option<Arc<str>>) {
        self.first_pool = name;
    }

    /// Who asked for a claim and was offered a code takes it. Only a claim has the tag that a code is made with, so this is a
    /// second command.
    fn taking(&self, app: &App, answer: &Answer) -> Option<Command<'_>> {
        let Self { campaign, pool, subject, .. } = self;
        let is_offer = matches!(answer.outcome, Outcome::Offered(_));
        let has_codes =
            || join::codes_of_pool(app, campaign, (pool.as_deref(), subject)).unwrap_or(false);
        (is_offer && has_codes()).then(|| self.claim(None))
    }

    fn write_yes(&self, app: &App, answer: &Answer, out: &mut Vec<u8>) -> Result<u16, Problem> {
        let (campaign, subject) = (&*self.campaign, &*self.subject);
        if let Outcome::Offered(_) = answer.outcome {
            return holds::answer::of_hold(app, answer, (campaign, subject), out);
        }
        if let Outcome::Waitlisted { ahead, quantity, passed_over } = answer.outcome {
            let waitlisted = Waitlisted {
                outcome: answer.outcome.as_str().into(),
                campaign: campaign.into(),
                pool: self.pool_name(app, 0),
                subject: subject.into(),
                ahead,
                quantity,
                passed_over,
                offers_not_taken: join::offers_not_taken(
                    app,
                    campaign,
                    (self.pool.as_deref(), subject),
                ),
                position: answer.position.to_string().into(),
                decided: answer.decided.as_str().into(),
            };
            respond::write(&waitlisted, out);
            return Ok(StatusCode::ACCEPTED.as_u16());
        }
        self.write_won(app, answer, out)
    }
}

impl ClaimAsk<'_> {
    fn write_won(&self, app: &App, answer: &Answer, out: &mut Vec<u8>) -> Result<u16, Problem> {
        let (status, rank, at, pool, code) =
            if let Outcome::Won { rank, at, pool, code } = answer.outcome {
                (StatusCode::CREATED, rank, at, pool, code)
            } else if let Outcome::AlreadyWon { rank, at, pool, code } = answer.outcome {
                (StatusCode::OK, rank, at, pool, code)
            } else {
                unreachable!("a claim is not answered with {}", answer.outcome.as_str())
            };
        let whose = (&*self.campaign, &*self.subject);
        let write = |code| app.node.intake.write_code(whose, pool, code);
        // A claim whose code cannot be shown here was not sent.
        let code = code.map_or(Ok(None), write);
        let code = code.map_err(|missing| Problem::failed(&missing.into()))?;
        let (at, position) = (clock_text::short(at), Text::<64>::of(&answer.position));
        let won = Won {
            outcome: answer.outcome.as_str().into(),
            campaign: (&*self.campaign).into(),
            pool: self.pool_name(app, pool),
            subject: (&*self.subject).into(),
            rank,
            code: code.map(|code| Hidden(code.into())),
            at: (&*at).into(),
            position: (&*position).into(),
            decided: answer.decided.as_str().into(),
        };
        respond::write(&won, out);
        Ok(status.as_u16())
    }

    /// Returns the name of the pool of a claim that came to something.
    fn pool_name(&self, app: &App, index: u16) -> Cow<'_, str> {
        match (&self.pool, &self.first_pool) {
            (Some(pool), _) => (&**pool).into(),
            (None, Some(first)) => (&**first).into(),
            (None, None) => {
                pool_name(app, &self.campaign, index).map(String::from).unwrap_or_default().into()
            }
        }
    }
}
