//! Guards: rate limits, subject tokens, allowed origins, trusted proxies and eligibility checks.
//!
//! Nothing here reaches the rules or the journal: each of these is decided by the server that was
//! asked, before a command is written, so that a replay never asks again.

pub mod cors;
pub mod eligibility;
pub mod peer;
pub mod rate;
pub mod token;
pub mod wrong_codes;

use cors::Origins;
use eligibility::Checks;
use peer::Proxies;
use rate::Limiter;
use token::TokenKeys;
use wrong_codes::WrongCodes;

/// The guards of a server; the default lets everybody through.
#[derive(Debug, Default)]
pub struct Guards {
    /// How often a subject may ask.
    pub subjects: Option<Limiter>,
    /// How often an address may ask.
    pub addresses: Option<Limiter>,
    /// How often an address may come with a key or a token that is not known, or ask for a hold that is not its own.
    pub misses: Option<Limiter>,
    /// The proxies that are believed when they say where a request came from.
    pub proxies: Proxies,
    /// Which pages a browser may call from.
    pub origins: Origins,
    /// The keys that subject tokens are checked with.
    pub tokens: TokenKeys,
    /// The eligibility checks, by campaign.
    pub checks: Checks,
    /// Who tried codes that do not exist.
    pub wrong_codes: WrongCodes,
}
