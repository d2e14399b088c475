//! `webhooks`: endpoints that are sent results.

use clap::{Args, Subcommand};
use firstcome_api::webhook::{
    Webhook, WebhookParked, WebhookRemoved, WebhookRequest, WebhookResend, WebhookResendRequest,
    WebhookTest, Webhooks,
};
use firstcome_client::{Ask, encode_segment};
use serde_json::json;

use super::super::complaint::{Complaint, Exit};
use super::super::connect::{ServerArgs, yes};
use super::super::terminal::out;
use super::super::terminal::table::{Column, Table, TableArgs, seconds};

/// What can be done about webhooks.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum WebhooksVerb {
    /// Add an endpoint, and print its secret once.
    Add(AddArgs),
    /// List the endpoints.
    #[command(after_help = "Example:\n  firstcome webhooks list")]
    List(ListArgs),
    /// Show an endpoint and its last deliveries.
    #[command(after_help = "Example:\n  firstcome webhooks show wh_0123456789abcdef")]
    Show(OneArgs),
    /// Send an endpoint an event that says nothing, and print its answer.
    #[command(after_help = "Example:\n  firstcome webhooks test wh_0123456789abcdef")]
    Test(OneArgs),
    /// Print the numbers of the results that an endpoint did not take in all tries.
    #[command(after_help = "Example:\n  firstcome webhooks parked wh_0123456789abcdef")]
    Parked(OneArgs),
    /// Send results again: those with these numbers, or all that are parked.
    #[command(
        after_help = "Examples:\n  firstcome webhooks resend wh_0123456789abcdef\n  firstcome webhooks resend wh_0123456789abcdef 17 18"
    )]
    Resend(ResendArgs),
    /// Replace the secret of an endpoint; the old one counts for 24 h more.
    #[command(after_help = "Example:\n  firstcome webhooks rotate wh_0123456789abcdef")]
    Rotate(OneArgs),
    /// Send an endpoint nothing more, until it is enabled.
    #[command(after_help = "Example:\n  firstcome webhooks disable wh_0123456789abcdef")]
    Disable(OneArgs),
    /// Send an endpoint events again, from where it was.
    #[command(after_help = "Example:\n  firstcome webhooks enable wh_0123456789abcdef")]
    Enable(OneArgs),
    /// Remove an endpoint with all that is parked for it.
    #[command(after_help = "Example:\n  firstcome webhooks remove wh_0123456789abcdef")]
    Remove(OneArgs),
}

impl WebhooksVerb {
    /// Says whether it changes nothing.
    pub(in crate::cli) fn only_looks(&self) -> bool {
        matches!(self, Self::List(_) | Self::Show(_) | Self::Parked(_) | Self::Test(_))
    }
}

/// Options of `webhooks add`.
#[derive(Debug, Args)]
#[command(after_help = "\
Events are signed as Standard Webhooks 1.0 says; its libraries check them with the secret. An event comes at least once, with \
the same `webhook-id` each time. Addresses that are not public, and http, need the server's setting webhook_allow.

Examples:
  firstcome webhooks add https://shop.example/hooks/firstcome
  firstcome webhooks add https://mail.example/won --json \\
    --campaign 'spring*' --type claim.won")]
pub(in crate::cli) struct AddArgs {
    /// Where events are sent.
    #[arg(value_name = "URL")]
    endpoint: String,
    /// Only results of this campaign, or of those whose names begin so (spring*); may be given several times.
    #[arg(long = "campaign", value_name = "NAME")]
    campaigns: Vec<String>,
    /// Only events of this type, such as claim.won; may be given several times.
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Let others go on while an event is tried again.
    #[arg(long)]
    unordered: bool,
    /// A remark.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
    /// Begin behind the result with this number, 0 for all there are [default: with the next one].
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `webhooks list`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of the verbs about one endpoint.
#[derive(Debug, Args)]
pub(in crate::cli) struct OneArgs {
    /// The id of the endpoint.
    webhook: String,
    #[command(flatten)]
    server: ServerArgs,
}

impl OneArgs {
    fn path(&self, step: &str) -> String {
        path(&self.webhook, step)
    }
}

/// Options of `webhooks resend`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ResendArgs {
    /// The id of the endpoint.
    webhook: String,
    /// Numbers of results.
    numbers: Vec<u64>,
    #[command(flatten)]
    server: ServerArgs,
}

