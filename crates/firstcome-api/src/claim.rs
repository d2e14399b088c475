//! Claims: asked for, won, looked up, cancelled.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Who wants a unit, and from which pool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest<'a> {
    /// Who competes: 1 to 255 bytes of UTF-8 without control characters. Needed with a key; a subject token names its
    /// subject itself.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Cow<'a, str>>,
    /// The pool; may be left out where the campaign has one.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Cow<'a, str>>,
}

/// A unit that is the subject's.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Won<'a> {
    /// `won`, or `already_won` when the subject had it before.
    pub outcome: Cow<'a, str>,
    /// The campaign.
    pub campaign: Cow<'a, str>,
    /// The pool.
    pub pool: Cow<'a, str>,
    /// Who has it.
    pub subject: Cow<'a, str>,
    /// The rank in the pool, from 1 and gap-free.
    pub rank: u32,
    /// When it was won.
    pub at: String,
    /// The position this is as of.
    pub position: String,
    /// `journal`, or `replica` when this node's state was enough.
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

/// How a claim was undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CancelView))]
pub struct Cancel {
    /// When.
    pub at: String,
    /// `subject` or `operator`.
    pub by: Cow<'static, str>,
    /// Why; empty where nobody said.
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
    /// The unit of a seated pool that it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The id of the hold it came from, if it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// When it was won.
    pub at: String,
    /// How it was undone; null while it is live.
    pub cancelled: Option<Cancel>,
}

/// The claims of a subject in a campaign, the latest first in each pool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ClaimsOf))]
pub struct SubjectClaims {
    /// The campaign.
    pub campaign: String,
    /// Whose claims.
    pub subject: String,
    /// Live and cancelled claims.
    pub claims: Vec<Claim>,
    /// The position this is as of.
    pub position: String,
    /// Whether this node's state may be out of date.
    pub stale: bool,
    /// Whether this is known to be as durable as answers to commands are: `false` after a second of waiting for it.
    pub durable: bool,
}

/// A claim that is undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Cancelled {
    /// `cancelled`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// Whose claim.
    pub subject: String,
    /// Its rank, which nobody else will get.
    pub rank: u32,
    /// `subject` or `operator`: whose word counted the first time.
    pub by: Cow<'static, str>,
    /// When it was undone the first time.
    pub at: String,
    /// Whether the subject is kept out of the campaign now: by a bar, or, in a campaign made before level 3, by an
    /// operator's cancel.
    #[serde(default)]
    pub kept_out: bool,
    /// The position this is as of.
    pub position: String,
    /// `journal`, or `replica` when this node's state was enough.
    pub decided: Cow<'static, str>,
}
