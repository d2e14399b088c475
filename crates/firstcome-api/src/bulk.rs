//! Many commands in one request: each a line, answered by a line.

use crate::hold::{LateRequest, PickRequest};
use crate::waitlist::Wish;
use serde::{Deserialize, Serialize};

/// The media type of lines of JSON.
pub const MEDIA_TYPE: &str = "application/x-ndjson";

/// What a line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Do {
    /// Claim a unit.
    Claim,
    /// Cancel a claim.
    Cancel,
    /// Reserve units.
    Hold,
    /// Move the deadline of a hold.
    Extend,
    /// Confirm units of a hold.
    Confirm,
    /// Release units of a hold.
    Release,
    /// Leave a waitlist.
    Leave,
}

/// A command as a line of `POST /v1/commands`: the members of its own route, with those of the path and the query.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CommandRequest))]
#[serde(deny_unknown_fields)]
pub struct CommandLine {
    /// The command.
    #[serde(rename = "do")]
    pub verb: Do,
    /// The campaign.
    pub campaign: String,
    /// The subject: 1 to 255 bytes of UTF-8 without control characters.
    pub subject: String,
    /// The caller's own name for the line, up to 255 bytes; the answer repeats it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#ref: Option<String>,
    /// For `claim`, `cancel` and `leave`, the pool; for `confirm` and `release`, that of `units`. May be left out if the campaign has
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// For `claim`, whether to join the waitlist of the pool if what is wanted is not free.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
    /// For `claim` with `wait`, how many units: 1 to 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<u32>,
    /// For `claim` with `wait`, only seats of this price category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// For `claim` with `wait`, the channel of the seller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// For `claim` with `wait`, places of this area.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// For `claim` with `wait`, only seats next to each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adjacent: bool,
    /// For `cancel`, the rank of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// For `cancel`, `subject` or `operator`; if left out, the role of the key decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// For `cancel`, the reason; required if it is by the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For `extend`, `confirm` and `release`, the id of the hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// For `hold`, its id, which is required; for a step on a hold, the step's own id. 1 to 64 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// For `hold`, `confirm` and `release`, the units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picks: Vec<PickRequest>,
    /// For `confirm` and `release`, names of units of the only pool, or of `pool`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// For `extend`, the time from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// For `confirm`, the answer if it is late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<LateRequest>,
}

impl CommandLine {
    /// A command with nothing but what each has.
    pub fn new(verb: Do, campaign: impl Into<String>, subject: impl Into<String>) -> Self {
        Self {
            verb,
            campaign: campaign.into(),
            subject: subject.into(),
            r#ref: None,
            pool: None,
            wait: false,
            quantity: None,
            grade: None,
            channel: None,
            area: None,
            adjacent: false,
            rank: None,
            by: None,
            reason: None,
            hold: None,
            id: None,
            picks: Vec::new(),
            units: Vec::new(),
            ttl_ms: None,
            late: None,
        }
    }

    /// A claim that joins the waitlist if what is wanted is not free.
    pub fn join(campaign: impl Into<String>, subject: impl Into<String>, wish: Wish) -> Self {
        let Wish { quantity, grade, channel, area, adjacent } = wish;
        let claim = Self::claim(campaign, subject);
        Self { wait: true, quantity, grade, channel, area, adjacent, ..claim }
    }

    /// A claim.
    pub fn claim(campaign: impl Into<String>, subject: impl Into<String>) -> Self {
        Self::new(Do::Claim, campaign, subject)
    }
}

/// What stands before the document of an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnswerHead {
    /// The number of the line that it answers, from 1.
    pub line: u32,
    /// The caller's own name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#ref: Option<String>,
    /// The status that its own route would have.
    #[serde(default)]
    pub status: u16,
    /// The outcome.
    pub outcome: String,
    /// Whether the answers end here: this line and all after it were not done.
    #[serde(default)]
    pub ends: bool,
}

/// An answer: that of the command's own route with `line`, `ref` and `status`; for a refusal, all members of its problem
/// document.
///
/// For the description only.
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(as = CommandView)]
pub struct CommandAnswer {
    /// The number of the line that it answers, from 1. Empty lines are counted and have no answer.
    pub line: u32,
    /// The caller's own name for it.
    #[schema(required = false, value_type = String)]
    pub r#ref: Option<String>,
    /// The status that the command's own route has: a yes is below 300.
    pub status: u16,
    /// The outcome.
    pub outcome: String,
    /// `true` if the answers end here: this line and all after it were not done.
    #[schema(required = false, value_type = bool)]
    pub ends: Option<bool>,
    /// For a refusal with `Retry-After`, the milliseconds after which to try again.
    #[schema(required = false, value_type = u64)]
    pub retry_after_ms: Option<u64>,
}
