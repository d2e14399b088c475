//! `backup`: a space and the rows of its ledger into a file.

use clap::Args;
use firstcome_node::ledger::Look;
use firstcome_node::ledger::choice::LedgerChoice;
use firstcome_rush::terminal;
use serde_json::json;
use std::path::PathBuf;

use super::super::audit::progress_bar;
use super::super::complaint::{Complaint, Exit};
use super::super::connect::LedgerArgs;
use super::super::source::SourceArgs;
use super::super::terminal::out;
use super::export_failed;
use crate::offline::export::{self, Kind, Rows};

/// Options of `backup`.
#[derive(Debug, Args)]
#[command(after_help = "\
Servers go on meanwhile; nothing is changed. The file has all entries that are kept, with those in --archive, the state \
behind them, and the results in the ledger up to there. `firstcome audit --file` recomputes it; `firstcome restore` brings \
it back. Keys and webhooks are not in it: keep the admin key, `code_keys` and `token_secret` elsewhere.

Examples:
  firstcome backup monday.fcspace --data /var/lib/firstcome
  firstcome backup monday.fcspace --store redis://10.0.0.5:6379 \\
    --ledger postgres://fc@db/firstcome")]
pub(in crate::cli) struct BackupArgs {
    /// The file to write; it must not be there yet. Only its owner can read it.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Writes the file.
pub(in crate::cli) fn backup(args: &BackupArgs, json: bool) -> Result<Exit, Complaint> {
    let named = args.ledger.ledger(args.source.is_shared())?;
    let journal = args.source.open(&args.ledger.space)?;
    let head = journal.head()?;
    let data = (!args.source.is_shared()).then_some(args.source.folder.data.as_path());
    let ledger = Look::open(&named, data, &args.ledger.space, head.space)
        .map_err(|why| Complaint::own(why.to_string()))?;
    let rows = match &ledger {
        Some(ledger) => Rows::Of(ledger),
        None if named == LedgerChoice::None && args.ledger.is_named() => Rows::LeftOut,
        None => Rows::NotFound,
    };
    let meter = progress_bar();
    let written = export::run(&journal, &args.file, Kind::Backup(rows), |position, head| {
        meter.set_length(head);
        meter.set_position(position);
    });
    meter.finish_and_clear();
    let written = written.map_err(|why| export_failed(why, &journal))?;
    let file = args.file.display();
    if json {
        let mut document = serde_json::to_value(&written).map_err(anyhow::Error::from)?;
        document["file"] = json!(args.file);
        out::json(&document);
        return Ok(Exit::Yes);
    }
    let mark = terminal::mark(true);
    out::line(format!(
        "{mark} {file} has the space {} up to {} with {} entries; its digest is {}",
        written.space, written.position, written.entries, written.digest
    ));
    match written.ledger_rows {
        Some(rows) => out::line(format!("{mark} and {rows} results of its ledger")),
        None => out::line("- without a ledger"),
    }
    Ok(Exit::Yes)
}
