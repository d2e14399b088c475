//! `journal export`: a space into a file, to move it to another store or to copy it.

use clap::Args;
use firstcome_core::command::moved;
use firstcome_core::{NodeId, SpaceId};
use firstcome_inject::{Mistake, inject};
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{self, Sqlite};
use firstcome_journal::{Append, Head, Journal, JournalError, Name, Reading};
use firstcome_rush::terminal;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

use super::super::audit::progress_bar;
use super::super::complaint::{Complaint, Exit};
use super::super::on_one_core;
use super::super::source::{Presence, SourceArgs, SpaceArgs, StoreArgs, Wanted};
use super::super::terminal::out;
use crate::data_folder;
use crate::offline::export::{self, Kind};

/// How often the entry that ends a space is sent, where the answer is lost.
const TRIES: u32 = 20;
/// The pause before it is sent again.
const PAUSE: Duration = Duration::from_millis(500);

/// Options of `journal export`.
#[derive(Debug, Args)]
#[command(after_help = "\
The space moves: it ends in its store with one entry, and every server on it answers `space_moved` from then on. Stop \
the server of a data folder first; servers that share a store may run until then. The file has all entries that are \
kept, with those in --archive, and the state behind them; `firstcome audit --file` checks it. The ledger is not in it: it \
belongs to the space and stays where it is, or `firstcome journal import` writes another one. Keys are not in it, either. \
If the command ends early, the space may have ended: run it again.

With --copy, nothing ends: the copy has another id, its generated codes differ, and it has no ledger.

Examples:
  firstcome journal export --data /var/lib/firstcome --output spring.fcspace
  firstcome journal export --store redis://10.0.0.5:6379 --copy \\
    --output try.fcspace")]
pub(in crate::cli) struct ExportArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    space: SpaceArgs,
    /// The file to write; it must not be there yet. Only its owner can read it.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Leave the space running and write a copy of it, with another id.
    #[arg(long)]
    copy: bool,
}

pub(super) fn run(args: &ExportArgs, json: bool) -> Result<Exit, Complaint> {
    let journal = args.source.open(&args.space.space)?;
    let alone = !args.copy && !args.source.is_shared();
    let folder =
        alone.then(|| data_folder::take(&args.source.folder.data, |why| eprintln!("{why}")));
    let folder = folder.transpose()?;
    let head = journal.head()?;
    let mut end = |applied, _results| {
        if inject(Mistake::ExportWithoutEnd) {
            return Ok(());
        }
        match &folder {
            Some(folder) => end_in_folder(folder, &head, applied)?,
            None => end_in_store(&args.source.store, &args.space.space, &head, applied)?,
        }
        Ok(())
    };
    let kind = match args.copy {
        true => Kind::Copy(SpaceId(random()?)),
        false => Kind::Move(&mut end),
    };
    let meter = progress_bar();
    let exported = export::run(&journal, &args.output, kind, |position, head| {
        meter.set_length(head);
        meter.set_position(position);
    });
    meter.finish_and_clear();
    let exported = exported.map_err(|why| failed(why, &journal))?;
    if json {
        let mut document = serde_json::to_value(&exported).map_err(anyhow::Error::from)?;
        document["file"] = json!(args.output);
        document["copy"] = json!(args.copy);
        out::json(&document);
        return Ok(Exit::Yes);
    }
    let (mark, file) = (terminal::mark(true), args.output.display());
    out::line(format!(
        "{mark} {file} has the space {} up to {} with {} entries; its digest is {}",
        exported.space, exported.position, exported.entries, exported.digest
    ));
    if !exported.complete {
        out::line(
            "- earlier entries are not kept; a new ledger cannot be made of this file: keep the old one",
        );
    }
    if !args.copy {
        out::line(
            "- the space has ended in its store: `firstcome journal import` brings the file to another one",
        );
    }
    Ok(Exit::Yes)
}

/// Says why there is no file, and whether the space has ended all the same.
pub(in crate::cli) fn failed(why: anyhow::Error, journal: &Reading) -> Complaint {
    let ended = journal.head().is_ok_and(|head| {
        let mut last = journal.entries(head.position);
        last.next().is_some_and(|last| last.is_ok_and(|(entry, _)| entry.is_end()))
    });
    let complaint = match why.downcast::<JournalError>() {
        Ok(failure) => Complaint::from(failure),
        Err(other) => match other.downcast::<Complaint>() {
            Ok(complaint) => complaint,
            Err(other) => Complaint::new(Exit::Refused, format!("no file was written: {other:#}")),
        },
    };
    match ended {
        true => complaint.hint("the space has ended in its store: run the same command again"),
        false => complaint,
    }
}

fn random() -> Result<[u8; 16], Complaint> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|why| Complaint::own(why.to_string()))?;
    Ok(id)
}

/// Makes the entry that ends a space, behind one that was applied.
fn end_behind((applied, applied_name): (u64, Name)) -> Result<Append, Complaint> {
    let name = Name { node: NodeId(random()?), number: 1 };
    let body = moved(name.node, name.number, applied).into();
    Ok(Append { body, name, applied, applied_name })
}

/// Appends it in a data folder.
fn end_in_folder(folder: &DataFolder, head: &Head, applied: (u64, Name)) -> Result<(), Complaint> {
    let append = end_behind(applied)?;
    let options = sqlite::Options { space: Some(head.space), ..sqlite::Options::new(head.space) };
    on_one_core(async {
        let sqlite = Sqlite::open(folder, options)?;
        let ended = send(&Journal::Sqlite(sqlite.clone()), append).await;
        sqlite.close().await;
        Ok(ended.map(|()| Exit::Yes)?)
    })
    .map(drop)
}

/// Appends it in a shared store.
pub(in crate::cli) fn end_in_store(
    store: &StoreArgs,
    name: &str,
    head: &Head,
    applied: (u64, Name),
) -> Result<(), Complaint> {
    let (append, url) = (end_behind(applied)?, store.url()?);
    let wanted = Wanted { name, space: head.space, presence: Presence::There };
    on_one_core(async {
        let journal = store.open_to_write(&url, &wanted).await?;
        let ended = send(&journal, append).await;
        journal.close().await;
        ended.map(|()| Exit::Yes).map_err(|failure| Complaint::about_store(&url, &failure))
    })
    .map(drop)
}

/// Sends an entry until the store has it: a second copy behind the first does no harm.
async fn send(journal: &Journal, append: Append) -> Result<(), JournalError> {
    let mut tries = 1;
    loop {
        match journal.append(append.clone()).await {
            Ok(_) => return Ok(()),
            Err(JournalError::Unknown(_) | JournalError::Changed) if tries < TRIES => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(failure) => return Err(failure),
        }
    }
}
