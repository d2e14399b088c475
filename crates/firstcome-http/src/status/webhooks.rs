//! Webhooks: endpoints that are sent results, for operators of the whole space.

use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::clock_text;
use crate::request;
use crate::request::auth::Key;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::StatusCode;
use firstcome_api::key::Role;
use firstcome_api::webhook::{
    Webhook, WebhookDelivery, WebhookParked, WebhookRemoved, WebhookRequest, WebhookResend,
    WebhookResendRequest, WebhookTest, Webhooks,
};
use firstcome_core::limits::REASON_BYTES;
use firstcome_core::names::check_name;
use firstcome_core::{Refusal, Timestamp};
use firstcome_webhooks::{Dispatcher, Endpoint, Failure, New, Secret, Wanted};
use std::sync::Arc;

/// Bytes of an endpoint's URL.
const URL_BYTES: usize = 2048;
/// Campaigns that an endpoint may name.
const CAMPAIGNS: usize = 100;

type WebhookCall = Call<String>;

/// Lists all webhooks.
#[utoipa::path(get, path = "/v1/webhooks", tag = "webhooks", operation_id = "list_webhooks",
    responses((status = "2XX", body = Webhooks)))]
pub(crate) async fn list(call: Call) -> HandlerResult {
    let all = dispatcher(&call)?.list().await.map_err(problem)?;
    let webhooks = all.iter().map(|(id, endpoint)| view(id, endpoint, None, false)).collect();
    Ok(json(StatusCode::OK, &Webhooks { webhooks }))
}

/// Adds a webhook. The answer has its secret, which only a repeated request with the same `Idempotency-Key` shows again.
#[utoipa::path(post, path = "/v1/webhooks", tag = "webhooks", operation_id = "add_webhook",
    request_body = WebhookRequest, responses((status = "2XX", body = Webhook)))]
pub(crate) async fn add(call: Call, body: Body) -> HandlerResult {
    let (dispatcher, key) = dispatcher_and_key(&call)?;
    let request: WebhookRequest = call.json(body).await?;
    let WebhookRequest { url, campaigns, types, ordered, note, after } = request;
    for (what, is, most) in [
        ("url", url.len(), URL_BYTES),
        ("note", note.len(), REASON_BYTES),
        ("campaigns", campaigns.len(), CAMPAIGNS),
        ("types", types.len(), firstcome_webhooks::TYPES.len()),
    ] {
        if is > most {
            return Err(Problem::invalid(format!("{what}: {is}, and at most {most} may be")));
        }
    }
    for campaign in &campaigns {
        let beginning = campaign.strip_suffix('*');
        let name = beginning.unwrap_or(campaign);
        let is_all = beginning == Some("");
        if !is_all && check_name(name).is_err() {
            return Err(Problem::invalid(format!("campaigns: no campaign can be called {name:?}")));
        }
    }
    let wanted = Wanted { campaigns, types };
    let new = New { url, wanted, ordered: ordered.unwrap_or(true), note, after };
    // The same id of another key is another request.
    let id = request::command_id(&call.headers)?.map(|id| format!("{}\0{id}", key.name));
    let added = dispatcher.add(new, id.as_deref()).await;
    let (id, endpoint, secret) = added.map_err(problem)?;
    Ok(json(StatusCode::CREATED, &view(&id, &endpoint, Some(secret), true)))
}

/// Returns a webhook with its last deliveries.
#[utoipa::path(get, path = "/v1/webhooks/{webhook}", tag = "webhooks", operation_id = "show_webhook",
    responses((status = "2XX", body = Webhook)))]
pub(crate) async fn show(call: WebhookCall) -> HandlerResult {
    let endpoint = dispatcher(&call)?.show(&call.path).await.map_err(problem)?;
    Ok(json(StatusCode::OK, &view(&call.path, &endpoint, None, true)))
}

/// Removes a webhook with all that is parked for it.
#[utoipa::path(delete, path = "/v1/webhooks/{webhook}", tag = "webhooks", operation_id = "remove_webhook",
    responses((status = "2XX", body = WebhookRemoved)))]
pub(crate) async fn remove(call: WebhookCall) -> HandlerResult {
    dispatcher(&call)?.remove(&call.path).await.map_err(problem)?;
    Ok(json(StatusCode::OK, &WebhookRemoved { webhook: call.path.clone() }))
}

/// Replaces the secret of a webhook. Events are signed with both for 24 h.
#[utoipa::path(post, path = "/v1/webhooks/{webhook}/rotate", tag = "webhooks", operation_id = "rotate_webhook_secret",
    responses((status = "2XX", body = Webhook)))]
pub(crate) async fn rotate(call: WebhookCall) -> HandlerResult {
    let dispatcher = dispatcher(&call)?;
    let (endpoint, secret) = dispatcher.rotate(&call.path).await.map_err(problem)?;
    Ok(json(StatusCode::OK, &view(&call.path, &endpoint, Some(secret), true)))
}

/// Sends a webhook nothing more, until it is enabled.
#[utoipa::path(post, path = "/v1/webhooks/{webhook}/disable", tag = "webhooks", operation_id = "disable_webhook",
    responses((status = "2XX", body = Webhook)))]
pub(crate) async fn disable(call: WebhookCall) -> HandlerResult {
    let (dispatcher, key) = dispatcher_and_key(&call)?;
    let why = format!("it was disabled with the key {:?}", key.name);
    let endpoint = dispatcher.switch_off(&call.path, &why).await.map_err(problem)?;
    Ok(json(StatusCode::OK, &view(&call.path, &endpoint, None, true)))
}

