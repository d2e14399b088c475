//! A command on its way through the server: three steps, the same for each command and each kind of connection.
//!
//! [`prepare`] checks what is asked and answers it from memory where that can be done; [`decide`] has the journal decide the
//! rest; [`write()`] writes the answer into a buffer. None of them knows how a request came in or how its answer leaves: a
//! route takes all three with [`run`], and the lines of a bulk request take each of them in its turn.

use crate::answer::problem::Problem;
use crate::answer::respond::JsonReply;
use crate::app::App;
use crate::request::bearer::Bearer;
use axum::http::StatusCode;
use firstcome_core::command::Encoded;
use firstcome_core::names::Position;
use firstcome_core::{Command, Outcome};
use firstcome_node::intake::{Ready, lacked_its_tag};
use firstcome_node::{Answer, CommandError};
use std::sync::Arc;
use std::time::Duration;

/// How the state is read before the journal is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOptions {
    /// The position that this server's state is to be at.
    pub(crate) min: Option<Position>,
    /// Whether memory may answer it: not where an earlier command of the same caller may still change that answer.
    pub(crate) memory: bool,
}

/// What becomes of a command once it is prepared.
///
/// A connection that cannot wait polls [`prepare`] once: where that is pending, something has to be waited for as well, such
/// as the team's own service or a position.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// It is answered without the journal.
    Answered(Result<Answer, CommandError>),
    /// The journal decides it, in these bytes.
    Undecided(Encoded),
    /// It waits until units come free, and is encoded then.
    Waits,
}

/// Why a second command follows the first one of a caller.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Second {
    /// The claim lacked the tag of its code, which this server can make by now.
    WithTag,
    /// The subject was offered a code, and a claim takes it.
    TakesOffer,
}

/// What is known without the journal: an answer, or nothing.
pub(crate) type Known = Option<Result<Answer, CommandError>>;

/// A command as it is asked for, with its checks and the form of its answer.
pub(crate) trait Ask: Sync {
    /// Returns the campaign and the subject.
    fn whose(&self) -> (&str, &str);

    /// Checks it, and answers it from memory where that can be done.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing was written.
    fn check(
        &mut self,
        app: &App,
        bearer: &Bearer,
        options: ReadOptions,
    ) -> impl Future<Output = Result<Known, Problem>> + Send;

    /// Returns what the journal decides, once it is checked.
    fn command(&self) -> Result<Command<'_>, Problem>;

    /// Takes the name of the campaign's first pool, where the command names none and it is known: once it is decided the
    /// campaign may leave memory.
    fn take_first_pool(&mut self, _name: Option<Arc<str>>) {}

    /// Returns how long it waits for units that are taken.
    fn wait(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns the claim that takes what this answer offers.
    fn taking(&self, _app: &App, _answer: &Answer) -> Option<Command<'_>> {
        None
    }

    /// Returns a problem as this bearer is told it.
    fn told(&self, problem: Problem, _bearer: &Bearer) -> Problem {
        problem
    }

    /// Writes the document of a yes, a JSON object; gives its status.
    fn write_yes(&self, app: &App, answer: &Answer, out: &mut Vec<u8>) -> Result<u16, Problem>;
}

/// Checks a command and encodes it, unless it is answered without the journal.
///
/// # Cancel safety
///
/// Cancel safe: nothing was written.
pub(crate) async fn prepare(
    ask: &mut impl Ask,
    app: &App,
    bearer: &Bearer,
    options: ReadOptions,
) -> Result<Prepared, Problem> {
    if let Some(answer) = ask.check(app, bearer, options).await? {
        return Ok(Prepared::Answered(answer));
    }
    if !ask.wait().is_zero() {
        return Ok(Prepared::Waits);
    }
    let ready = app.node.intake.encode(&ask.command()?).await;
    Ok(match ready {
        Ok(Ready::Command { encoded, first_pool }) => {
            ask.take_first_pool(first_pool);
            Prepared::Undecided(encoded)
        }
        Ok(Ready::Answered(answer)) => Prepared::Answered(Ok(answer)),
        Err(failure) => Prepared::Answered(Err(failure)),
    })
}

