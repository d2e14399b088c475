//! What a subject has over all campaigns.

use crate::claim::Claim;
use crate::hold::Hold;
use serde::{Deserialize, Serialize};

/// What a subject has in one campaign.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = InCampaign))]
pub struct SubjectIn {
    /// The campaign.
    pub campaign: String,
    /// Its live holds, in the order they began.
    pub holds: Vec<Hold>,
    /// Its claims, the latest first in each pool.
    pub claims: Vec<Claim>,
}

/// What a subject has over all campaigns in memory that the key is for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SubjectView))]
pub struct Subject {
    /// Who.
    pub subject: String,
    /// Those in which it has something.
    pub campaigns: Vec<SubjectIn>,
    /// The position this is as of.
    pub position: String,
    /// Whether this node's state may be out of date.
    pub stale: bool,
    /// Whether this is known to be as durable as answers to commands are: `false` after a second of waiting for it.
    pub durable: bool,
}