/// Sends a webhook events again, from where it was.
#[utoipa::path(post, path = "/v1/webhooks/{webhook}/enable", tag = "webhooks", operation_id = "enable_webhook",
    responses((status = "2XX", body = Webhook)))]
pub(crate) async fn enable(call: WebhookCall) -> HandlerResult {
    let endpoint = dispatcher(&call)?.switch_on(&call.path).await.map_err(problem)?;
    Ok(json(StatusCode::OK, &view(&call.path, &endpoint, None, true)))
}

/// Sends a webhook an event of the type `webhook.test` at once, and waits for the answer.
#[utoipa::path(post, path = "/v1/webhooks/{webhook}/test", tag = "webhooks", operation_id = "test_webhook",
    responses((status = "2XX", body = WebhookTest)))]
pub(crate) async fn test(call: WebhookCall) -> HandlerResult {
    let tested = dispatcher(&call)?.test(&call.path).await.map_err(problem)?;
    let took_ms = tested.took.as_millis() as u64;
    let answer =
        WebhookTest { taken: tested.taken, status: tested.status, said: tested.said, took_ms };
    Ok(json(StatusCode::OK, &answer))
}

/// Lists the results that are parked for a webhook.
#[utoipa::path(get, path = "/v1/webhooks/{webhook}/parked", tag = "webhooks", operation_id = "list_parked_results",
    responses((status = "2XX", body = WebhookParked)))]
pub(crate) async fn parked(call: WebhookCall) -> HandlerResult {
    let endpoint = dispatcher(&call)?.show(&call.path).await.map_err(problem)?;
    Ok(json(StatusCode::OK, &WebhookParked { parked: endpoint.parked }))
}

/// Sends results to a webhook again, with the same ids of events, also while it is off.
#[utoipa::path(post, path = "/v1/webhooks/{webhook}/resend", tag = "webhooks", operation_id = "resend_results",
    request_body = WebhookResendRequest, responses((status = "2XX", body = WebhookResend)))]
pub(crate) async fn resend(call: WebhookCall, body: Body) -> HandlerResult {
    let dispatcher = dispatcher(&call)?;
    let WebhookResendRequest { numbers } = call.json(body).await?;
    let count = dispatcher.send_again(&call.path, numbers).await.map_err(problem)?;
    Ok(json(StatusCode::OK, &WebhookResend { count: count as u64 }))
}

/// Accepts a request about webhooks: they are about all campaigns.
fn dispatcher<P>(call: &Call<P>) -> Result<&Dispatcher, Problem> {
    Ok(dispatcher_and_key(call)?.0)
}

fn dispatcher_and_key<P>(call: &Call<P>) -> Result<(&Dispatcher, Arc<Key>), Problem> {
    let key = call.app.keys.know_for_all(&call.headers, Role::Admin)?;
    let dispatcher = call.app.webhooks.as_deref().ok_or_else(|| {
        Problem::new(
            Code::NoLedger,
            "webhooks are sent from the ledger, and this server has none (ledger)",
        )
    })?;
    Ok((dispatcher, key))
}

fn problem(failure: Failure) -> Problem {
    match failure {
        Failure::NoSuch => Problem::new(Code::NoSuchWebhook, "there is no such webhook"),
        Failure::Bad(why) => Problem::invalid(why),
        Failure::TooMany => Problem::new(Code::TooManyWebhooks, failure.to_string()),
        Failure::Reused => Problem::new(Code::Refused(Refusal::IdReused), failure.to_string()),
        Failure::Changing | Failure::Ledger(_) => {
            Problem::new(Code::Unavailable, failure.to_string())
        }
    }
}

fn view(id: &str, endpoint: &Endpoint, secret: Option<Secret>, with_deliveries: bool) -> Webhook {
    let time = |micros: i64| clock_text::rfc3339(Timestamp::from_micros(micros));
    let failing = endpoint.failing.map(|(since, _)| since);
    let (state, since) = match &endpoint.off {
        Some(off) => ("off", Some(off.at)),
        None if failing.is_some() => ("failing", failing),
        None => ("on", None),
    };
    let next = endpoint.waiting.iter().map(|waiting| waiting.next).min();
    let next = next.filter(|_| endpoint.off.is_none());
    let deliveries =
        endpoint.recent.iter().filter(|_| with_deliveries).map(|tried| WebhookDelivery {
            number: tried.number,
            event: tried.id.clone(),
            at: time(tried.at),
            took_ms: tried.took_ms,
            status: tried.status,
            said: tried.said.clone(),
            taken: tried.taken,
        });
    Webhook {
        webhook: id.to_owned(),
        url: endpoint.url.clone(),
        campaigns: endpoint.wanted.campaigns.clone(),
        types: endpoint.wanted.types.clone(),
        ordered: endpoint.ordered,
        note: endpoint.note.clone(),
        added_at: time(endpoint.added),
        state: state.into(),
        off_reason: endpoint.off.as_ref().map(|off| off.why.clone()),
        since: since.map(time),
        through: endpoint.cursor,
        waiting: endpoint.waiting.len() as u64,
        next_at: next.map(time),
        parked: endpoint.parked.len() as u64,
        secret: secret.map(|secret| secret.reveal().to_owned()),
        deliveries: deliveries.collect(),
    }
}
