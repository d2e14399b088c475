//! Bars: an operator excludes subjects from a campaign.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The subject to bar, and the reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BarRequest {
    /// The subject: 1 to 255 bytes of UTF-8 without control characters.
    pub subject: String,
    /// The reason: 1 to 256 bytes.
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
    /// The barred subject.
    pub subject: String,
    /// When it was first barred.
    pub at: String,
    /// How many live holds of the subject ended; 0 if it was barred before.
    pub holds: u32,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
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
    /// The subject.
    pub subject: String,
    /// Whether the subject was barred before.
    pub was_barred: bool,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'static, str>,
}

/// One bar.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = BarView))]
pub struct BarLine {
    /// Its number: 1, 2, 3 in the order of bars; removed bars are left out.
    pub number: u32,
    /// The barred subject.
    pub subject: String,
    /// When it was set.
    pub at: String,
    /// Why.
    pub reason: String,
    /// The name of the key that set it.
    pub who: String,
}

/// A page of bars.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = BarsView))]
pub struct BarPage {
    /// The bars, in the order in which they were set.
    pub bars: Vec<BarLine>,
    /// The `after` of the next page; null if this is the last one.
    pub next: Option<u64>,
    /// How many subjects are barred from the campaign.
    pub count: usize,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this data is known to be durable.
    pub durable: bool,
}
