//! Any command that a line can ask for.

use crate::answer::problem::Problem;
use crate::app::App;
use crate::asks::{Ask, Known, ReadOptions};
use crate::claims::delete::CancelAsk;
use crate::claims::post::ClaimAsk;
use crate::holds::HoldAsk;
use crate::holds::steps::StepAsk;
use crate::request::bearer::Bearer;
use crate::waitlist::place::LeaveAsk;
use firstcome_core::Command;
use firstcome_node::Answer;

/// Any command that a line can ask for.
#[derive(Debug)]
pub(super) enum AnyAsk {
    Claim(ClaimAsk<'static>),
    Cancel(CancelAsk<'static>),
    Hold(HoldAsk<'static>),
    Step(StepAsk<'static>),
    Leave(LeaveAsk<'static>),
}

impl AnyAsk {
    /// Says whether what comes behind it may find more than before, and memory does not know that yet.
    pub(super) fn may_free(&self) -> bool {
        match self {
            Self::Claim(_) | Self::Hold(_) => false,
            Self::Cancel(_) | Self::Step(_) | Self::Leave(_) => true,
        }
    }
}

impl Ask for AnyAsk {
    fn whose(&self) -> (&str, &str) {
        match self {
            Self::Claim(ask) => ask.whose(),
            Self::Cancel(ask) => ask.whose(),
            Self::Hold(ask) => ask.whose(),
            Self::Step(ask) => ask.whose(),
            Self::Leave(ask) => ask.whose(),
        }
    }

    async fn check(
        &mut self,
        app: &App,
        bearer: &Bearer<'_>,
        options: ReadOptions,
    ) -> Result<Known, Problem> {
        match self {
            Self::Claim(ask) => ask.check(app, bearer, options).await,
            Self::Cancel(ask) => ask.check(app, bearer, options).await,
            Self::Hold(ask) => ask.check(app, bearer, options).await,
            Self::Step(ask) => ask.check(app, bearer, options).await,
            Self::Leave(ask) => ask.check(app, bearer, options).await,
        }
    }

    fn command(&self) -> Result<Command<'_>, Problem> {
        match self {
            Self::Claim(ask) => ask.command(),
            Self::Cancel(ask) => ask.command(),
            Self::Hold(ask) => ask.command(),
            Self::Step(ask) => ask.command(),
            Self::Leave(ask) => ask.command(),
        }
    }

    fn take_first_pool(&mut self, name: Option<Box<str>>) {
        match self {
            Self::Claim(ask) => ask.take_first_pool(name),
            Self::Cancel(ask) => ask.take_first_pool(name),
            Self::Hold(_) | Self::Step(_) | Self::Leave(_) => {}
        }
    }

    fn taking(&self, app: &App, answer: &Answer) -> Option<Command<'_>> {
        match self {
            Self::Claim(ask) => ask.taking(app, answer),
            Self::Cancel(_) | Self::Hold(_) | Self::Step(_) | Self::Leave(_) => None,
        }
    }

    fn told(&self, problem: Problem, bearer: &Bearer<'_>) -> Problem {
        match self {
            Self::Step(ask) => ask.told(problem, bearer),
            Self::Claim(_) | Self::Cancel(_) | Self::Hold(_) | Self::Leave(_) => problem,
        }
    }

    fn write_yes(&self, app: &App, answer: &Answer, out: &mut Vec<u8>) -> Result<u16, Problem> {
        match self {
            Self::Claim(ask) => ask.write_yes(app, answer, out),
            Self::Cancel(ask) => ask.write_yes(app, answer, out),
            Self::Hold(ask) => ask.write_yes(app, answer, out),
            Self::Step(ask) => ask.write_yes(app, answer, out),
            Self::Leave(ask) => ask.write_yes(app, answer, out),
        }
    }
}
