//! An answer that is not a yes, as the client reads it.

use firstcome_api::problem;
use serde_json::Value;

/// A refusal or failure that the server answered (RFC 9457).
#[derive(Debug, Clone)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The outcome's stable name, such as `sold_out`.
    pub outcome: String,
    /// One sentence for people.
    pub detail: String,
    /// Whether the same request may be answered otherwise later.
    pub retry: bool,
    /// `no`, or `unknown` where the request may have changed something.
    pub changed: String,
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
        Ok(Self {
            status,
            outcome: read.outcome.into_owned(),
            detail: detail.into_owned(),
            retry: read.retry,
            changed: read.changed.into_owned(),
            raw,
        })
    }

    /// The outcome and its sentence in one line.
    pub fn sentence(&self) -> String {
        if self.detail.is_empty() {
            self.outcome.clone()
        } else {
            format!("{}: {}", self.outcome, self.detail)
        }
    }
}
