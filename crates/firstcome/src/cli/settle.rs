//! `settle`: how far the ledger is, and what to do when it does not fit the journal.

use clap::{Args, Subcommand};
use firstcome_journal::folder::DataFolder;
use serde_json::{Value, json};

use super::audit::progress_bar;
use super::complaint::{Complaint, Exit};
use super::connect::{FolderArgs, LedgerArgs, ServerArgs, yes};
use super::{on_one_core, out};
use crate::client::Ask;
use crate::picture;
use crate::{ledger, rebuild};

/// What can be done about settling.
#[derive(Debug, Subcommand)]
pub(super) enum SettleVerb {
    /// Show how far results are in the ledger, and what keeps the others.
    Status(ServerArgs),
    /// Write what the ledger lacks, from the journal and its archive; no server may run meanwhile.
    Rebuild(MendArgs),
    /// Put the ledger out of the way by renaming it; no server may run meanwhile.
    SetAside(MendArgs),
}

/// Options of the verbs that mend.
#[derive(Debug, Args)]
#[command(after_help = "\
Stop the server first. Nothing is ever deleted: `set-aside` renames the ledger, `rebuild` adds to it.

Examples:
  firstcome settle rebuild --data /var/lib/firstcome
  FIRSTCOME_LEDGER=postgres://ann:secret@db/shop firstcome settle set-aside")]
pub(super) struct MendArgs {
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

pub(super) fn run(verb: SettleVerb, json: bool) -> Result<Exit, Complaint> {
    match verb {
        SettleVerb::Status(args) => on_one_core(status(args, json)),
        SettleVerb::Rebuild(args) => on_one_core(mend(args, json)),
        SettleVerb::SetAside(args) => on_one_core(set_aside(args, json)),
    }
}

async fn status(args: ServerArgs, json: bool) -> Result<Exit, Complaint> {
    let (_, raw) = yes(args.client()?.ask::<Value>(Ask::get("/v1/settling")).await?)?;
    let trouble = raw["trouble"].as_str();
    // Results that wait for a moment are no trouble.
    let exit = if trouble.is_some() { Exit::Refused } else { Exit::Yes };
    if json {
        out::json(&raw);
        return Ok(exit);
    }
    let number = |field: &str| raw[field].as_u64().unwrap_or(0);
    let ledger = raw["ledger"].as_str().unwrap_or("-");
    if ledger == "none" {
        out::line("there is no ledger: results stay in memory until their campaign leaves it");
        return Ok(exit);
    }
    let seconds = number("lag_ms") as f64 / 1e3;
    out::line(format!("ledger   {ledger}, term {}", number("term")));
    out::line(format!("settled  {} of {} results", number("settled"), number("last_result")));
    out::line(format!("waiting  {} results, the oldest for {seconds:.1} s", number("lag")));
    match trouble {
        None => out::line(format!("{} results are being settled", picture::mark(true))),
        Some(why) => out::line(format!("{} {why}", picture::mark(false))),
    }
    Ok(exit)
}

async fn mend(args: MendArgs, json: bool) -> Result<Exit, Complaint> {
    let ledger = args.ledger.ledger(false)?;
    let folder = DataFolder::take(&args.folder.data).map_err(anyhow::Error::from)?;
    let meter = progress_bar();
    let named = (&ledger, args.ledger.space.as_str());
    let rebuilt = rebuild::run(&folder, named, |position, head| {
        meter.set_length(head);
        meter.set_position(position);
    });
    let rebuilt = rebuilt.await;
    meter.finish_and_clear();
    let rebuilt = rebuilt.map_err(|why| Complaint::new(Exit::Refused, format!("{why:#}")))?;
    if json {
        out::json(&serde_json::to_value(&rebuilt).map_err(anyhow::Error::from)?);
    } else {
        out::line(format!(
            "the ledger had results up to {}; {} were written, now it has them up to {} of {}",
            rebuilt.before, rebuilt.written, rebuilt.through, rebuilt.last_result
        ));
    }
    Ok(Exit::Yes)
}

async fn set_aside(args: MendArgs, json: bool) -> Result<Exit, Complaint> {
    let ledger = args.ledger.ledger(false)?;
    let folder = DataFolder::take(&args.folder.data).map_err(anyhow::Error::from)?;
    let renamed = ledger::set_aside(&ledger, &folder, &args.ledger.space).await;
    let renamed = renamed.map_err(|why| Complaint::own(why.to_string()))?;
    if json {
        out::json(&json!({ "renamed_to": renamed }));
    } else {
        match &renamed {
            Some(name) => out::line(format!("the ledger is now called {name}")),
            None => out::line("there is no ledger"),
        }
    }
    Ok(if renamed.is_some() { Exit::Yes } else { Exit::Refused })
}
