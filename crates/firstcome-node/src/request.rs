//! A command on its way to the journal.

use crate::answer::Answer;
use crate::failure::CommandError;
use crate::slot::Slot;
use crate::wakeups::Wakeups;
use firstcome_core::Command;
use firstcome_core::command::{Encoded, Mark};
use std::borrow::Cow;
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
    /// Returns the command as it is written into a body, with what this node knows at that moment.
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

    /// Returns how many bytes it takes in the queue, about.
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
    pub(crate) slot: Slot,
    /// When it was asked.
    pub(crate) since: Instant,
}

impl Pending {
    /// Answers it alone, and wakes its caller at once.
    pub(crate) fn answer(self, answer: Result<Answer, CommandError>) {
        let mut wakeups = Wakeups::default();
        self.slot.answer(answer, &mut wakeups);
        wakeups.send();
    }
}
