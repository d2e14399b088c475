//! What a reference did with a code: a fork may take it back, or let another reference be first.

use firstcome_core::campaign::Campaign;
use firstcome_core::codes::{CodeKey, UseState};
use firstcome_core::command::CodeStep;
use firstcome_core::state::State;

/// A code and a reference: campaign, pool, if it was named, the code, and the reference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UseAt(Box<str>, Option<Box<str>>, CodeKey, Box<str>);

impl UseAt {
    pub(super) fn of(step: &CodeStep<'_>) -> Self {
        let CodeStep { campaign, pool, code, reference } = *step;
        Self(campaign.into(), pool.map(Into::into), code, reference.into())
    }

    /// Returns the campaign and the pool as a list names them.
    pub(super) fn place(&self) -> String {
        let Self(campaign, pool, ..) = self;
        format!("{campaign}/{}", pool.as_deref().unwrap_or_default())
    }

    pub(super) fn reference(&self) -> &str {
        &self.3
    }
}

/// What a reference had done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UseStanding {
    pub(super) what: &'static str,
    /// The rank of the code's claim.
    pub(super) rank: u32,
    /// Whose it was.
    pub(super) holder: Box<str>,
}

impl UseStanding {
    /// Says what a reference did last in a state; none of one that redeemed nothing: a reservation ends by itself, and takes
    /// back no redemption that was before it.
    pub(super) fn of(at: &UseAt, state: &State) -> Option<Self> {
        let UseAt(campaign, pool, code, reference) = at;
        let campaign = state.campaign(campaign).ok()?;
        let view = campaign.code(pool.as_deref(), *code, (state.at(), state.service())).ok()?;
        let index = campaign.pools().iter().position(|pool| pool.name() == view.pool)?;
        let uses = campaign.uses_of(index, view.rank);
        let mut theirs = uses.filter(|(_, known)| known.reference == *reference);
        let what = theirs.find_map(|(_, known)| match known.state {
            UseState::Redeemed => Some("redeemed"),
            UseState::RolledBack { .. } => Some("rolled back"),
            UseState::Reserved { .. } | UseState::Released => None,
        })?;
        Some(Self { what, rank: view.rank, holder: view.subject.into() })
    }
}

/// Returns every use of a campaign's codes.
pub(super) fn uses(campaign: &Campaign) -> impl Iterator<Item = UseAt> {
    campaign.pools().iter().enumerate().flat_map(move |(index, pool)| {
        let ranks = if pool.codes().is_some() { pool.last_rank() } else { 0 };
        let codes =
            (1..=ranks).filter_map(move |rank| Some((rank, campaign.code_of_rank(index, rank)?)));
        codes.flat_map(move |(rank, code)| {
            campaign.uses_of(index, rank).map(move |(_, known)| {
                let pool = Some(pool.name().into());
                UseAt(campaign.name().into(), pool, code, known.reference.clone())
            })
        })
    })
}
