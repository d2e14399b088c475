//! An answer that is not a yes, as the client reads it.

use std::fmt;
use std::time::Duration;

use firstcome_api::problem;
use serde_json::Value;

/// A refusal or failure that the server answered (RFC 9457).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The outcome's stable name, such as `sold_out`.
    pub outcome: String,
    /// One sentence for people.
    pub detail: String,
    /// Whether the same request may be answered otherwise later.
    pub retry: bool,
    /// `no`, `yes`, or `unknown` where the request may have changed something.
    pub changed: String,
    /// After how long to ask again, where the server says so: whole seconds from a header, or milliseconds.
    pub retry_after: Option<Duration>,
    /// Whether an earlier attempt of the same call was sent and its answer is lost.
    ///
    /// That attempt is almost always over. If it is still on its way, it may be decided after this answer. Make the same
    /// call again later to be sure.
    pub after_lost_attempt: bool,
    /// The whole document.
    pub raw: Value,
}

impl Problem {
    /// Reads a problem document.
    ///
    /// # Errors
    ///
    /// When the body is none.
    pub fn read(status: u16, body: &[u8]) -> Result<Self, serde_json::Error> {
        let raw: Value = serde_json::from_slice(body)?;
        let read: problem::Problem<'_> = serde_json::from_value(raw.clone())?;
        let detail = if read.detail.is_empty() { read.title } else { read.detail };
        let retry_after = raw["retry_after_ms"].as_u64().map(Duration::from_millis);
        Ok(Self {
            status,
            outcome: read.outcome.into_owned(),
            detail: detail.into_owned(),
            retry: read.retry,
            changed: read.changed.into_owned(),
            retry_after,
            after_lost_attempt: false,
            raw,
        })
    }

    /// The outcome and its sentence in one line.
    pub fn sentence(&self) -> String {
        self.to_string()
    }

    /// Whether this is about the moment and not about the request: the server could not answer it now.
    pub(crate) fn is_passing(&self) -> bool {
        self.status >= 500 || self.status == 429 || self.status == 408
    }

    /// Whether the request may have changed something, by what the server says.
    pub(crate) fn may_have_happened(&self) -> bool {
        self.changed == "unknown" || self.is_passing() && self.changed != "no"
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.outcome)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

impl std::error::Error for Problem {}
