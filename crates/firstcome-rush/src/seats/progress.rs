//! How a load test on seats is going.

use std::collections::BTreeMap;
use std::time::Duration;

/// How it is going.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Since the load test began.
    pub elapsed: Duration,
    /// How many people come.
    pub people: u32,
    /// How many have come.
    pub came: u32,
    /// How many have gone home.
    pub gone: u32,
    /// Seats that were confirmed in answers.
    pub confirmed: u64,
    /// How long no server could be reached by now, if none can.
    pub outage: Option<Duration>,
    /// Answers by their outcome; `looked` are looks at the map.
    pub answers: BTreeMap<String, u64>,
}
