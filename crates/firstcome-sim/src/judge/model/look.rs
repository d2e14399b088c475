//! What a state says to somebody who is answered from it.

use super::Model;
use crate::history::Asked;
use firstcome_core::outcome::Missing;
use firstcome_core::{Outcome, Refusal};

/// What a state says to somebody who asks without the journal.
#[derive(Clone, Debug)]
pub(in crate::judge) struct Seen {
    pub(in crate::judge) outcome: Outcome,
    pub(in crate::judge) origin: usize,
    /// Whether the campaign lets subjects claim again.
    pub(in crate::judge) again: bool,
}

impl Model<'_> {
    /// Says what this state tells somebody who asks; none where it has no answer of its own.
    pub(in crate::judge) fn look(&self, asked: &Asked) -> Option<Seen> {
        let not_found = |origin| Seen {
            outcome: Refusal::NotFound(Missing::Campaign).into(),
            origin,
            again: false,
        };
        let (name, pool, subject) = match asked {
            Asked::Claim { campaign, pool, subject } => (campaign, pool.as_deref(), subject),
            Asked::Put { campaign, settings } => {
                let known = self.campaigns.get(campaign.as_str())?;
                let same = !known.archived && known.settings == **settings;
                let outcome = Outcome::Unchanged { version: known.version };
                return same.then_some(Seen { outcome, origin: known.entry, again: false });
            }
            Asked::Cancel { .. } | Asked::Steer { .. } => return None,
        };
        let Some(campaign) = self.campaigns.get(name.as_str()) else {
            return Some(not_found(self.entry));
        };
        let origin = campaign.pool(pool).and_then(|pool| pool.live(subject));
        let origin = origin.map_or(self.entry, |(_, row)| row.entry);
        let again = campaign.settings.claim_again;
        if campaign.archived {
            return Some(Seen { outcome: Refusal::Archived.into(), origin, again });
        }
        let outcome = campaign.judge_claim(self.at?, pool, subject, None).err()?;
        Some(Seen { outcome, origin, again })
    }
}
