//! A call without an answer of the rules, and whether it may have changed anything.

pub(crate) mod failure;
pub(crate) mod problem;
pub(crate) mod refusal;
pub(crate) mod resolve;

use std::fmt;

use crate::error::problem::Problem;
use crate::routes::Ask;

/// Why a call has no answer of the rules.
///
/// Whether something may have happened is never left open: that is [`Error::Unknown`] and nothing else is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No answer, and nothing changed: no request left, or each was turned away undecided, or the call only reads.
    #[error(transparent)]
    Unchanged(Box<Unchanged>),
    /// No answer, and it may have happened: a request left, and no answer to rely on came before the deadline.
    #[error(transparent)]
    Unknown(Box<Unknown>),
    /// The server turned the request down before its rules looked at it, and nothing changed: the key, the form or a limit.
    /// The same request will be turned down again.
    ///
    /// [`Answer::yes`](crate::Answer::yes) makes refusals of the rules such an error, too.
    #[error("{0}")]
    Refused(Box<Problem>),
}

impl Error {
    /// Whether the call may have changed something.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Unknown(_) => true,
            Self::Refused(problem) => problem.changed != "no",
            Self::Unchanged(_) => false,
        }
    }

    /// Returns what the server said last, where it said something.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Unchanged(unchanged) => unchanged.problem(),
            Self::Unknown(unknown) => unknown.problem(),
            Self::Refused(problem) => Some(problem),
        }
    }
}

/// How a call failed at the last attempt.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    pub(crate) server: String,
    pub(crate) reason: String,
    pub(crate) attempts: u32,
    pub(crate) problem: Option<Box<Problem>>,
}

impl Failed {
    /// Says it in a sentence, with what that means for the state.
    fn say(&self, f: &mut fmt::Formatter<'_>, meaning: &str) -> fmt::Result {
        let Self { server, reason, attempts, .. } = self;
        write!(f, "no answer from {server}, and {meaning}: {reason}")?;
        if *attempts > 1 { write!(f, " (attempt {attempts})") } else { Ok(()) }
    }
}

/// No answer, and nothing changed.
#[derive(Debug, Clone)]
pub struct Unchanged(Failed);

impl Unchanged {
    pub(crate) fn new(failed: Failed) -> Self {
        Self(failed)
    }

    /// The server that was asked last.
    pub fn server(&self) -> &str {
        &self.0.server
    }

    /// What happened at the last attempt.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// How often it was tried.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// What the server said at the last attempt, where it said something: `busy` for example.
    pub fn problem(&self) -> Option<&Problem> {
        self.0.problem.as_deref()
    }
}

impl fmt::Display for Unchanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.say(f, "nothing changed")
    }
}

impl std::error::Error for Unchanged {}

/// No answer, and it may have happened.
///
/// [`resolve`](Unknown::resolve) finds out: it makes the same request again, with the same identity.
#[derive(Debug, Clone)]
pub struct Unknown {
    failed: Failed,
    ask: Ask,
}

impl Unknown {
    pub(crate) fn new(failed: Failed, ask: Ask) -> Self {
        Self { failed, ask }
    }

    /// What was asked: method, path, body and headers, without the key.
    pub fn asked(&self) -> &Ask {
        &self.ask
    }

    /// The server that was asked last.
    pub fn server(&self) -> &str {
        &self.failed.server
    }

    /// What happened at the last attempt. An earlier attempt may be the one that happened.
    pub fn reason(&self) -> &str {
        &self.failed.reason
    }

    /// How often it was tried.
    pub fn attempts(&self) -> u32 {
        self.failed.attempts
    }

    /// What the server said at the last attempt, where it said something.
    pub fn problem(&self) -> Option<&Problem> {
        self.failed.problem.as_deref()
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failed.say(f, "it may have happened")
    }
}

impl std::error::Error for Unknown {}
