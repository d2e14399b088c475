//! `campaign`: what an operator does.

mod change;
mod check;
mod codes;
mod create;
mod show;
mod time;
mod watch;

pub(super) use create::settings_from_file;
pub(super) use show::all;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, yes};
use super::terminal::out;
use firstcome_client::{Ask, Deleted, OperatorDone, Problem};
use firstcome_core::limits::{CAPACITY, NAME_BYTES};
use firstcome_core::names::{check_command_id, check_name};

/// What can be done with campaigns.
#[derive(Debug, Subcommand)]
pub(super) enum CampaignVerb {
    /// Create a campaign.
    Create(create::CreateArgs),
    /// Check a file of settings, without creating anything.
    Check(check::CheckArgs),
    /// List all campaigns.
    List(show::ListArgs),
    /// Show one campaign.
    Show(show::ShowArgs),
    /// Show how a campaign goes, second by second.
    Watch(watch::WatchArgs),
    /// Change a campaign.
    Change(change::ChangeArgs),
    /// Stop claims for now.
    #[command(after_help = "Example:\n  firstcome campaign pause spring")]
    Pause(NameArgs),
    /// Allow claims again after a pause.
    #[command(after_help = "Example:\n  firstcome campaign resume spring")]
    Resume(NameArgs),
    /// End a campaign permanently.
    #[command(after_help = "Example:\n  firstcome campaign close spring")]
    Close(NameArgs),
    /// Remove a closed campaign from the server's memory.
    Archive(ArchiveArgs),
    /// Delete a campaign without a result; its name is free again.
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
A campaign with a result (a claim, also a cancelled one, a refund, a moved seat) cannot be deleted: close and archive \
it. An archived name cannot be used again. Live holds end with the campaign.

Example:
  firstcome campaign delete sprnig")]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    name: NameArgs,
}

/// Options of `campaign archive`.
#[derive(Debug, Args)]
#[command(after_help = "\
The campaign must be closed, and its results must be in the ledger, or be dropped with --drop-unsettled. \
Its name cannot be used again.

Example:
  firstcome campaign archive spring")]
pub(super) struct ArchiveArgs {
    /// Drop the results that are not in the ledger.
    #[arg(long)]
    drop_unsettled: bool,
    #[command(flatten)]
    name: NameArgs,
}

/// The identity of an operator command.
#[derive(Debug, Args)]
pub(super) struct IdArgs {
    /// The identity of this command: repeated with the same id, it happens once [default: random].
    #[arg(long, value_name = "ID", value_parser = id_from_text)]
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
        CampaignVerb::Check(args) => check::run(args, json).await,
        CampaignVerb::List(args) => show::list(args, json).await,
        CampaignVerb::Show(args) => show::run(args, json).await,
        CampaignVerb::Watch(args) => watch::run(args, json).await,
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
        "unchanged" => out::line(format!(
            "campaign {name} has these settings already, version {}",
            answer.version
        )),
        outcome => out::line(format!("{outcome} campaign {name}, version {}", answer.version)),
    }
    for clamped in &answer.clamped {
        let (pool, capacity) = (&clamped.pool, clamped.capacity);
        out::talk(format!(
            "note: pool {pool} went down to {capacity} only: this many units are in use"
        ));
    }
}

/// What the server says of settings, by the options that they were typed with.
fn refused(mut problem: Problem) -> Complaint {
    let (field, rest) = problem.detail.split_at(problem.detail.find([':', ' ']).unwrap_or(0));
    let option = match field {
        "title" => "--title",
        "opens_at" => "--opens",
        "closes_at" => "--closes",
        "limits.campaign" => "--limit",
        _ => return problem.into(),
    };
    problem.detail = format!("{option}{rest}");
    problem.into()
}

/// A pool as typed: `NAME=PLACES`.
fn pool_from_text(text: &str) -> Result<(String, u64), String> {
    let pool = text.split_once('=').and_then(|(name, places)| Some((name, places.parse().ok()?)));
    match pool {
        Some((_, places)) if !(1..=CAPACITY).contains(&places) => {
            Err(format!("{places} places are outside 1 to {CAPACITY}"))
        }
        Some((name, places)) => Ok((name_from_text(name)?, places)),
        None => Err(format!("`{text}` is no pool: write NAME=PLACES, like main=500")),
    }
}

/// The name of a campaign or a pool that is to be made.
fn name_from_text(text: &str) -> Result<String, String> {
    match check_name(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(_) => Err(format!(
            "a name has a-z, 0-9, _ and -, at most {NAME_BYTES} of them, and begins with a letter or a digit"
        )),
    }
}

/// The id of an operator command.
pub(super) fn id_from_text(text: &str) -> Result<String, String> {
    check_command_id(text).map(|()| text.to_owned()).map_err(|why| format!("the id {why}"))
}
