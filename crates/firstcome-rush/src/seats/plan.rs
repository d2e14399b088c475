//! What a load test on seats is to do.

use std::time::Duration;

use crate::people::Access;
use firstcome_api::key::Secret;
use firstcome_client::Server;

/// What people do, as shares of all of them, 0 to 1; those who do none of it pay in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// Choose seats on the map; the others ask for the best.
    pub browse: f64,
    /// Leave without a word while they hold seats.
    pub abandon: f64,
    /// Say that the seats are not wanted.
    pub give_back: f64,
    /// Pay when their hold is over.
    pub late: f64,
    /// Ask for more than one may have.
    pub greedy: f64,
    /// Pay twice.
    pub repeat: f64,
    /// Requests, not people: cut off right after sending, and sent again.
    pub cut: f64,
}

impl Default for Shares {
    fn default() -> Self {
        Self {
            browse: 0.5,
            abandon: 0.1,
            give_back: 0.05,
            late: 0.1,
            greedy: 0.05,
            repeat: 0.2,
            cut: 0.0,
        }
    }
}

/// What a load test on seats is to do; everything random in it follows from the seed.
#[derive(Debug)]
pub struct Plan {
    /// The servers, all of one space; a connection that loses its server goes on to the next.
    pub servers: Vec<Server>,
    /// The key every request carries.
    pub key: Option<Secret>,
    /// The campaign.
    pub campaign: String,
    /// The seated pool.
    pub pool: String,
    /// The names of its seats by rows, as far as people may choose among them.
    pub rows: Vec<Vec<String>>,
    /// Units one subject may have, if the campaign says so.
    pub limit: Option<u32>,
    /// How long a hold lasts.
    pub hold: Duration,
    /// How many people come.
    pub people: u32,
    /// How many of them come in a second; all at once without.
    pub per_second: Option<f64>,
    /// How long they think before they pay, on average.
    pub think: Duration,
    /// What they do.
    pub shares: Shares,
    /// After so long everybody who comes pays in time, so that the seats run out.
    pub all_pay_after: Option<Duration>,
    /// What every subject's name begins with.
    pub prefix: String,
    /// How many connections they share.
    pub connections: usize,
    /// The seed.
    pub seed: u64,
    /// How long one request is sent again before the load test gives up.
    pub patience: Duration,
    /// How much later than this side knows a hold may end on the other: journal time may stand still for a while.
    pub slack: Duration,
    /// Whether nobody else asks for these seats, and all of them are for sale: then nothing is held once the last hold
    /// is over, and what is left, taken and blocked is all there is.
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
