//! What a load test on claims is to do.

use std::sync::Arc;
use std::time::Duration;

use super::pace::Pace;
use super::tally::Tally;
use firstcome_api::key::Secret;
use firstcome_client::Server;

/// What a load test on claims is to do; everything random in it follows from the seed.
#[derive(Debug)]
pub struct Plan {
    /// The servers, all of one space; a connection that loses its server goes on to the next.
    pub servers: Vec<Server>,
    /// The key every claim carries.
    pub key: Option<Secret>,
    pub campaign: String,
    /// The pool; may be left out where the campaign has one.
    pub pool: Option<String>,
    /// How many requests.
    pub requests: u64,
    /// How many different subjects, at most 10,000,000.
    pub subjects: u32,
    /// What every subject's name begins with: letters, digits, `-`, `_` and `.` only.
    pub prefix: String,
    /// How many connections, each with one request under way.
    pub connections: usize,
    /// When requests are sent.
    pub pace: Arc<Pace>,
    /// The share of requests that repeat a subject, 0 to 1.
    pub repeat: f64,
    /// The share of requests cut off right after sending, and sent again, 0 to 1.
    pub cut: f64,
    pub seed: u64,
    /// The longest it may take; requests not sent by then are not sent.
    pub duration: Option<Duration>,
    /// How long one claim is sent again before the load test gives up.
    pub patience: Duration,
    /// The counts, to read while it runs.
    pub tally: Arc<Tally>,
}

/// The most subjects a plan may have: their names have seven digits.
pub const MOST_SUBJECTS: u32 = 10_000_000;

/// The name of a subject by its number.
pub fn subject_name(prefix: &str, number: u32) -> String {
    format!("{prefix}{number:07}")
}

/// The number of a subject by its name, if it is one of the plan's.
pub(super) fn subject_number(prefix: &str, name: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix).filter(|digits| digits.len() == 7)?;
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())?
}
