//! Subject tokens, with which a browser acts for one subject, and tickets, with which it follows events.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The subject and the campaigns of a token.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TokenRequest<'a> {
    /// The subject of the token: 1 to 255 bytes of UTF-8 without control characters.
    #[serde(borrow)]
    pub subject: Cow<'a, str>,
    /// The name of the campaign, or the beginning of names followed by `*`.
    #[serde(borrow)]
    pub campaign: Cow<'a, str>,
    /// How long it is valid, in seconds, 1 to 2,678,400 (31 days); 900 if left out.
    #[serde(default = "quarter_of_an_hour")]
    pub expires_in_s: u32,
    /// Whether it allows cancels; no if left out.
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
    /// The token; the browser sends `Authorization: Bearer TOKEN`.
    pub token: String,
    /// The subject of the token.
    pub subject: Cow<'a, str>,
    /// The name of the campaign, or the beginning of names followed by `*`.
    pub campaign: Cow<'a, str>,
    /// Whether it allows cancels.
    pub cancel: bool,
    /// When it expires.
    pub expires_at: String,
}

/// A ticket: it only opens streams of events, as `?ticket=` in their URL.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Ticket<'a> {
    /// `minted`.
    pub outcome: Cow<'a, str>,
    /// The ticket; the page appends it to `GET /v1/campaigns/{campaign}/events?ticket=`.
    pub ticket: String,
    /// The name of the campaign, or the beginning of names followed by `*`, as in the token.
    pub campaign: String,
    /// When it expires: together with the token.
    pub expires_at: String,
}
