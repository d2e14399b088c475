//! What a store promises by its settings, which may change while a journal is open.

use crate::journal::warning::Warning;
use std::fmt;
use std::str::FromStr;

/// What a store promises by its settings as they are now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// What an accepted claim has survived, in a sentence that begins with the name of the durability.
    pub sentence: String,
    /// Why that is less than what was chosen, if it is.
    pub less: Option<LessDurable>,
    /// What else an operator should know.
    pub warnings: Vec<Warning>,
}

/// Why a store promises less than what was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LessDurable {
    /// What it is and what may come of it.
    pub what: String,
    /// The command that changes it, or what else to do.
    pub fix: String,
    /// Whether no command gets a yes meanwhile.
    pub refuses: bool,
}

/// What becomes of appends while a store promises less than what was chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenLessDurable {
    /// Nothing is appended.
    #[default]
    Refuse,
    /// They go on.
    Warn,
}

impl FromStr for WhenLessDurable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "warn" => Ok(Self::Warn),
            _ => Err(format!("must be refuse or warn, not `{text}`")),
        }
    }
}

impl fmt::Display for WhenLessDurable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuse => "refuse",
            Self::Warn => "warn",
        })
    }
}