pub(in crate::cli) async fn run(verb: WebhooksVerb, json: bool) -> Result<Exit, Complaint> {
    match verb {
        WebhooksVerb::Add(args) => add(args, json).await,
        WebhooksVerb::List(args) => list(args, json).await,
        WebhooksVerb::Show(args) => show(&args, json).await,
        WebhooksVerb::Test(args) => test(&args, json).await,
        WebhooksVerb::Parked(args) => parked(&args, json).await,
        WebhooksVerb::Resend(args) => resend(args, json).await,
        WebhooksVerb::Rotate(args) => changed(&args, "rotate", json).await,
        WebhooksVerb::Disable(args) => changed(&args, "disable", json).await,
        WebhooksVerb::Enable(args) => changed(&args, "enable", json).await,
        WebhooksVerb::Remove(args) => remove(&args, json).await,
    }
}

fn path(webhook: &str, step: &str) -> String {
    format!("/v1/webhooks/{}{step}", encode_segment(webhook))
}

async fn add(args: AddArgs, json: bool) -> Result<Exit, Complaint> {
    let AddArgs { endpoint, campaigns, types, unordered, note, after, server } = args;
    let request =
        WebhookRequest { url: endpoint, campaigns, types, ordered: Some(!unordered), note, after };
    let mut ask = Ask::change("POST", "/v1/webhooks");
    ask.body = serde_json::to_value(request).ok();
    // A lost answer adds no second one.
    ask.headers.push(("idempotency-key", format!("cli-{:032x}", fastrand::u128(..))));
    let (added, raw) = yes(server.client()?.ask::<Webhook>(ask).await?)?;
    if json {
        out::json(&json!({"id": added.webhook, "secret": added.secret, "url": raw["url"]}));
        return Ok(Exit::Yes);
    }
    out::line(format!("webhook  {}", added.webhook));
    out::line(format!("secret   {}", added.secret.unwrap_or_default()));
    out::line(format!("begins behind result {}; the secret is not shown again", added.through));
    Ok(Exit::Yes)
}

const TABLE: [Column; 6] = [
    Column::new("webhook"),
    Column::new("state"),
    Column::number("through"),
    Column::number("waiting"),
    Column::number("parked"),
    Column::new("url").least(20).spare(1),
];

async fn list(args: ListArgs, json: bool) -> Result<Exit, Complaint> {
    let (all, raw) = yes(args.server.client()?.ask::<Webhooks>(Ask::get("/v1/webhooks")).await?)?;
    if json {
        out::json(&raw);
    } else if all.webhooks.is_empty() {
        out::line("there are no webhooks");
    } else {
        let mut table = Table::new(args.table, &TABLE);
        for it in all.webhooks {
            let numbers = [it.through, it.waiting, it.parked].map(|number| number.to_string());
            let [through, waiting, parked] = numbers;
            table.row([it.webhook, it.state.into_owned(), through, waiting, parked, it.url]);
        }
        table.print();
    }
    Ok(Exit::Yes)
}

async fn show(args: &OneArgs, json: bool) -> Result<Exit, Complaint> {
    let (it, raw) = yes(args.server.client()?.ask::<Webhook>(Ask::get(args.path(""))).await?)?;
    if json {
        out::json(&raw);
    } else {
        print(&it);
    }
    Ok(Exit::Yes)
}

