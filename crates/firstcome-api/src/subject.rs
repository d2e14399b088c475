//! The holds and claims of a subject over all campaigns.

use crate::claim::Claim;
use crate::hold::Hold;
use serde::{Deserialize, Serialize};

/// The holds and claims of a subject in one campaign.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = InCampaign))]
pub struct SubjectIn {
    /// The campaign.
    pub campaign: String,
    /// Its live holds, in the order they began.
    pub holds: Vec<Hold>,
    /// Its claims, the latest first in each pool; 1,000 at most.
    pub claims: Vec<Claim>,
    /// Where there are more, the `after` with which the claims of the campaign go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The holds and claims of a subject over all campaigns in memory that the key may read.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SubjectView))]
pub struct Subject {
    /// The subject.
    pub subject: String,
    /// The campaigns in which it has holds or claims.
    pub campaigns: Vec<SubjectIn>,
    /// The `after` of the next page; null if this is the last.
    pub next: Option<u64>,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this node's state may be out of date.
    pub stale: bool,
    /// Whether this data is known to be durable; `false` if it was not within 1 s.
    pub durable: bool,
}
