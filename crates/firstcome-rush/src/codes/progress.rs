//! How a load test on codes is going.

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
    /// Codes that were issued in answers.
    pub issued: u64,
    /// Redemptions that were not rolled back.
    pub redeemed: u64,
    /// Redemptions that were rolled back.
    pub rolled_back: u64,
    /// Claims that were cancelled.
    pub cancelled: u64,
    /// How long no server could be reached by now, if none can.
    pub outage: Option<Duration>,
    /// Answers by their outcome.
    pub answers: BTreeMap<String, u64>,
}
