//! One request, sent once, without an answer; and whether it may have changed anything.

use crate::client::address::Server;
use crate::error::problem::Problem;

/// No answer to rely on, to a request that was sent once ([`Client::ask`](crate::Client::ask)). The two kinds are never
/// mixed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Nothing changed: the request never left, was turned away unread, or only reads.
    #[error("no answer from {server}, and nothing changed: {reason}")]
    Unchanged {
        /// The server asked.
        server: String,
        /// What happened.
        reason: String,
        /// What the server said, where it said something.
        problem: Option<Box<Problem>>,
    },
    /// It may have happened: the request left and no answer that can be relied on came back.
    #[error("no answer from {server}, and it may have happened: {reason}")]
    Unknown {
        /// The server asked.
        server: String,
        /// What happened.
        reason: String,
        /// What the server said, where it said something.
        problem: Option<Box<Problem>>,
    },
}

impl Failure {
    /// Whether the request may have changed something.
    pub fn may_have_happened(&self) -> bool {
        matches!(self, Self::Unknown { .. })
    }

    /// What happened.
    pub fn reason(&self) -> &str {
        match self {
            Self::Unchanged { reason, .. } | Self::Unknown { reason, .. } => reason,
        }
    }

    /// What the server said, where it said something.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Unchanged { problem, .. } | Self::Unknown { problem, .. } => problem.as_deref(),
        }
    }

    /// A request that never left.
    pub(crate) fn unsent(server: &Server, reason: String) -> Self {
        Self::Unchanged { server: server.to_string(), reason, problem: None }
    }

    /// An exchange that broke after the request left.
    pub(crate) fn cut(server: &Server, harmless: bool, reason: String) -> Self {
        let server = server.to_string();
        if harmless {
            Self::Unchanged { server, reason, problem: None }
        } else {
            Self::Unknown { server, reason, problem: None }
        }
    }

    /// An answer that cannot be read.
    pub(crate) fn strange(server: &Server, harmless: bool, reason: String) -> Self {
        Self::cut(server, harmless, format!("the answer cannot be read: {reason}"))
    }
}
