//! A line without an answer: checked, put in the queue in its turn, and waited for.

use super::any_ask::AnyAsk;
use crate::answer::problem::Problem;
use crate::app::App;
use crate::asks::{self, Ask, Prepared, ReadOptions};
use crate::request::auth::Key;
use crate::request::bearer::Bearer;
use firstcome_core::command::Encoded;
use firstcome_node::intake::SentCommand;
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

type Preparing = Pin<Box<dyn Future<Output = (AnyAsk, Result<Prepared, Problem>)> + Send>>;

type Asking = Pin<Box<dyn Future<Output = (AnyAsk, Result<Answer, CommandError>)> + Send>>;

/// Goes on from the answer to a line's first command.
fn answered(ask: Box<AnyAsk>, answer: Result<Answer, CommandError>, app: &Arc<App>) -> State {
    let Some(why) = asks::second(&*ask, app, &answer) else {
        return State::Answered(ask, answer);
    };
    let app = Arc::clone(app);
    State::Second(Box::pin(async move {
        let answer = asks::decide_second(&*ask, &app, answer, why).await;
        (*ask, answer)
    }))
}

/// How far a line is.
pub(super) enum State {
    Checking(Preparing),
    /// It waits for its turn, or for room in the queue until that moment.
    Ready(Box<AnyAsk>, Encoded, Option<Instant>),
    UnderWay(Box<AnyAsk>, SentCommand),
    /// Its second command is under way.
    Second(Asking),
    Answered(Box<AnyAsk>, Result<Answer, CommandError>),
    Refused(Problem),
    /// Between two of these.
    Moving,
}

pub(super) async fn prepare(
    app: Arc<App>,
    key: Arc<Key>,
    mut ask: AnyAsk,
    options: ReadOptions,
) -> (AnyAsk, Result<Prepared, Problem>) {
    let prepared = match key.covers(ask.whose().0) {
        Ok(()) => asks::prepare(&mut ask, &app, &Bearer::Key(key), options).await,
        Err(problem) => Err(problem),
    };
    (ask, prepared)
}

impl Line {
    /// Asks how far it is.
    pub(super) fn look(&mut self, cx: &mut Context<'_>, app: &Arc<App>) {
        match &mut self.state {
            State::Checking(checking) => {
                let Poll::Ready((ask, prepared)) = checking.as_mut().poll(cx) else { return };
                let ask = Box::new(ask);
                self.state = match prepared {
                    Ok(Prepared::Undecided(encoded)) => State::Ready(ask, encoded, None),
                    Ok(Prepared::Answered(answer)) => State::Answered(ask, answer),
                    Ok(Prepared::Waits) => unreachable!("no line waits for units"),
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
                self.state = answered(ask, answer, app);
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
