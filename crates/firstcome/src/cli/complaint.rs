//! Bad news on the command line: a sentence that names the thing, a hint, and an exit code that is part of the interface.

use serde_json::{Value, json};

use super::terminal::out;

/// What the program says to the shell when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It is so, or it was done.
    Yes,
    /// The rules say no, or a check found a difference.
    Refused,
    /// The command line or the configuration cannot be used.
    Usage,
    /// No answer, and nothing changed.
    Unchanged,
    /// No answer, and it may have happened.
    Unknown,
    /// Ended by Ctrl-C.
    Interrupted,
    /// The lock was not acquired in time; this and the next four belong to `lock` and `elect`.
    NotAcquired,
    /// The lock was lost while the command ran.
    Lost,
    /// Something failed, and it was not the command.
    OwnFailure,
    /// The command cannot be executed.
    CommandNotExecutable,
    /// The command is not there.
    CommandNotFound,
    /// The exit code of a command that ran under a lock.
    Passed(i32),
}

impl Exit {
    /// The code.
    pub fn code(self) -> i32 {
        match self {
            Self::Yes => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::Unchanged => 3,
            Self::Unknown => 4,
            Self::Interrupted => 130,
            Self::NotAcquired => 120,
            Self::Lost => 121,
            Self::OwnFailure => 125,
            Self::CommandNotExecutable => 126,
            Self::CommandNotFound => 127,
            Self::Passed(code) => code,
        }
    }
}

/// Why a verb ended without its result.
#[derive(Debug)]
pub struct Complaint {
    exit: Exit,
    sentence: String,
    hint: Option<String>,
    document: Option<Value>,
}

impl std::fmt::Display for Complaint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Complaint {}

impl Complaint {
    /// A complaint with its exit code.
    pub fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { exit, sentence: sentence.into(), hint: None, document: None }
    }

    /// The command line or configuration cannot be used.
    pub fn usage(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Usage, sentence)
    }

    /// Something on this machine failed before anything changed.
    pub fn own(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Unchanged, sentence)
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says whether it is a refusal of the server with this outcome.
    pub(super) fn is(&self, outcome: &str) -> bool {
        self.document.as_ref().is_some_and(|document| document["outcome"] == outcome)
    }

    /// Adds what the server said, which stands on stdout with `--json`.
    #[must_use]
    pub(super) fn document(mut self, document: Value) -> Self {
        self.document = Some(document);
        self
    }

    /// Gives it the code that verbs use which pass on a command's codes, unless it has one of those already.
    #[must_use]
    pub(super) fn of_our_own(mut self) -> Self {
        if matches!(self.exit, Exit::Usage | Exit::Unchanged | Exit::Unknown | Exit::Refused) {
            self.exit = Exit::OwnFailure;
        }
        self
    }

    /// Prints to stderr, with `--json` a document to stdout too, and returns the exit code.
    pub(super) fn print(&self, json: bool) -> i32 {
        out::talk(format!("error: {}", self.sentence));
        if let Some(hint) = &self.hint {
            out::talk(format!("hint: {hint}"));
        }
        if json {
            let changed = if self.exit == Exit::Unknown { "unknown" } else { "no" };
            let own = || json!({"error": self.sentence, "hint": self.hint, "changed": changed});
            out::bad_news(&self.document.clone().unwrap_or_else(own));
        }
        self.exit.code()
    }
}

impl From<anyhow::Error> for Complaint {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(complaint) => complaint,
            Err(error) => {
                let complaint = Self::own(format!("{error:#}"));
                match hint_of(&error) {
                    Some(hint) => complaint.hint(hint),
                    None => complaint,
                }
            }
        }
    }
}

/// The advice that comes with what went wrong, wherever in the chain it stands.
fn hint_of(error: &anyhow::Error) -> Option<String> {
    if let Some(firstcome_node::CannotStart::Journal(failure)) = error.downcast_ref() {
        return failure.hint().map(str::to_owned);
    }
    if let Some(failure) = error.downcast_ref::<firstcome_lock::Error>() {
        return failure.hint().map(str::to_owned);
    }
    let failure = error.downcast_ref::<firstcome_journal::JournalError>()?;
    let away = matches!(failure, firstcome_journal::JournalError::Unavailable(_));
    let hint = away.then_some("check that it runs and can be reached from here").or(failure.hint());
    hint.map(str::to_owned)
}
