//! Waitlists: a claim that waits, the place of a subject, the whole list, and leaving it.

pub(crate) mod join;
pub(crate) mod list;
pub(crate) mod place;

use firstcome_core::Refusal;
use firstcome_core::campaign::Campaign;
use firstcome_core::outcome::Missing;
use firstcome_core::pool::Pool;

/// Returns the pool that is named, or the only one.
fn pool<'a>(campaign: &'a Campaign, named: Option<&str>) -> Result<&'a Pool, Refusal> {
    match (named, campaign.pools()) {
        (Some(name), _) => campaign.pool(name).ok_or(Refusal::NotFound(Missing::Pool)),
        (None, [only]) => Ok(only),
        (None, []) => Err(Refusal::NotFound(Missing::Pool)),
        (None, _) => Err(Refusal::PoolRequired),
    }
}
