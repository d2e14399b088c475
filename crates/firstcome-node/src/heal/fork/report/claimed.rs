//! What subjects claimed in the pools of an abandoned branch.

use firstcome_core::campaign::{Campaign, OnList};
use firstcome_core::pool::{Claim, Pool};
use firstcome_core::state::State;

/// A subject in a pool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Whose {
    pub(super) campaign: Box<str>,
    pub(super) pool: Box<str>,
    pub(super) subject: Box<str>,
}

impl Whose {
    pub(super) fn of(campaign: &Campaign, pool: &Pool, subject: &str) -> Self {
        let (campaign, pool) = (campaign.name().into(), pool.name().into());
        Self { campaign, pool, subject: subject.into() }
    }

    pub(super) fn pool<'s>(&self, state: &'s State) -> Option<&'s Pool> {
        state.campaign(&self.campaign).ok()?.pool(&self.pool)
    }

    /// Says whether the subject waits for units of the pool, or was offered some.
    pub(super) fn on_list<'s>(&self, state: &'s State) -> Option<OnList<'s>> {
        state.campaign(&self.campaign).ok()?.waiting(Some(&self.pool), &self.subject).ok()?
    }
}

/// What a subject claimed in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claimed {
    pub(super) rank: u32,
    /// Whether it is not cancelled.
    pub(super) live: bool,
    /// Whether they claimed nothing there since.
    pub(super) last: bool,
}

impl Claimed {
    pub(super) fn of(claim: &Claim<'_>, pool: &Pool) -> Self {
        let (rank, live) = (claim.rank, claim.cancel.is_none());
        Self { rank, live, last: pool.latest(claim.subject) == Some(rank) }
    }

    /// Returns what a subject claimed last, what they have longest, and what they cancelled. Other units that they have are
    /// told with their holds: a claim without one is older than all that they have besides.
    pub(super) fn all(whose: &Whose, state: &State) -> Vec<Self> {
        let Some(pool) = whose.pool(state) else { return Vec::new() };
        let claims = || pool.claims_of(&whose.subject).map(|claim| Self::of(&claim, pool));
        let longest = claims().filter(|claimed| claimed.live).last();
        claims()
            .filter(|claimed| claimed.last || !claimed.live || Some(*claimed) == longest)
            .collect()
    }

    pub(super) fn last(whose: &Whose, state: &State) -> Option<Self> {
        Self::all(whose, state).into_iter().next()
    }

    /// Returns what a subject has longest.
    pub(super) fn longest(whose: &Whose, state: &State) -> Option<Self> {
        Self::all(whose, state).into_iter().rfind(|claimed| claimed.live)
    }
}
