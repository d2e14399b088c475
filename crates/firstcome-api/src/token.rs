//! Subject tokens, with which a browser may act for one subject, and tickets, with which it follows events.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Who a token is to act for, and where.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TokenRequest<'a> {
    /// Whom its bearer acts for: 1 to 255 bytes of UTF-8 without control characters.
    #[serde(borrow)]
    pub subject: Cow<'a, str>,
    /// The campaign's name, or the beginning of names with `*` behind it.
    #[serde(borrow)]
    pub campaign: Cow<'a, str>,
    /// How long it is good for, 1 to 2,678,400 (31 days); 900 if left out.
    #[serde(default = "quarter_of_an_hour")]
    pub expires_in_s: u32,
    /// Whether its bearer may cancel, too; no if left out.
    #[serde(default)]
    pub cancel: bool,
}

fn quarter_of_an_hour() -> u32 {
    900
}

/// A token.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Minted<'a> {
    /// `minted`.
    pub outcome: Cow<'a, str>,
    /// What the browser sends as `Authorization: Bearer TOKEN`.
    pub token: String,
    /// Whom its bearer acts for.
    pub subject: Cow<'a, str>,
    /// The campaign's name, or the beginning of names with `*` behind it.
    pub campaign: Cow<'a, str>,
    /// Whether its bearer may cancel, too.
    pub cancel: bool,
    /// From when on it is not good any more.
    pub expires_at: String,
}

/// A ticket: it opens streams of events, and nothing else, as `?ticket=` in their address.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Ticket<'a> {
    /// `minted`.
    pub outcome: Cow<'a, str>,
    /// What the page puts behind `GET /v1/campaigns/{campaign}/events?ticket=`.
    pub ticket: String,
    /// The campaign's name, or the beginning of names with `*` behind it: that of the token.
    pub campaign: String,
    /// From when on it is not good any more: the end of the token.
    pub expires_at: String,
}
