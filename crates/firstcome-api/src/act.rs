//! Acts: what operators did to a campaign.

use serde::{Deserialize, Serialize};

/// One act: an operator's command that the journal decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ActView))]
pub struct ActLine {
    /// Its number: 1, 2, 3 in the order of the journal.
    pub number: u32,
    /// When.
    pub at: String,
    /// The name of the key.
    pub who: String,
    /// What was asked for: `put`, `pause`, `resume`, `close`, `archive`, `delete`, `add_seats`, `change_seats`, `block`,
    /// `unblock`, `move`, `bar`, `unbar`, `cancel`, `revoke_codes`, `suspend_codes`, `restore_codes`, `revoke_import`,
    /// `replace_code`, `commit_import` or `discard_import`.
    pub act: String,
    /// What it was about, in names and numbers: seats, a subject, the settings that changed; at most 512 bytes.
    pub about: String,
    /// Why; empty if no reason was given.
    pub reason: String,
    /// What came of it: the outcome of a success or of a refusal.
    pub outcome: String,
}

/// The last acts on a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ActsView))]
pub struct ActPage {
    /// The campaign.
    pub campaign: String,
    /// The acts, the newest first: at most 1,000.
    pub acts: Vec<ActLine>,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this data is known to be durable.
    pub durable: bool,
}
