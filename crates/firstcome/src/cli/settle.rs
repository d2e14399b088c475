//! `settle`: how far the ledger is, and what to do when it does not fit the journal.

use clap::{Args, Subcommand};
use firstcome_journal::folder::DataFolder;
use serde_json::json;

use super::audit::progress_bar;
use super::complaint::{Complaint, Exit};
use super::connect::{LedgerArgs, ServerArgs, yes};
use super::on_one_core;
use super::source::ReadArgs;
use super::terminal::out;
use crate::data_folder;
use crate::offline::rebuild;
use firstcome_api::node::Settling;
use firstcome_client::Ask;
use firstcome_core::SpaceId;
use firstcome_node::ledger::choice::LedgerChoice;
use firstcome_node::ledger::{self, Ledger, LedgerError, Look, StoredWebhook};
use firstcome_rush::terminal;
use firstcome_webhooks::take_over;

/// What can be done about settling.
#[derive(Debug, Subcommand)]
pub(super) enum SettleVerb {
    /// Show how far results are in the ledger, and why others are not.
    #[command(after_help = "Example:\n  firstcome settle status")]
    Status(ServerArgs),
    /// Write missing results to the ledger, from the journal and its archive; no server may run meanwhile.
    #[command(after_help = "\
First stop every server that writes to the ledger, or start it with --ledger none meanwhile. Nothing is deleted. If \
several servers share a store, name it with --store, the ledger with --ledger, and the archives of all servers that \
were leader with --archive.

Examples:
  firstcome settle rebuild --data /var/lib/firstcome
  firstcome settle rebuild --store redis://10.0.0.5:6379 \\
    --ledger sqlite:/var/lib/firstcome/ledger.sqlite")]
    Rebuild(MendArgs),
    /// Rename the ledger, so that a new one is created; no server may run meanwhile.
    #[command(after_help = "\
First stop every server that writes to the ledger, or start it with --ledger none meanwhile. Nothing is deleted: the \
ledger gets another name, and `firstcome settle rebuild`, or the server, creates a new one.

Example:
  firstcome settle set-aside --data /var/lib/firstcome")]
    SetAside(MendArgs),
}

/// Options of the verbs that repair.
#[derive(Debug, Args)]
pub(super) struct MendArgs {
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl MendArgs {
    /// Takes the data folder, where the journal is in one: nobody else may have it meanwhile.
    fn take_folder(&self) -> Result<Option<DataFolder>, Complaint> {
        if self.read.is_elsewhere() {
            return Ok(None);
        }
        let taken = data_folder::take(&self.read.source.folder.data, |why| eprintln!("{why}"))
            .map_err(anyhow::Error::from)?;
        Ok(Some(taken))
    }
}

pub(super) fn run(verb: SettleVerb, json: bool) -> Result<Exit, Complaint> {
    match verb {
        SettleVerb::Status(args) => on_one_core(status(args, json)),
        SettleVerb::Rebuild(args) => mend(&args, json),
        SettleVerb::SetAside(args) => on_one_core(set_aside(args, json)),
    }
}

async fn status(args: ServerArgs, json: bool) -> Result<Exit, Complaint> {
    let (settling, raw) = yes(args.client()?.ask::<Settling>(Ask::get("/v1/settling")).await?)?;
    let Settling { ledger, settled, last_result, lag, lag_ms, term, trouble } = settling;
    // Results that wait for a moment are no trouble.
    let exit = if trouble.is_some() { Exit::Refused } else { Exit::Yes };
    if json {
        out::json(&raw);
        return Ok(exit);
    }
    if ledger == "none" && trouble.is_none() {
        out::line("there is no ledger: results stay in memory until their campaign leaves it");
        return Ok(exit);
    }
    let seconds = lag_ms as f64 / 1e3;
    out::line(format!("ledger   {ledger}, term {term}"));
    out::line(format!("settled  {settled} of {last_result} results"));
    out::line(format!("waiting  {lag} results, the oldest for {seconds:.1} s"));
    match trouble {
        None => out::line(format!("{} results are being settled", terminal::mark(true))),
        Some(why) => out::line(format!("{} {why}", terminal::mark(false))),
    }
    Ok(exit)
}

fn mend(args: &MendArgs, json: bool) -> Result<Exit, Complaint> {
    let ledger = args.ledger.ledger(args.read.is_elsewhere())?;
    let folder = args.take_folder()?;
    let journal = args.read.open(&args.ledger.space)?;
    let meter = progress_bar();
    let named = (&ledger, args.ledger.space.as_str());
    let rebuilt = rebuild::run(&journal, folder.as_ref(), named, |position, head| {
        meter.set_length(head);
        meter.set_position(position);
    });
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
    let ledger = args.ledger.ledger(args.read.is_elsewhere())?;
    if args.read.source.verbose {
        out::talk(format!("ledger {ledger}"));
    }
    let folder = args.take_folder()?;
    let name = &*args.ledger.space;
    let webhooks = webhooks_of(&ledger, folder.as_ref(), name).await;
    if let Err(why) = &webhooks
        && why.passes_by_itself()
    {
        let why = format!("its webhooks cannot be read now, nothing was changed: {why}");
        return Err(Complaint::own(why));
    }
    let renamed = ledger::set_aside(&ledger, folder.as_ref(), name).await;
    let renamed = renamed.map_err(|why| Complaint::own(why.to_string()))?;
    match webhooks {
        Ok(Some((space, of))) => {
            let new = Ledger::named(&ledger, folder.as_ref(), name, space).await;
            let taken = async {
                let Some(new) = new? else { return Ok(()) };
                new.ready().await?;
                let taken = take_over(of, &new).await;
                new.close().await;
                taken
            };
            taken.await.map_err(|why: LedgerError| {
                Complaint::own(format!(
                    "the ledger has its new name, its webhooks are not in the new ledger: {why}"
                ))
            })?;
        }
        Ok(None) => {}
        Err(why) => out::talk(format!("its webhooks cannot be read, add them again: {why}")),
    }
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

/// Returns the webhooks of a ledger that has some, and the space that it is of.
async fn webhooks_of(
    kind: &LedgerChoice,
    folder: Option<&DataFolder>,
    name: &str,
) -> Result<Option<(SpaceId, Vec<StoredWebhook>)>, LedgerError> {
    let (choice, of, data) =
        (kind.clone(), name.to_owned(), folder.map(|folder| folder.path().to_owned()));
    let look = move || Look::space(&choice, data.as_deref(), &of);
    let space = tokio::task::spawn_blocking(look).await;
    let space = space.map_err(|why| LedgerError::Unavailable(why.to_string()))??;
    let Some(space) = space else { return Ok(None) };
    let Some(ledger) = Ledger::named(kind, folder, name, space).await? else { return Ok(None) };
    let webhooks = ledger.webhooks().await;
    ledger.close().await;
    Ok(Some((space, webhooks?)).filter(|(_, webhooks)| !webhooks.is_empty()))
}
