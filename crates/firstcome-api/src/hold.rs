//! Holds: units set aside until a deadline, and the steps on them.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Some units of one pool: `units` by name, or a `quantity` (of an `area`, or of a counted pool), or the `best` seats.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PickRequest {
    /// The pool; may be left out where the campaign has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Names of seats, of groups as a whole, of areas for one place each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<Vec<String>>,
    /// How many places of the area, or units of a counted pool: 1 to 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<u32>,
    /// The area that `quantity` is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// How many of the best seats there are: 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<u32>,
    /// The best of this grade only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// The best at this price only, in the smallest unit of `currency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_minor: Option<i64>,
    /// Three capital letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// For whom the seller acts: seats kept for a channel are had by naming it only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Whether the best are all next to each other; yes if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjacent: Option<bool>,
    /// Whether the best are seats marked as accessible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accessible: Option<bool>,
}

impl PickRequest {
    /// Picks units by name.
    pub fn names(pool: Option<String>, units: Vec<String>) -> Self {
        Self { pool, units: Some(units), ..Self::default() }
    }
}

/// Who wants which units set aside.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct HoldRequest {
    /// The hold's id, which makes it the same when it is asked for again: 1 to 64 bytes. `Idempotency-Key` says the
    /// same; drawn here, if neither is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Who competes: 1 to 255 bytes of UTF-8 without control characters. Needed with a key; a subject token names its
    /// subject itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Which units: all of them or none.
    pub picks: Vec<PickRequest>,
    /// How long to wait for named seats that somebody has: 0 to 3,000, more counts as that. Not at all, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// What a subject adds to its hold, or gives back of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangeRequest {
    /// Whose hold it is. Needed with a key; a subject token names its subject itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Names of units of the campaign's pool, or of `pool`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// The pool `units` are of; may be left out where the campaign has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Which units, in the form a hold takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picks: Vec<PickRequest>,
}

/// For how long.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExtendRequest {
    /// Whose hold it is. Needed with a key; a subject token names its subject itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// From now; the campaign's time for a hold, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
}

/// Which units were paid for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ConfirmRequest {
    /// Whose hold it is.
    pub subject: String,
    /// Names of units of the campaign's pool, or of `pool`; all that are held, if nothing is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// The pool `units` are of; may be left out where the campaign has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Which units, in the form a hold takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picks: Vec<PickRequest>,
    /// What becomes of a confirm that comes too late.
    #[serde(default)]
    pub late: LateRequest,
}

/// What becomes of a confirm that comes after its hold expired.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LateRequest {
    /// `hold_expired`.
    #[default]
    Refuse,
    /// The same units are taken again if all of them are free; otherwise `refund_due`.
    Retake,
}

/// A unit of a hold. Places of an area, and units of a counted pool, come together with their `quantity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = UnitView))]
pub struct HeldUnit {
    /// The pool.
    pub pool: String,
    /// The seat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The area.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// How many units, where they are not told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantity: Option<u32>,
    /// What became of it: `held`, `confirmed`, `expired`, `released` or `refund_due`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Cow<'static, str>>,
    /// Its rank in its pool, once it is confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Its grade.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// The price of one unit, in the smallest unit of its currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_minor: Option<i64>,
    /// Three capital letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

/// Units set aside.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = HeldView))]
pub struct Held<'a> {
    /// `held`, or `already_held` when they were so before.
    pub outcome: Cow<'a, str>,
    /// The hold's id.
    pub hold: Cow<'a, str>,
    /// The campaign.
    pub campaign: Cow<'a, str>,
    /// Whose hold it is.
    pub subject: Cow<'a, str>,
    /// Everything the hold has set aside.
    pub units: Vec<HeldUnit>,
    /// When they are free again if journal time goes on without a break; later if it does not.
    pub expires_at: String,
    /// The position this is as of.
    pub position: String,
    /// `journal`, or `replica` when this node's state was enough.
    pub decided: Cow<'a, str>,
}

impl Held<'_> {
    /// Whether the units were held just so before this request.
    ///
    /// A request that is sent again after a lost answer may be told so about what its first copy held.
    pub fn again(&self) -> bool {
        self.outcome == "already_held"
    }
}

