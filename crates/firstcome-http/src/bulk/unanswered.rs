//! A line without an answer: checked, put in the queue in its turn, and waited for.

use crate::app::App;
use crate::asks::Ask;
use crate::auth::Key;
use crate::bearer::Bearer;
use crate::early::{Early, Look};
use crate::problem::Problem;
use firstcome_core::command::Encoded;
use firstcome_node::intake::{Ready, UnderWay, needs_tag};
use firstcome_node::{Answer, CommandError};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::Instant;

/// A line without an answer.
pub(super) struct Line {
    pub(super) number: u32,
    pub(super) reference: Option<Box<str>>,
    pub(super) weight: usize,
    pub(super) frees: bool,
    pub(super) state: State,
}

pub(super) type Preparing =
    Pin<Box<dyn Future<Output = (Ask<'static>, Result<Prepared, Problem>)> + Send>>;

pub(super) type Asking =
    Pin<Box<dyn Future<Output = (Ask<'static>, Result<Answer, CommandError>)> + Send>>;

/// Goes on from the answer to a line's first command. A claim without the tag that its pool needs is sent with it, since this
/// server knows the pool by now; and who waits for a code takes the one they are offered.
fn answered(ask: Ask<'static>, answer: Result<Answer, CommandError>, app: &Arc<App>) -> State {
    match (ask, answer) {
        (Ask::Claim(ask), Ok(refused)) if needs_tag(&ask.command(), &refused) => {
            let app = Arc::clone(app);
            State::Second(Box::pin(async move {
                let answer = app.node.intake.decide_again(&ask.command()).await;
                (Ask::Claim(ask), answer)
            }))
        }
        (Ask::Join(ask), answer) if ask.is_offered_a_code(app, &answer) => {
            let app = Arc::clone(app);
            State::Second(Box::pin(async move {
                let answer = ask.take_code(&app, answer).await;
                (Ask::Join(ask), answer)
            }))
        }
        (ask, answer) => State::Answered(Box::new(ask), answer),
    }
}

/// How far a line is.
pub(super) enum State {
    Checking(Preparing),
    /// It waits for its turn, or for room in the queue until that moment.
    Ready(Box<Ask<'static>>, Encoded, Option<Instant>),
    UnderWay(Box<Ask<'static>>, UnderWay),
    /// Its second command is under way.
    Second(Asking),
    Answered(Box<Ask<'static>>, Result<Answer, CommandError>),
    Refused(Problem),
    /// Between two of these.
    Moving,
}

/// A command that was checked.
pub(super) enum Prepared {
    Answered(Result<Answer, CommandError>),
    Command(Encoded),
}

pub(super) async fn prepare(
    app: Arc<App>,
    key: Arc<Key>,
    mut ask: Ask<'static>,
    look: Look,
) -> (Ask<'static>, Result<Prepared, Problem>) {
    let prepared = prepared(&app, &key, &mut ask, look).await;
    (ask, prepared)
}

async fn prepared(
    app: &App,
    key: &Key,
    ask: &mut Ask<'static>,
    look: Look,
) -> Result<Prepared, Problem> {
    key.covers(ask.campaign())?;
    let limit = match ask.prepare(app, &Bearer::Key(key), look).await? {
        Early::Answered(answer) => return Ok(Prepared::Answered(answer)),
        Early::Decide(limit) => limit,
    };
    Ok(match app.node.intake.encode(&ask.command(limit)?).await {
        Ok(Ready::Command(encoded)) => Prepared::Command(encoded),
        Ok(Ready::Answered(answer)) => Prepared::Answered(Ok(answer)),
        Err(failure) => Prepared::Answered(Err(failure)),
    })
}

impl Line {
    /// Asks how far it is.
    pub(super) fn look(&mut self, cx: &mut Context<'_>, app: &Arc<App>) {
        match &mut self.state {
            State::Checking(checking) => {
                let Poll::Ready((ask, prepared)) = checking.as_mut().poll(cx) else { return };
                let ask = Box::new(ask);
                self.state = match prepared {
                    Ok(Prepared::Command(encoded)) => State::Ready(ask, encoded, None),
                    Ok(Prepared::Answered(answer)) => State::Answered(ask, answer),
                    Err(problem) => State::Refused(problem),
                };
            }
            State::UnderWay(_, under_way) => {
                let polled = under_way.poll(cx);
                if polled.is_pending() && Instant::now() < under_way.until() {
                    return;
                }
                let State::UnderWay(ask, under_way) =
                    std::mem::replace(&mut self.state, State::Moving)
                else {
                    return;
                };
                let answer = match polled {
                    Poll::Ready(answer) => answer,
                    Poll::Pending => under_way.gives_up(),
                };
                self.state = answered(*ask, answer, app);
                if matches!(self.state, State::Second(_)) {
                    self.look(cx, app);
                }
            }
            State::Second(asking) => {
                let Poll::Ready((ask, answer)) = asking.as_mut().poll(cx) else { return };
                self.state = State::Answered(Box::new(ask), answer);
            }
            State::Ready(..) | State::Answered(..) | State::Refused(_) | State::Moving => {}
        }
    }

    /// Answers it with a failure, if it was not put in the queue.
    pub(super) fn fails(&mut self, failure: CommandError) {
        if let State::Ready(ask, _, _) = std::mem::replace(&mut self.state, State::Moving) {
            self.state = State::Answered(ask, Err(failure));
        }
    }
}
