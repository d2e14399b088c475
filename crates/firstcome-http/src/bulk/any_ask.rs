//! Any command that a line can ask for.

use crate::app::App;
use crate::asks::{Ask, ReadOptions};
use crate::bearer::Bearer;
use crate::claims::delete::CancelAsk;
use crate::claims::post::ClaimAsk;
use crate::holds::HoldAsk;
use crate::holds::steps::StepAsk;
use crate::problem::Problem;
use crate::waitlist::place::LeaveAsk;
use firstcome_core::Command;
use firstcome_node::{Answer, Failure};

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

    pub(super) fn campaign(&self) -> &str {
        match self {
            Self::Claim(ask) => &ask.campaign,
            Self::Cancel(ask) => &ask.campaign,
            Self::Hold(ask) => &ask.campaign,
            Self::Step(ask) => &ask.campaign,
            Self::Leave(ask) => &ask.campaign,
        }
    }
}

impl Ask for AnyAsk {
    async fn check(
        &mut self,
        app: &App,
        bearer: &Bearer<'_>,
        options: ReadOptions,
    ) -> Result<Option<Result<Answer, Failure>>, Problem> {
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

    fn write(
        &self,
        app: &App,
        bearer: &Bearer<'_>,
        answer: Result<Answer, Failure>,
        out: &mut Vec<u8>,
    ) -> Result<u16, Problem> {
        match self {
            Self::Claim(ask) => ask.write(app, bearer, answer, out),
            Self::Cancel(ask) => ask.write(app, bearer, answer, out),
            Self::Hold(ask) => ask.write(app, bearer, answer, out),
            Self::Step(ask) => ask.write(app, bearer, answer, out),
            Self::Leave(ask) => ask.write(app, bearer, answer, out),
        }
    }
}