fn print(it: &Webhook) {
    let all = |list: &[String]| if list.is_empty() { "all".to_owned() } else { list.join(", ") };
    let since = it.since.as_deref().map(|at| format!(" since {}", seconds(at))).unwrap_or_default();
    let why = it.off_reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    out::line(format!("webhook    {}", it.webhook));
    out::line(format!("url        {}", it.url));
    out::line(format!("state      {}{since}{why}", it.state));
    out::line(format!("campaigns  {}", all(&it.campaigns)));
    out::line(format!("types      {}", all(&it.types)));
    let order = if it.ordered { "yes: what fails holds the others back" } else { "no" };
    out::line(format!("in order   {order}"));
    if !it.note.is_empty() {
        out::line(format!("note       {}", it.note));
    }
    let next = it.next_at.as_deref().map(|at| format!(", the next at {}", seconds(at)));
    let next = next.unwrap_or_default();
    out::line(format!(
        "results    up to {}; {} are tried again{next}; {} are parked",
        it.through, it.waiting, it.parked
    ));
    if let Some(secret) = &it.secret {
        out::line(format!("secret     {secret}"));
    }
    for tried in &it.deliveries {
        let status = tried.status.map_or("no answer".to_owned(), |status| status.to_string());
        let said = tried.said.lines().next().unwrap_or_default();
        let (at, number, took) = (seconds(&tried.at), tried.number, tried.took_ms);
        out::line(format!("  {at}  result {number}  {status} after {took} ms  {said}"));
    }
}

async fn test(args: &OneArgs, json: bool) -> Result<Exit, Complaint> {
    let ask = Ask::change("POST", args.path("/test")).repeatable();
    let (tested, raw) = yes(args.server.client()?.ask::<WebhookTest>(ask).await?)?;
    let exit = if tested.taken { Exit::Yes } else { Exit::Refused };
    if json {
        out::json(&raw);
        return Ok(exit);
    }
    let status = tested.status.map_or("no answer".to_owned(), |status| format!("status {status}"));
    let word = if tested.taken { "taken" } else { "not taken" };
    out::line(format!("{word}: {status} after {} ms  {}", tested.took_ms, tested.said.trim()));
    Ok(exit)
}

async fn parked(args: &OneArgs, json: bool) -> Result<Exit, Complaint> {
    let ask = Ask::get(args.path("/parked"));
    let (parked, raw) = yes(args.server.client()?.ask::<WebhookParked>(ask).await?)?;
    if json {
        out::json(&raw);
    } else if parked.parked.is_empty() {
        out::line("no result is parked");
    } else {
        parked.parked.iter().for_each(|number| out::line(number.to_string()));
    }
    Ok(Exit::Yes)
}

async fn resend(args: ResendArgs, json: bool) -> Result<Exit, Complaint> {
    let numbers = (!args.numbers.is_empty()).then_some(args.numbers);
    let mut ask = Ask::change("POST", path(&args.webhook, "/resend")).repeatable();
    ask.body = serde_json::to_value(WebhookResendRequest { numbers }).ok();
    let (resent, raw) = yes(args.server.client()?.ask::<WebhookResend>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        out::line(format!("{} results are sent again", resent.count));
    }
    Ok(Exit::Yes)
}

async fn changed(args: &OneArgs, step: &str, json: bool) -> Result<Exit, Complaint> {
    let ask = Ask::change("POST", args.path(&format!("/{step}")));
    let (it, raw) = yes(args.server.client()?.ask::<Webhook>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        print(&Webhook { deliveries: Vec::new(), ..it });
    }
    Ok(Exit::Yes)
}

async fn remove(args: &OneArgs, json: bool) -> Result<Exit, Complaint> {
    let ask = Ask::change("DELETE", args.path(""));
    let (removed, raw) = yes(args.server.client()?.ask::<WebhookRemoved>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        out::line(format!("{} is removed", removed.webhook));
    }
    Ok(Exit::Yes)
}
