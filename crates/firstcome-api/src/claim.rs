//! Claims: requests, answers, lists, cancels.

use crate::hidden::Hidden;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

/// A claim: the subject, and the pool; and, if it waits, what for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest<'a> {
    /// The subject: 1 to 255 bytes of UTF-8 without control characters. Required with a key; a subject token contains its
    /// subject.
    #[serde(
        borrow,
        default,
        deserialize_with = "borrowed",
        skip_serializing_if = "Option::is_none"
    )]
    pub subject: Option<Cow<'a, str>>,
    /// The pool; may be left out if the campaign has one.
    #[serde(
        borrow,
        default,
        deserialize_with = "borrowed",
        skip_serializing_if = "Option::is_none"
    )]
    pub pool: Option<Cow<'a, str>>,
    /// Whether to join the waitlist of the pool if what is wanted is not free.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
    /// With `wait`, how many units, which come together or not at all: 1 to 10; 1 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<u32>,
    /// With `wait`, only seats of this price category.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Cow<'a, str>>,
    /// With `wait`, the channel of the seller: only with it can its reserved seats be had.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Cow<'a, str>>,
    /// With `wait`, places of this area, and no seats.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub area: Option<Cow<'a, str>>,
    /// With `wait`, only seats next to each other in one row.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adjacent: bool,
}

/// Reads a text as it stands in the document, unless it has escapes: of an option `serde` would copy it.
fn borrowed<'de: 'a, 'a, D: Deserializer<'de>>(
    document: D,
) -> Result<Option<Cow<'a, str>>, D::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    Ok(Option::<Text<'a>>::deserialize(document)?.map(|text| text.0))
}

/// A won unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Won<'a> {
    /// `won`, or `already_won` if the subject had it before.
    pub outcome: Cow<'a, str>,
    /// The campaign.
    pub campaign: Cow<'a, str>,
    /// The pool.
    pub pool: Cow<'a, str>,
    /// Its owner.
    pub subject: Cow<'a, str>,
    /// The rank in the pool, from 1, without gaps.
    pub rank: u32,
    /// The code of a coded pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub code: Option<Hidden<Cow<'a, str>>>,
    /// When it was won.
    pub at: Cow<'a, str>,
    /// The position to which this answer belongs.
    pub position: Cow<'a, str>,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'a, str>,
}

impl Won<'_> {
    /// Whether the subject had it before this request.
    ///
    /// A request that is sent again after a lost answer may be told so about what its first copy won.
    pub fn again(&self) -> bool {
        self.outcome == "already_won"
    }
}

/// The cancel of a claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CancelView))]
pub struct Cancel {
    /// When.
    pub at: String,
    /// `subject` or `operator`.
    pub by: Cow<'static, str>,
    /// The reason; empty if there is none.
    pub reason: String,
}

/// One claim of a subject.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ClaimView))]
pub struct Claim {
    /// The pool.
    pub pool: String,
    /// The rank in the pool.
    pub rank: u32,
    /// Its unit in a seated pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The id of its hold, if it was confirmed from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// Its code in a coded pool, while the claim is live: for the subject itself, and for keys with the role `redeem`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub code: Option<Hidden<String>>,
    /// When it was won.
    pub at: String,
    /// Its cancel; null while it is live.
    pub cancelled: Option<Cancel>,
}

/// The claims of a subject in a campaign, the latest first in each pool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ClaimsOf))]
pub struct SubjectClaims {
    /// The campaign.
    pub campaign: String,
    /// The owner of the claims.
    pub subject: String,
    /// Live and cancelled claims.
    pub claims: Vec<Claim>,
    /// The `after` of the next page; null if this is the last.
    pub next: Option<u64>,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this node's state may be out of date.
    pub stale: bool,
    /// Whether this data is known to be durable; `false` if it was not within 1 s.
    pub durable: bool,
}

/// A cancelled claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Cancelled {
    /// `cancelled`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// The owner of the claim.
    pub subject: String,
    /// Its rank, which is never used again.
    pub rank: u32,
    /// `subject` or `operator`: who cancelled it the first time.
    pub by: Cow<'static, str>,
    /// When it was cancelled the first time.
    pub at: String,
    /// Whether the subject is now excluded from the campaign by a bar.
    #[serde(default)]
    pub kept_out: bool,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'static, str>,
}
