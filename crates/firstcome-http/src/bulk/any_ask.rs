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
use std::sync::Arc;

/// Any command that a line can ask for.
#[derive(Debug)]
pub(super) enum AnyAsk {
    Claim(ClaimAsk<'static>),
    Cancel(CancelAsk<'static>),
    Hold(HoldAsk<'static>),
    Step(StepAsk<'static>),
    Leave(LeaveAsk<'static>),
}

/// Does the same with whichever it is.
macro_rules! each {
    ($any:expr, $ask:ident => $does:expr) => {
        match $any {
            AnyAsk::Claim($ask) => $does,
            AnyAsk::Cancel($ask) => $does,
            AnyAsk::Hold($ask) => $does,
            AnyAsk::Step($ask) => $does,
            AnyAsk::Leave($ask) => $does,
        }
    };
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
        each!(self, ask => ask.whose())
    }

    async fn check(
        &mut self,
        app: &App,
        bearer: &Bearer,
        options: ReadOptions,
    ) -> Result<Known, Problem> {
        each!(self, ask => ask.check(app, bearer, options).await)
    }

    fn command(&self) -> Result<Command<'_>, Problem> {
        each!(self, ask => ask.command())
    }

    fn take_first_pool(&mut self, name: Option<Arc<str>>) {
        each!(self, ask => ask.take_first_pool(name));
    }

    fn taking(&self, app: &App, answer: &Answer) -> Option<Command<'_>> {
        each!(self, ask => ask.taking(app, answer))
    }

    fn told(&self, problem: Problem, bearer: &Bearer) -> Problem {
        each!(self, ask => ask.told(problem, bearer))
    }

    fn write_yes(&self, app: &App, answer: &Answer, out: &mut Vec<u8>) -> Result<u16, Problem> {
        each!(self, ask => ask.write_yes(app, answer, out))
    }
}
