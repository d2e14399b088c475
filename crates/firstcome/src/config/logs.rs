//! How a server writes its log: in which form, and from which level on.

use std::fmt;
use std::str::FromStr;

/// The form of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Time, level, sentence and fields, for people.
    Text,
    /// One JSON object, for programs.
    Json,
}

impl LogFormat {
    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(format!("must be text or json, not `{text}`")),
        }
    }
}

/// The least important lines that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// An operator must act now.
    Error,
    /// An operator should check it.
    Warn,
    /// What changed.
    Info,
    /// Every request.
    Debug,
}

impl LogLevel {
    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Error, Self::Warn, Self::Info, Self::Debug];
        let found = all.into_iter().find(|level| level.as_str() == text.trim());
        found.ok_or_else(|| format!("must be error, warn, info or debug, not `{text}`"))
    }
}
