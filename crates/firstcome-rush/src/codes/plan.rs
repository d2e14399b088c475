//! What a load test on codes is to do.

use std::time::Duration;

use crate::people::Access;
use firstcome_api::key::Secret;
use firstcome_client::Server;

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
    /// Requests, not people: cut off right after sending, and sent again.
    pub cut: f64,
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
            cut: 0.0,
        }
    }
}

/// What a load test on codes is to do; everything random in it follows from the seed.
#[derive(Debug)]
pub struct Plan {
    /// The servers, all of one space; a connection that loses its server goes on to the next.
    pub servers: Vec<Server>,
    /// The key every request carries.
    pub key: Option<Secret>,
    /// The campaign.
    pub campaign: String,
    /// The coded pool.
    pub pool: String,
    /// How many times a code can be redeemed.
    pub uses: u32,
    /// How long a reservation is asked for.
    pub reservation: Duration,
    /// How many people come.
    pub people: u32,
    /// How many of them come in a second; all at once without.
    pub per_second: Option<f64>,
    /// How long they think before they pay, on average.
    pub think: Duration,
    /// How often somebody asks again for a code when there is none.
    pub tries: u32,
    /// How long somebody waits for a code on average before they leave the waitlist.
    pub waits: Duration,
    /// What they do.
    pub shares: Shares,
    /// What every subject's name begins with.
    pub prefix: String,
    /// How many connections they share.
    pub connections: usize,
    /// The seed.
    pub seed: u64,
    /// How long one request is sent again before the load test gives up.
    pub patience: Duration,
    /// How much later than this side knows a reservation may end on the other: service time may stand still for a while.
    pub slack: Duration,
    /// Whether nobody else claims in this pool: then every result belongs to an answer.
    pub alone: bool,
}

impl Plan {
    pub(super) fn access(&self) -> Access {
        Access {
            servers: self.servers.clone(),
            key: self.key.clone(),
            connections: self.connections,
            patience: self.patience,
        }
    }
}