/// Has the journal decide a command that is prepared.
///
/// # Errors
///
/// Any [`CommandError`]; only [`CommandError::Unknown`] may have changed something.
///
/// # Cancel safety
///
/// Dropped while it waits, the command may or may not happen.
pub(crate) async fn decide(
    ask: &impl Ask,
    app: &App,
    prepared: Prepared,
) -> Result<Answer, CommandError> {
    let intake = &app.node.intake;
    let answer = match prepared {
        Prepared::Answered(answer) => return answer,
        Prepared::Undecided(encoded) => intake.decide_encoded(encoded).await,
        Prepared::Waits => return intake.hold_in_line(&command(ask), ask.wait()).await,
    };
    match second(ask, app, &answer) {
        Some(why) => decide_second(ask, app, answer, why).await,
        None => answer,
    }
}

/// Says whether a second command follows the answer to the first one.
pub(crate) fn second(
    ask: &impl Ask,
    app: &App,
    answer: &Result<Answer, CommandError>,
) -> Option<Second> {
    let answer = answer.as_ref().ok()?;
    if lacked_its_tag(&answer.outcome) {
        return Some(Second::WithTag);
    }
    ask.taking(app, answer).map(|_| Second::TakesOffer)
}

/// Has the journal decide a second command; between the two nobody else can have what the first one got.
///
/// # Errors
///
/// As [`decide`].
///
/// # Cancel safety
///
/// As [`decide`].
pub(crate) async fn decide_second(
    ask: &impl Ask,
    app: &App,
    first: Result<Answer, CommandError>,
    why: Second,
) -> Result<Answer, CommandError> {
    let intake = &app.node.intake;
    match why {
        Second::WithTag => intake.decide_with_tag(&command(ask)).await,
        Second::TakesOffer => {
            let taking = first.as_ref().ok().and_then(|offered| ask.taking(app, offered));
            let Some(claim) = taking else { return first };
            match intake.decide(&claim).await {
                Err(CommandError::Unknown) => Err(CommandError::Unknown),
                // The claim was not sent: the offer stands.
                Err(_) => first,
                taken => taken,
            }
        }
    }
}

/// Writes the answer of a command into a buffer, as a JSON object; gives its status, or the problem that it is.
pub(crate) fn write(
    ask: &impl Ask,
    (app, bearer): (&App, &Bearer),
    answer: Result<Answer, CommandError>,
    out: &mut Vec<u8>,
) -> Result<u16, Problem> {
    let (campaign, subject) = ask.whose();
    let written = yes(answer, campaign).and_then(|answer| {
        let status = ask.write_yes(app, &answer, out)?;
        app.metrics.decided(&answer.outcome);
        Ok(status)
    });
    written.map_err(|problem| {
        app.says_who_barred(ask.told(problem, bearer), bearer, campaign, subject)
    })
}

/// Takes a command through all three steps.
pub(crate) async fn run(
    mut ask: impl Ask,
    app: &App,
    bearer: &Bearer,
    min: Option<Position>,
) -> Result<JsonReply, Problem> {
    let prepared = prepare(&mut ask, app, bearer, ReadOptions { min, memory: true }).await?;
    let answer = decide(&ask, app, prepared).await;
    JsonReply::written(|out| {
        let status = write(&ask, (app, bearer), answer, out)?;
        Ok(StatusCode::from_u16(status).expect("what is written has a status"))
    })
}

/// Returns the command of what is prepared.
fn command(ask: &impl Ask) -> Command<'_> {
    ask.command().expect("what is asked was read when it was prepared")
}

/// Turns an answer into its yes, or into the problem it is.
pub(crate) fn yes(answer: Result<Answer, CommandError>, campaign: &str) -> Result<Answer, Problem> {
    let answer = answer.map_err(|failure| Problem::failed(&failure))?;
    let problem = if let Outcome::Refused(refusal) = &answer.outcome {
        Problem::refused(*refusal, campaign)
    } else if let Outcome::RefusedFor(named) = &answer.outcome {
        Problem::refused_for(named, campaign)
    } else {
        return Ok(answer);
    };
    Err(problem.at(answer.position, answer.decided))
}
