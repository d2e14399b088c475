//! `campaign`: what an operator does.

mod change;
mod create;
mod show;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, yes};
use super::out;
use crate::config::duration_from_text;
use firstcome_api::node::Time;
use firstcome_client::{Ask, Client, Deleted, OperatorDone};

/// What can be done with campaigns.
#[derive(Debug, Subcommand)]
pub(super) enum CampaignVerb {
    /// Create a campaign.
    Create(create::CreateArgs),
    /// List all campaigns.
    List(ServerArgs),
    /// Show one campaign.
    Show(show::ShowArgs),
    /// Change a campaign.
    Change(change::ChangeArgs),
    /// Stop giving out places for now.
    Pause(NameArgs),
    /// Go on after a pause.
    Resume(NameArgs),
    /// Stop giving out places for good.
    Close(NameArgs),
    /// Let a closed campaign leave the server's memory.
    Archive(ArchiveArgs),
    /// Remove a campaign that has no result, and free its name.
    Delete(DeleteArgs),
}

/// A campaign, and an id that makes a repeated command happen once.
#[derive(Debug, Args)]
pub(super) struct NameArgs {
    /// The campaign.
    name: String,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `campaign delete`.
#[derive(Debug, Args)]
#[command(after_help = "\
What has a result (a claim, cancelled or not, a refund, a moved seat) cannot be deleted: close and archive it. Its \
name is then never used again. Live holds end with the campaign. The space has to be at level 3.

Example:
  firstcome campaign delete sprnig")]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    name: NameArgs,
}

/// Options of `campaign archive`.
#[derive(Debug, Args)]
pub(super) struct ArchiveArgs {
    /// Give up results the ledger does not have yet.
    #[arg(long)]
    drop_unsettled: bool,
    #[command(flatten)]
    name: NameArgs,
}

/// The identity of an operator command.
#[derive(Debug, Args)]
pub(super) struct IdArgs {
    /// Names this command, so that the same one sent again happens once; drawn if left out.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

impl IdArgs {
    pub(super) fn get(&self) -> String {
        self.id.clone().unwrap_or_else(|| format!("cli-{:032x}", fastrand::u128(..)))
    }
}

pub(super) async fn run(verb: CampaignVerb, json: bool) -> Result<Exit, Complaint> {
    match verb {
        CampaignVerb::Create(args) => create::run(args, json).await,
        CampaignVerb::List(server) => show::list(server, json).await,
        CampaignVerb::Show(args) => show::run(args, json).await,
        CampaignVerb::Change(args) => change::run(args, json).await,
        CampaignVerb::Pause(args) => operate(args, "pause", "paused", None, json).await,
        CampaignVerb::Resume(args) => operate(args, "resume", "resumed", None, json).await,
        CampaignVerb::Close(args) => operate(args, "close", "closed", None, json).await,
        CampaignVerb::Delete(args) => delete(args.name, json).await,
        CampaignVerb::Archive(args) => {
            let body = args.drop_unsettled.then(|| json!({"drop_unsettled": true}));
            operate(args.name, "archive", "archived", body, json).await
        }
    }
}

async fn operate(
    args: NameArgs,
    verb: &str,
    done: &str,
    body: Option<Value>,
    json: bool,
) -> Result<Exit, Complaint> {
    let ask = Ask::operate(&args.name, verb, body, &args.id.get());
    let (answer, raw) = yes(args.server.client()?.ask::<OperatorDone>(ask).await?)?;
    if json {
        out::json(&raw);
    } else if answer.outcome == "unchanged" {
        out::line(format!("campaign {} was {done} already", args.name));
    } else {
        out::line(format!("{done} campaign {}", args.name));
    }
    Ok(Exit::Yes)
}

async fn delete(args: NameArgs, json: bool) -> Result<Exit, Complaint> {
    let ask = Ask::delete_campaign(&args.name, &args.id.get());
    let (_, raw) = yes(args.server.client()?.ask::<Deleted>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        out::line(format!("deleted campaign {}", args.name));
    }
    Ok(Exit::Yes)
}

/// Tells what a PUT did, and how far capacities got.
fn print_put(name: &str, answer: &OperatorDone, raw: &Value, json: bool) {
    if json {
        out::json(raw);
        return;
    }
    match &*answer.outcome {
        "unchanged" => {
            out::line(format!("campaign {name} is so already, version {}", answer.version))
        }
        outcome => out::line(format!("{outcome} campaign {name}, version {}", answer.version)),
    }
    for clamped in &answer.clamped {
        let (pool, capacity) = (&clamped.pool, clamped.capacity);
        out::talk(format!(
            "note: pool {pool} went down to {capacity} only: so many are given already"
        ));
    }
}

/// A time as typed: `now`, `none`, a time stamp, or `+10s` from now by the server's clock.
async fn time_from_text(client: &mut Client, text: &str) -> Result<Value, Complaint> {
    if text == "none" {
        return Ok(Value::Null);
    }
    let Some(later) = text.strip_prefix('+') else { return Ok(text.into()) };
    let later =
        duration_from_text(later).map_err(|why| Complaint::usage(format!("`{text}` {why}")))?;
    let (time, _) = yes(client.ask::<Time>(Ask::time()).await?)?;
    let now = time.now.parse::<jiff::Timestamp>().ok();
    let then = now.and_then(|now| now.checked_add(later).ok());
    let then = then.ok_or_else(|| Complaint::own("the server's time cannot be read"))?;
    Ok(then.to_string().into())
}

/// A pool as typed: `NAME=PLACES`.
fn pool_from_text(text: &str) -> Result<(String, u64), String> {
    let pool = text.split_once('=').and_then(|(name, places)| Some((name, places.parse().ok()?)));
    match pool {
        Some((name, places)) if !name.is_empty() => Ok((name.to_owned(), places)),
        Some(_) | None => Err(format!("`{text}` is no pool: write NAME=PLACES, like main=500")),
    }
}