/// A hold that lasts longer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ExtendedView))]
pub struct Extended<'a> {
    /// `extended`.
    pub outcome: Cow<'a, str>,
    /// The hold's id.
    pub hold: Cow<'a, str>,
    /// The campaign.
    pub campaign: Cow<'a, str>,
    /// Whose hold it is.
    pub subject: Cow<'a, str>,
    /// When its units are free again if journal time goes on without a break.
    pub expires_at: String,
    /// The position this is as of.
    pub position: String,
    /// `journal`, or `replica` when this node's state was enough.
    pub decided: Cow<'a, str>,
}

/// Units that are the subject's for good, or not held any more.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = EndedView))]
pub struct Ended<'a> {
    /// `confirmed` or `released`.
    pub outcome: Cow<'a, str>,
    /// The hold's id.
    pub hold: Cow<'a, str>,
    /// The campaign.
    pub campaign: Cow<'a, str>,
    /// Whose hold it is.
    pub subject: Cow<'a, str>,
    /// The units asked about; with their ranks if they are confirmed.
    pub units: Vec<HeldUnit>,
    /// When the last of them was confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Whether the hold had expired and its units were free to be taken again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retaken: Option<bool>,
    /// How many units the hold has set aside still.
    pub left: u32,
    /// The position this is as of.
    pub position: String,
    /// `journal`, or `replica` when this node's state was enough.
    pub decided: Cow<'a, str>,
}

/// The answer to a hold or to a step on one, for a reader who takes all of them.
#[derive(Clone, Debug, Deserialize)]
pub struct HoldAnswer {
    /// `held`, `already_held`, `extended`, `confirmed` or `released`.
    pub outcome: String,
    /// The hold's id.
    pub hold: String,
    /// Whose hold it is.
    pub subject: String,
    /// The units it is about; none where it was extended.
    #[serde(default)]
    pub units: Vec<HeldUnit>,
    /// When they are free again.
    pub expires_at: Option<String>,
    /// Whether they were taken again after the hold had expired.
    #[serde(default)]
    pub retaken: bool,
    /// How many units the hold has set aside still, where it was confirmed or released.
    pub left: Option<u32>,
}

/// What became of a hold that was asked for before: `already_held`, or how it ended with a yes.
///
/// It only describes: the server writes [`Held`] or [`Ended`].
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(as = HeldBeforeView)]
pub struct HeldBefore {
    /// `already_held` or `confirmed`.
    pub outcome: String,
    /// The hold's id.
    pub hold: String,
    /// The campaign.
    pub campaign: String,
    /// Whose hold it is.
    pub subject: String,
    /// The units it has; with their ranks if they are confirmed.
    pub units: Vec<HeldUnit>,
    /// When they are free again, if they are held.
    #[schema(required = false, value_type = String)]
    pub expires_at: Option<String>,
    /// When the last of them was confirmed, if they are.
    #[schema(required = false, value_type = String)]
    pub at: Option<String>,
    /// Whether they were taken again after the hold had expired, if they are confirmed.
    #[schema(required = false, value_type = bool)]
    pub retaken: Option<bool>,
    /// How many units are set aside still, if some are confirmed.
    #[schema(required = false, value_type = u32)]
    pub left: Option<u32>,
    /// The position this is as of.
    pub position: String,
    /// `journal`, or `replica` when this node's state was enough.
    pub decided: String,
}

/// A hold as it stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = HoldView))]
pub struct Hold {
    /// The campaign.
    pub campaign: String,
    /// The hold's id.
    pub hold: String,
    /// Whose hold it is.
    pub subject: String,
    /// `live`, `confirmed`, `expired`, `released` or `refund_due`.
    pub state: Cow<'static, str>,
    /// When it began.
    pub started_at: String,
    /// When its units are free again, if it is live and journal time goes on without a break.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// How many of its units are set aside.
    pub held: u32,
    /// All its units, whatever became of them.
    pub units: Vec<HeldUnit>,
}

/// A hold as it stands, and as of when.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Shown))]
pub struct HoldLookup {
    /// The hold.
    #[serde(flatten)]
    pub hold: Hold,
    /// The position this is as of.
    pub position: String,
    /// Whether this node's state may be out of date.
    pub stale: bool,
    /// Whether this is known to be as durable as answers to commands are: `false` after a second of waiting for it.
    pub durable: bool,
}
