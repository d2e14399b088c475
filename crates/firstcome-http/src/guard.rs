//! What stands before the rules: how often somebody may ask, who a browser may act for, and what
//! the team's own service says of a subject.
//!
//! Nothing here reaches the rules or the journal: each of these is decided by the server that was
//! asked, before a command is written, so that a replay never asks again.

pub mod cors;
pub mod eligibility;
pub mod peer;
pub mod rate;
pub mod token;

use cors::Origins;
use eligibility::Checks;
use peer::Proxies;
use rate::Limiter;
use token::TokenKeys;

/// The guards of a server; the default lets everybody through.
#[derive(Debug, Default)]
pub struct Guards {
    /// How often a subject may ask.
    pub subjects: Option<Limiter>,
    /// How often an address may ask.
    pub addresses: Option<Limiter>,
    /// Whose word on where a request came from is believed.
    pub proxies: Proxies,
    /// Which pages a browser may call from.
    pub origins: Origins,
    /// The keys that subject tokens are checked with.
    pub tokens: TokenKeys,
    /// Whom the team's own service has to know before it may claim.
    pub checks: Checks,
}
