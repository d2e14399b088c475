//! What is known of a command before the journal is asked.

use firstcome_core::names::Position;
use firstcome_node::{Answer, CommandError};

/// How a command is looked at before the journal is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// The position that this server's state is to be at.
    pub(crate) min: Option<Position>,
    /// Whether memory may answer it: not where an earlier command of the same caller may still change that answer.
    pub(crate) memory: bool,
}

/// What is known of a command before the journal is asked.
#[derive(Debug)]
pub(crate) enum Early {
    /// Memory answers it.
    Answered(Result<Answer, CommandError>),
    /// The journal decides, with this limit of the team's own service, if it gave one.
    Decide(Option<u32>),
}
