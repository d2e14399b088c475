//! Holds: units that are reserved until a deadline, and the steps on them.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Some units of one pool: `units` by name, or a `quantity` (of an `area`, or of a counted pool), or the `best` seats.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PickRequest {
    /// The pool; may be left out if the campaign has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Names of seats, of groups (all their seats), or of areas (one place each).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<Vec<String>>,
    /// How many places of the area, or units of a counted pool: 1 to 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<u32>,
    /// The area of `quantity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// A number of best seats: 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<u32>,
    /// The best of this price category only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// The best at this price only, in the smallest unit of `currency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_minor: Option<i64>,
    /// Three capital letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The channel of the seller: only with it can its reserved seats be held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Whether the best seats must be next to each other; yes if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjacent: Option<bool>,
    /// Whether the best seats must be marked as accessible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accessible: Option<bool>,
}

impl PickRequest {
    /// Picks units by name.
    pub fn names(pool: Option<String>, units: Vec<String>) -> Self {
        Self { pool, units: Some(units), ..Self::default() }
    }
}

/// A hold: the subject, and the units.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct HoldRequest {
    /// The id of the hold, 1 to 64 bytes: a repeated request with the same id is the same hold. `Idempotency-Key` has the same
    /// meaning. Without either, the server generates one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The subject: 1 to 255 bytes of UTF-8 without control characters. Required with a key; a subject token contains its
    /// subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The units: all of them or none.
    pub picks: Vec<PickRequest>,
    /// How long to wait for named seats that are taken: 0 to 3,000; more counts as 3,000. No wait if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// Units to add to a hold, or to give back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangeRequest {
    /// The owner of the hold. Required with a key; a subject token contains its subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Names of units of the only pool, or of `pool`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// The pool of `units`; may be left out if the campaign has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// The units, in the form of a hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picks: Vec<PickRequest>,
}

/// The new time of a hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExtendRequest {
    /// The owner of the hold. Required with a key; a subject token contains its subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The time from now; the campaign's time of a hold if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
}

/// The units to confirm.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ConfirmRequest {
    /// The owner of the hold.
    pub subject: String,
    /// Names of units of the only pool, or of `pool`; all held units if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// The pool of `units`; may be left out if the campaign has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// The units, in the form of a hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picks: Vec<PickRequest>,
    /// The answer to a late confirm.
    #[serde(default)]
    pub late: LateRequest,
}

/// The answer to a confirm after the hold has expired.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LateRequest {
    /// `hold_expired`.
    #[default]
    Refuse,
    /// Take the same units again if all of them are free; otherwise `refund_due`.
    Retake,
}

/// A unit of a hold. Places of an area, and units of a counted pool, are one item with a `quantity`.
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
    /// The number of units, if they have no names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantity: Option<u32>,
    /// Its state: `held`, `confirmed`, `expired`, `released` or `refund_due`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Cow<'static, str>>,
    /// Its rank in its pool, if it is confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Its price category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// The price of one unit, in the smallest unit of its currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_minor: Option<i64>,
    /// Three capital letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

/// Reserved units.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = HeldView))]
pub struct Held<'a> {
    /// `held`, or `already_held` if they were held before; `offered` if the waitlist holds them for a claim that waits.
    pub outcome: Cow<'a, str>,
    /// The id of the hold.
    pub hold: Cow<'a, str>,
    /// `true` if it is an offer from the waitlist: it is confirmed or released as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offer: bool,
    /// The campaign.
    pub campaign: Cow<'a, str>,
    /// The owner of the hold.
    pub subject: Cow<'a, str>,
    /// All units of the hold.
    pub units: Vec<HeldUnit>,
    /// When the units are free again; later if the store is down meanwhile.
    pub expires_at: String,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
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

/// An extended hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ExtendedView))]
pub struct Extended<'a> {
    /// `extended`.
    pub outcome: Cow<'a, str>,
    /// The id of the hold.
    pub hold: Cow<'a, str>,
    /// The campaign.
    pub campaign: Cow<'a, str>,
    /// The owner of the hold.
    pub subject: Cow<'a, str>,
    /// When its units are free again; later if the store is down meanwhile.
    pub expires_at: String,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'a, str>,
}

/// Confirmed or released units.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = EndedView))]
pub struct Ended<'a> {
    /// `confirmed` or `released`.
    pub outcome: Cow<'a, str>,
    /// The id of the hold.
    pub hold: Cow<'a, str>,
    /// The campaign.
    pub campaign: Cow<'a, str>,
    /// The owner of the hold.
    pub subject: Cow<'a, str>,
    /// The units of the request; with their ranks if they are confirmed.
    pub units: Vec<HeldUnit>,
    /// When the last of them was confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Whether the hold had expired and its units were taken again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retaken: Option<bool>,
    /// How many units the hold still has.
    pub left: u32,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'a, str>,
}

/// The answer to a hold or to a step on one, for a client that reads all of them.
#[derive(Clone, Debug, Deserialize)]
pub struct HoldAnswer {
    /// `held`, `already_held`, `extended`, `confirmed` or `released`.
    pub outcome: String,
    /// The id of the hold.
    pub hold: String,
    /// The owner of the hold.
    pub subject: String,
    /// The units of the request; none for an extension.
    #[serde(default)]
    pub units: Vec<HeldUnit>,
    /// When they are free again.
    pub expires_at: Option<String>,
    /// Whether they were taken again after the hold had expired.
    #[serde(default)]
    pub retaken: bool,
    /// How many units the hold still has, after a confirm or a release.
    pub left: Option<u32>,
}

/// The answer to a repeated hold: `already_held`, or `confirmed`.
///
/// For the description only: the server writes [`Held`] or [`Ended`].
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(as = HeldBeforeView)]
pub struct HeldBefore {
    /// `already_held` or `confirmed`.
    pub outcome: String,
    /// The id of the hold.
    pub hold: String,
    /// `true` if it is an offer from the waitlist.
    #[schema(required = false)]
    pub offer: bool,
    /// The campaign.
    pub campaign: String,
    /// The owner of the hold.
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
    /// How many units are still held, if some are confirmed.
    #[schema(required = false, value_type = u32)]
    pub left: Option<u32>,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: String,
}

/// The current state of a hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = HoldView))]
pub struct Hold {
    /// The campaign.
    pub campaign: String,
    /// The id of the hold.
    pub hold: String,
    /// `true` if it is an offer from the waitlist: it is confirmed or released as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offer: bool,
    /// The owner of the hold.
    pub subject: String,
    /// `live`, `confirmed`, `expired`, `released` or `refund_due`.
    pub state: Cow<'static, str>,
    /// When it was made.
    pub started_at: String,
    /// When its units are free again, if it is live; later if the store is down meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// How many of its units are held.
    pub held: u32,
    /// All its units, in any state.
    pub units: Vec<HeldUnit>,
}

/// The current state of a hold, with its position.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Shown))]
pub struct HoldLookup {
    /// The hold.
    #[serde(flatten)]
    pub hold: Hold,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this node's state may be out of date.
    pub stale: bool,
    /// Whether this data is known to be durable; `false` if it was not within 1 s.
    pub durable: bool,
}
