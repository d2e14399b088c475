//! Commands as they are asked for, each with its checks and its answer: once, for its own route and for a line of many.
//!
//! A command goes through three steps: `prepare` checks it and answers from memory where that can be done, `command` gives
//! what the journal decides, `finish` writes the answer.

use crate::app::App;
use crate::bearer::Bearer;
use crate::early::{Early, Look};
use crate::problem::Problem;
use crate::respond::Yes;
use firstcome_core::Command;
use firstcome_node::{Answer, CommandError};

pub(crate) use crate::claims::{CancelAsk, ClaimAsk};
pub(crate) use crate::holds::HoldAsk;
pub(crate) use crate::holds::steps::StepAsk;
pub(crate) use crate::waitlist::{JoinAsk, LeaveAsk};

/// Any command that a line can ask for.
#[derive(Debug)]
pub(crate) enum Ask<'a> {
    Claim(ClaimAsk<'a>),
    Cancel(CancelAsk<'a>),
    Hold(HoldAsk<'a>),
    Step(StepAsk<'a>),
    Join(JoinAsk<'a>),
    Leave(LeaveAsk<'a>),
}

impl Ask<'_> {
    /// Says whether what comes behind it may find more than before, and memory does not know that yet.
    pub(crate) fn may_free(&self) -> bool {
        match self {
            Self::Claim(_) | Self::Hold(_) | Self::Join(_) => false,
            Self::Cancel(_) | Self::Step(_) | Self::Leave(_) => true,
        }
    }

    pub(crate) fn campaign(&self) -> &str {
        match self {
            Self::Claim(ask) => &ask.campaign,
            Self::Cancel(ask) => &ask.campaign,
            Self::Hold(ask) => &ask.campaign,
            Self::Step(ask) => &ask.campaign,
            Self::Join(ask) => &ask.claim.campaign,
            Self::Leave(ask) => &ask.campaign,
        }
    }

    /// Checks it, and answers it from memory where that can be done.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing was written.
    pub(crate) async fn prepare(
        &mut self,
        app: &App,
        bearer: &Bearer<'_>,
        look: Look,
    ) -> Result<Early, Problem> {
        match self {
            Self::Claim(ask) => ask.prepare(app, bearer, look).await,
            Self::Cancel(ask) => ask.prepare(app, bearer, look).await,
            Self::Hold(ask) => ask.prepare(app, bearer, look).await,
            Self::Step(ask) => ask.prepare(app, bearer, look).await,
            Self::Join(ask) => ask.prepare(app, bearer, look).await,
            Self::Leave(ask) => ask.prepare(app, bearer, look).await,
        }
    }

    /// Returns what the journal decides.
    pub(crate) fn command(&self, limit: Option<u32>) -> Result<Command<'_>, Problem> {
        match self {
            Self::Claim(ask) => Ok(ask.command()),
            Self::Cancel(ask) => ask.command(),
            Self::Hold(ask) => ask.command(limit),
            Self::Step(ask) => ask.command(limit),
            Self::Join(ask) => Ok(ask.command(limit)),
            Self::Leave(ask) => Ok(ask.command()),
        }
    }

    /// Writes the answer.
    pub(crate) fn finish(
        &self,
        app: &App,
        bearer: &Bearer<'_>,
        answer: Result<Answer, CommandError>,
    ) -> Result<Yes, Problem> {
        match self {
            Self::Claim(ask) => ask.finish(app, bearer, answer),
            Self::Cancel(ask) => ask.finish(app, answer),
            Self::Hold(ask) => ask.finish(app, bearer, answer),
            Self::Step(ask) => ask.finish(app, bearer, answer),
            Self::Join(ask) => ask.finish(app, bearer, answer),
            Self::Leave(ask) => ask.finish(app, answer),
        }
    }
}
