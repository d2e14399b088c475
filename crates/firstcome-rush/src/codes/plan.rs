//! What people want of codes, and what they do.

use std::time::Duration;

/// What people do, as shares of all of them, 0 to 1. Those who have a code and do none of the first four redeem it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// Cancel their claim: they do not want the code.
    pub cancel: f64,
    /// Reserve, and leave without a word.
    pub abandon: f64,
    /// Reserve, and give the reservation back.
    pub release: f64,
    /// Redeem, and roll that back.
    pub roll_back: f64,
    /// Of those who redeem: without a reservation.
    pub direct: f64,
    /// Of those who redeem: for several orders at once.
    pub crowd: f64,
    /// Send each step twice.
    pub repeat: f64,
    /// Try a code that they do not have.
    pub wrong: f64,
    /// Of those who find all codes gone: join the waitlist.
    pub wait: f64,
    /// Of those who wait: do nothing about the offer they get.
    pub let_go: f64,
}

impl Default for Shares {
    fn default() -> Self {
        Self {
            cancel: 0.05,
            abandon: 0.1,
            release: 0.05,
            roll_back: 0.1,
            direct: 0.3,
            crowd: 0.2,
            repeat: 0.3,
            wrong: 0.1,
            wait: 0.2,
            let_go: 0.2,
        }
    }
}

/// What people want of codes, and what they do.
#[derive(Debug)]
pub struct CodesPlan {
    /// How many times a code can be redeemed.
    pub uses: u32,
    /// How long a reservation is asked for.
    pub reservation: Duration,
    /// How often somebody asks again for a code when there is none.
    pub tries: u32,
    /// How long somebody waits for a code on average before they leave the waitlist.
    pub waits: Duration,
    /// What they do.
    pub shares: Shares,
}
