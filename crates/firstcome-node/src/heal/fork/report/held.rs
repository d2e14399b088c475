//! What a hold has, as a list tells it.

use firstcome_core::hold::Fate;
use firstcome_core::state::State;
use std::fmt;

/// A hold by its campaign and its id.
pub(super) type HoldName = (Box<str>, Box<str>);

/// What a hold has: whose it is, and its units, those that are claims with their ranks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HeldUnits {
    pub(super) subject: Box<str>,
    units: Vec<String>,
}

impl HeldUnits {
    /// Returns what a hold has in a state; a unit that was given back is none of it.
    pub(super) fn by((campaign, id): &HoldName, state: &State) -> Option<Self> {
        let campaign = state.campaign(campaign).ok()?;
        let hold = campaign.hold_of(id)?;
        let units = campaign.units_named(hold).into_iter().zip(hold.takes());
        let units = units.filter_map(|(unit, take)| match take.fate {
            Fate::Released => None,
            Fate::Confirmed(rank) => Some(format!("{unit} as rank {rank}")),
            Fate::Held | Fate::Expired | Fate::Refunded => Some(unit.to_string()),
        });
        Some(Self { subject: hold.subject().into(), units: units.collect() })
    }
}

impl fmt::Display for HeldUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.units[..] {
            [] => f.write_str("nothing"),
            units => f.write_str(&units.join(", ")),
        }
    }
}
