//! A command on its way from the caller to the journal, owning its words.

mod holds;

pub use holds::{HoldAsk, OwnChunk, OwnPick, OwnStep, OwnWanted};

use crate::failure::Failure;
use firstcome_core::command::{Expect, Mark, Order, Steer};
use firstcome_core::names::Position;
use firstcome_core::outcome::By;
use firstcome_core::{Command, Outcome, Settings};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Who gave an operator command, and under which id.
#[derive(Clone, Debug, Default)]
pub struct Ordered {
    /// The id that makes the command the same when it comes again.
    pub id: Option<Box<str>>,
    /// The name of the key it was given with.
    pub who: Box<str>,
}

impl Ordered {
    fn order(&self) -> Order<'_> {
        Order { id: self.id.as_deref(), who: &self.who }
    }
}

/// Something asked of this node that the journal decides.
#[derive(Clone, Debug)]
pub enum Ask {
    /// See [`Command::Claim`].
    Claim {
        /// The campaign.
        campaign: Box<str>,
        /// The pool.
        pool: Option<Box<str>>,
        /// Who competes.
        subject: Box<str>,
        /// How many units of the campaign the subject may have, if the team's own service said so.
        limit: Option<u32>,
    },
    /// See [`Command::Cancel`].
    Cancel {
        /// The campaign.
        campaign: Box<str>,
        /// The pool.
        pool: Box<str>,
        /// Whose claim.
        subject: Box<str>,
        /// Which of their claims.
        rank: u32,
        /// On whose word.
        by: By,
        /// Why.
        reason: Box<str>,
        /// The name of the key it was given with.
        who: Box<str>,
    },
    /// See [`Command::Put`].
    Put {
        /// The campaign.
        campaign: Box<str>,
        /// What is wanted.
        settings: Box<Settings>,
        /// What is demanded of the campaign as it stands.
        expect: Expect,
        /// Who gave it.
        ordered: Ordered,
    },
    /// See [`Command::Steer`].
    Steer {
        /// The campaign.
        campaign: Box<str>,
        /// How.
        steer: Steer,
        /// Who gave it.
        ordered: Ordered,
    },
    /// See [`HoldAsk`].
    Hold(Box<HoldAsk>),
    /// See [`Command::Tick`].
    Tick,
    /// See [`Command::Settled`].
    Settled {
        /// The last number the ledger has.
        through: u64,
        /// The term under which it was written.
        term: u64,
        /// This node's history the number is of: in another one it would be another result.
        history: u64,
    },
}

impl Ask {
    /// Gives a claim.
    pub fn claim(campaign: &str, pool: Option<&str>, subject: &str, limit: Option<u32>) -> Self {
        let (campaign, subject) = (campaign.into(), subject.into());
        Self::Claim { campaign, pool: pool.map(Into::into), subject, limit }
    }

    /// Gives the command as it is written into a body, with what this node knows at that moment.
    pub fn command(&self, mark: Mark) -> Command<'_> {
        match self {
            Self::Claim { campaign, pool, subject, limit } => {
                Command::Claim { campaign, pool: pool.as_deref(), subject, limit: *limit }
            }
            Self::Cancel { campaign, pool, subject, rank, by, reason, who } => {
                Command::Cancel { campaign, pool, subject, rank: *rank, by: *by, reason, who }
            }
            Self::Put { campaign, settings, expect, ordered } => Command::Put {
                campaign,
                settings: (**settings).clone(),
                expect: *expect,
                order: ordered.order(),
            },
            Self::Steer { campaign, steer, ordered } => {
                Command::Steer { campaign, steer: *steer, order: ordered.order() }
            }
            Self::Hold(ask) => ask.command(),
            Self::Tick => Command::Tick { mark },
            Self::Settled { through, term, history: _ } => {
                Command::Settled { through: *through, term: *term, mark }
            }
        }
    }
}

/// What the rules said, and as of when.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What they said.
    pub outcome: Outcome,
    /// The position the answer is as of.
    pub position: Position,
    /// Whether the journal decided, or this node's state repeated what it knows.
    pub decided: Decided,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// The command was appended and applied.
    Journal,
    /// This node's state was enough.
    Replica,
}

impl Decided {
    /// Gives the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Replica => "replica",
        }
    }
}

/// Waits in the queue for the appender.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) ask: Ask,
    pub(crate) reply: oneshot::Sender<Result<Answer, Failure>>,
    /// When it is answered `unavailable` or `unknown` for want of anything better.
    pub(crate) until: Instant,
}
