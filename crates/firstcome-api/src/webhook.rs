//! Webhooks: endpoints that are sent results.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// An endpoint to be added.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WebhookRequest {
    /// Where events are sent: `https`, at most 2048 bytes. Plain `http` and addresses that are not public only in the networks
    /// of the setting `webhook_allow`.
    pub url: String,
    /// Campaigns whose results are sent: names, or beginnings that end with `*`, at most 100. All, if left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub campaigns: Vec<String>,
    /// Types of events that are sent, such as `claim.won`. All, if left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Whether an event that fails holds back those behind it: `true` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered: Option<bool>,
    /// A remark of at most 256 bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The number of the result behind which it begins, 0 for all results there are; those from now on, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// A try to send an event.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WebhookDeliveryView))]
pub struct WebhookDelivery {
    /// The number of the result.
    pub number: u64,
    /// The id of the event, the same on every try.
    pub event: String,
    /// When it was tried.
    pub at: String,
    /// How long it took.
    pub took_ms: u64,
    /// The status of the answer; null if there was none.
    pub status: Option<u16>,
    /// What the answer said, its first 512 bytes; or why there was none.
    pub said: String,
    /// Whether the event was taken: the status was 2xx.
    pub taken: bool,
}

/// An endpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WebhookView))]
pub struct Webhook {
    /// Its id.
    pub webhook: String,
    /// Where events are sent.
    pub url: String,
    /// Campaigns whose results are sent; all, if none.
    pub campaigns: Vec<String>,
    /// Types of events that are sent; all, if none.
    pub types: Vec<String>,
    /// Whether an event that fails holds back those behind it.
    pub ordered: bool,
    /// The remark.
    pub note: String,
    /// When it was added.
    pub added_at: String,
    /// `on`; `failing` while nothing comes through; `off` while it is sent nothing.
    pub state: Cow<'static, str>,
    /// Why it is off.
    pub off_reason: Option<String>,
    /// Since when it is off or failing.
    pub since: Option<String>,
    /// All results up to this number were sent, are tried again or are parked.
    pub through: u64,
    /// How many results are tried again.
    pub waiting: u64,
    /// When the next of them is tried.
    pub next_at: Option<String>,
    /// How many results were tried as often as the schedule says, and are sent again only when that is asked for.
    pub parked: u64,
    /// The secret that it checks signatures with: only when it is added and when the secret is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The last tries, the newest last; at most 20.
    pub deliveries: Vec<WebhookDelivery>,
}

/// All endpoints.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WebhooksView))]
pub struct Webhooks {
    /// The endpoints, by id; at most 100.
    pub webhooks: Vec<Webhook>,
}

/// Numbers of results that are parked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WebhookParkedView))]
pub struct WebhookParked {
    /// The numbers, in the order in which they were parked; at most 10,000.
    pub parked: Vec<u64>,
}

/// Results to be sent again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WebhookResendRequest {
    /// Their numbers; all that are parked, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Vec<u64>>,
}

/// How many results are sent again.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WebhookResendView))]
pub struct WebhookResend {
    /// How many, beside those that were asked for before.
    pub count: u64,
}

/// What came of an event of the type `webhook.test`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WebhookTestView))]
pub struct WebhookTest {
    /// Whether it was taken.
    pub taken: bool,
    /// The status of the answer; null if there was none.
    pub status: Option<u16>,
    /// What the answer said, its first 512 bytes; or why there was none.
    pub said: String,
    /// How long it took.
    pub took_ms: u64,
}

/// The endpoint was removed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WebhookRemovedView))]
pub struct WebhookRemoved {
    /// Its id.
    pub webhook: String,
}
