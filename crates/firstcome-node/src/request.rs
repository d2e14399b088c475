//! A command on its way to the journal, and the answer on its way back.

use crate::failure::Failure;
use firstcome_core::command::{Encoded, Mark};
use firstcome_core::names::Position;
use firstcome_core::{Command, Outcome};
use std::borrow::Cow;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// What waits to be appended.
#[derive(Debug)]
pub(crate) enum Request {
    /// A caller's command, in its stored bytes.
    Command(Encoded),
    /// A command that raises the space, in its stored bytes: the body it gets into is of that level.
    Raise(Encoded),
    /// See [`Command::Tick`]: its mark is of the moment in which it is appended.
    Tick,
    /// See [`Command::Settled`].
    Settled {
        /// The last number the ledger has.
        through: u64,
        /// The term under which it was written.
        term: u64,
        /// This node's branch of the journal the number is of: on another one it would be another result.
        branch: u64,
    },
}

impl Request {
    /// Gives the command as it is written into a body, with what this node knows at that moment.
    pub(crate) fn encoded(&self, mark: Mark) -> Cow<'_, Encoded> {
        let own = |command: &Command<'_>| {
            Cow::Owned(Encoded::new(command).expect("a node's own commands are short numbers"))
        };
        match self {
            Self::Command(encoded) | Self::Raise(encoded) => Cow::Borrowed(encoded),
            Self::Tick => own(&Command::Tick { mark }),
            Self::Settled { through, term, branch: _ } => {
                own(&Command::Settled { through: *through, term: *term, mark })
            }
        }
    }

    /// Says whether it raises the space.
    pub(crate) fn is_raise(&self) -> bool {
        matches!(self, Self::Raise(_))
    }

    /// Gives how many bytes it takes in the queue, about.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Command(encoded) | Self::Raise(encoded) => encoded.size(),
            Self::Tick | Self::Settled { .. } => 0,
        }
    }
}

/// A request in the queue or in the batch under way, with whoever waits for its answer.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) request: Request,
    pub(crate) reply: oneshot::Sender<Result<Answer, Failure>>,
    /// When it was asked.
    pub(crate) since: Instant,
    /// When it is answered `unavailable` or `unknown` for want of anything better.
    pub(crate) until: Instant,
}

impl Pending {
    /// Answers it. A caller that does not wait any more has gone: what it asked for stands all the same.
    pub(crate) fn answer(self, answer: Result<Answer, Failure>) {
        drop(self.reply.send(answer));
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
