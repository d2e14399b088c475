//! What a load test of people is to do.

use std::time::Duration;

use firstcome_api::key::Secret;
use firstcome_client::Server;

/// What a load test of people is to do; everything random in it follows from the seed.
#[derive(Debug)]
pub struct Plan<V> {
    /// The servers, all of one space; a connection that loses its server goes on to the next.
    pub servers: Vec<Server>,
    /// The key every request carries.
    pub key: Option<Secret>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// What people want and do there.
    pub visit: V,
    /// How many people come.
    pub people: u32,
    /// How many of them come in a second; all at once without.
    pub per_second: Option<f64>,
    /// How long they think before they pay, on average.
    pub think: Duration,
    /// The share of requests that are cut off right after sending, and sent again, 0 to 1.
    pub cut: f64,
    /// What every subject's name begins with.
    pub prefix: String,
    /// How many connections they share.
    pub connections: usize,
    /// The seed.
    pub seed: u64,
    /// How long one request is sent again before the load test gives up.
    pub patience: Duration,
    /// How much later than this side knows a hold or a reservation may end on the other: service time may stand still for
    /// a while.
    pub slack: Duration,
    /// Whether nobody else asks in this pool, and all of it is for sale: then every result belongs to an answer, and what
    /// is left, taken and blocked is all there is.
    pub alone: bool,
}
