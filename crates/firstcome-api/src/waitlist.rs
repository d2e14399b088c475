//! Waitlists: who waits for units of a pool, in order, and for what.

use crate::hold::HeldUnit;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What somebody waits for. The units come together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// How many units: 1 to 10; 1 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<u32>,
    /// Only seats of this price category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// The channel of the seller: only with it can its reserved seats be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Places of this area, and no seats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// Only seats next to each other in one row.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adjacent: bool,
}

impl Wish {
    /// Returns a wish for so many units, whichever they are.
    pub fn units(quantity: u32) -> Self {
        Self { quantity: Some(quantity), ..Self::default() }
    }
}

/// A place on a waitlist, as the answer to a claim that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WaitlistedView))]
pub struct Waitlisted<'a> {
    /// `waitlisted`.
    pub outcome: Cow<'a, str>,
    /// The campaign.
    pub campaign: Cow<'a, str>,
    /// The pool.
    pub pool: Cow<'a, str>,
    /// Who waits.
    pub subject: Cow<'a, str>,
    /// How many wait in front, whatever they wait for.
    pub ahead: u32,
    /// How many units the subject waits for. A repeated request does not change it.
    pub quantity: u32,
    /// Whether something of what the subject wants was free since it joined, but too little or not together: others could
    /// have it, and the subject kept its place.
    pub passed_over: bool,
    /// How many offers the subject did not take. With the third one it is off the list.
    pub offers_not_taken: u8,
    /// The position to which this answer belongs.
    pub position: Cow<'a, str>,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'a, str>,
}

/// A claim that waits, answered with 200: `offered`, or `already_won`.
///
/// For the description only: the server writes the documents of a hold or of a claim.
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(as = ClaimBeforeView)]
pub struct ClaimBefore {
    /// `already_won`; for a claim that waits, `offered` if its units are held for the subject now.
    pub outcome: String,
    /// The campaign.
    pub campaign: String,
    /// The pool; that of the units, if it is `offered`.
    #[schema(required = false, value_type = String)]
    pub pool: Option<String>,
    /// Its owner.
    pub subject: String,
    /// The rank in the pool, if it is won.
    #[schema(required = false, value_type = u32)]
    pub rank: Option<u32>,
    /// Its code, if it is won in a coded pool.
    #[schema(required = false, value_type = String)]
    pub code: Option<String>,
    /// When it was won, if it is.
    #[schema(required = false, value_type = String)]
    pub at: Option<String>,
    /// The id of the hold, if it is an offer: confirm or release it; the offer of a code is taken by a claim without `wait`.
    #[schema(required = false, value_type = String)]
    pub hold: Option<String>,
    /// `true` if it is an offer.
    #[schema(required = false, value_type = bool)]
    pub offer: Option<bool>,
    /// The offered units.
    #[schema(required = false)]
    pub units: Option<Vec<HeldUnit>>,
    /// When the offer is over; later if the store is down meanwhile.
    #[schema(required = false, value_type = String)]
    pub expires_at: Option<String>,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: String,
}

/// Where a subject stands with the waitlist of a pool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = PlaceView))]
pub struct Place {
    /// `waits`, or `offered` if units are held for the subject until a deadline.
    pub state: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// The subject.
    pub subject: String,
    /// How many wait in front, whatever they wait for; only while the subject waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u32>,
    /// How many units the subject waits for, or has in the offer.
    pub quantity: u32,
    /// The price category it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// The channel it waits through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The area it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// Whether it waits for seats next to each other; only while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjacent: Option<bool>,
    /// Whether something of what it wants was free since it joined, but too little or not together; only while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_over: Option<bool>,
    /// How many offers it did not take. With the third one it is off the list.
    pub offers_not_taken: u8,
    /// Since when it has this place; for an offer, since when it is made.
    pub since: String,
    /// The id of the hold, if it is offered: confirm or release it as any hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// The offered units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<HeldUnit>,
    /// When the offer is over; later if the store is down meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this node's state may be out of date.
    pub stale: bool,
    /// Whether this data is known to be durable; `false` if it was not within 1 s.
    pub durable: bool,
}

impl Place {
    /// Says whether units are held for the subject.
    pub fn is_offered(&self) -> bool {
        self.state == "offered"
    }
}

/// The end of a wait that the subject asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = LeftWaitlistView))]
pub struct LeftWaitlist<'a> {
    /// `left_waitlist`.
    pub outcome: Cow<'a, str>,
    /// The campaign.
    pub campaign: Cow<'a, str>,
    /// The subject.
    pub subject: Cow<'a, str>,
    /// Whether it was on the list, or had an offer, which is over now.
    pub was_on: bool,
    /// The position to which this answer belongs.
    pub position: Cow<'a, str>,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'a, str>,
}

/// One who waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WaitingView))]
pub struct WaitingLine {
    /// Its ticket: tickets increase in the order of the list, with gaps.
    pub ticket: u32,
    /// Who waits.
    pub subject: String,
    /// How many units it waits for.
    pub quantity: u32,
    /// The price category it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// The channel it waits through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The area it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// Whether it waits for seats next to each other.
    pub adjacent: bool,
    /// How many offers it did not take.
    pub offers_not_taken: u8,
    /// Since when it has this place.
    pub since: String,
}

/// A page of a waitlist.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WaitlistView))]
pub struct WaitlistPage {
    /// Who waits, in order. Who has an offer is not among them.
    pub waiting: Vec<WaitingLine>,
    /// The `after` of the next page, a ticket; null if this is the last one.
    pub next: Option<u64>,
    /// How many wait in all.
    pub count: u64,
    /// How many have an offer.
    pub offered: u64,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this data is known to be durable; `false` if it was not within 1 s.
    pub durable: bool,
}
