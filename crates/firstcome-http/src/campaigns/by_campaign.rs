//! How many units of each campaign are left and won, and how many people wait, of a stated number of campaigns at most.

use firstcome_core::State;
use firstcome_core::pool::Pool;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Campaigns that are shown: those that were created last.
pub(crate) const CAMPAIGNS: usize = 100;

/// How a campaign stands.
pub(crate) struct Standing {
    name: String,
    left: u64,
    won: u64,
    waiting: u64,
    offered: u64,
}

/// Returns how the campaigns stand that were created last; each pool keeps its own counts.
pub(crate) fn standings(state: &State) -> Vec<Standing> {
    let latest = state.campaigns().rev().take(CAMPAIGNS);
    let sum =
        |pools: &[Pool], of: fn(&Pool) -> u32| pools.iter().map(|pool| u64::from(of(pool))).sum();
    let standing = latest.map(|campaign| Standing {
        name: campaign.name().to_owned(),
        left: sum(campaign.pools(), Pool::left),
        won: sum(campaign.pools(), |pool| pool.last_rank() - pool.cancelled()),
        waiting: campaign.waiters(),
        offered: campaign.pools().iter().map(Pool::offered).sum(),
    });
    standing.collect()
}

/// Returns a registry of how campaigns stand.
pub(crate) fn registry(standings: &[Standing]) -> Registry {
    let mut registry = Registry::with_prefix("firstcome");
    let [left, won, waiting, offered] = [(); 4].map(|()| Family::<_, Gauge>::default());
    for standing in standings {
        let labels = vec![("campaign", standing.name.clone())];
        left.get_or_create(&labels).set(standing.left.cast_signed());
        won.get_or_create(&labels).set(standing.won.cast_signed());
        waiting.get_or_create(&labels).set(standing.waiting.cast_signed());
        offered.get_or_create(&labels).set(standing.offered.cast_signed());
    }
    registry.register("campaign_left", "Units free and for sale", left);
    registry.register("campaign_won", "Claims that stand, cancelled ones not counted", won);
    registry.register("campaign_waiting", "Subjects on the waitlists of its pools", waiting);
    registry.register("campaign_offered", "Subjects with an offer from a waitlist", offered);
    registry
}
