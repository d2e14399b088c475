//! Bars: subjects that an operator keeps out of a campaign.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Who is to be kept out, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BarRequest {
    /// Who is kept out: 1 to 255 bytes of UTF-8 without control characters.
    pub subject: String,
    /// Why: 1 to 256 bytes.
    pub reason: String,
}

/// A subject that is barred.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BarSet {
    /// `bar_set`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// Who is kept out.
    pub subject: String,
    /// Since when: the first time counts.
    pub at: String,
    /// How many live holds of the subject ended; 0 if it was barred before.
    pub holds: u32,
    /// The position this is as of.
    pub position: String,
    /// `journal`, or `replica` when this node's state was enough.
    pub decided: Cow<'static, str>,
}

/// A subject that is not barred.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BarLifted {
    /// `bar_lifted`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// Who is let in again.
    pub subject: String,
    /// Whether the subject was barred before.
    pub was_barred: bool,
    /// The position this is as of.
    pub position: String,
    /// `journal`, or `replica` when this node's state was enough.
    pub decided: Cow<'static, str>,
}

/// One bar.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = BarView))]
pub struct BarLine {
    /// Its number: 1, 2, 3 in the order of barring; those taken back are left out.
    pub number: u32,
    /// Who is kept out.
    pub subject: String,
    /// Since when.
    pub at: String,
    /// Why.
    pub reason: String,
    /// The name of the key it was given with.
    pub who: String,
}

/// A run of bars.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = BarsView))]
pub struct BarPage {
    /// The bars, in the order of barring.
    pub bars: Vec<BarLine>,
    /// What to give as `after` to go on; null when these were the last.
    pub next: Option<u64>,
    /// How many subjects are barred from the campaign.
    pub count: usize,
    /// The position this is as of.
    pub position: String,
    /// Whether these are known to be as durable as answers to commands are.
    pub durable: bool,
}
