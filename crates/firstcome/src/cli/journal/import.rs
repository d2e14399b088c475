//! `journal import`: a space out of a file, into a store or a data folder that has nothing of it.

use clap::Args;
use firstcome_journal::folder::{DataFolder, journal_file};
use firstcome_journal::space_file::{Purpose, SpaceFile};
use firstcome_journal::{JournalError, Reading};
use firstcome_node::ledger::choice::LedgerChoice;
use firstcome_rush::terminal;
use indicatif::ProgressBar;
use serde_json::json;
use std::path::PathBuf;

use super::super::audit::progress_bar;
use super::super::complaint::{Complaint, Exit};
use super::super::connect::LedgerArgs;
use super::super::on_one_core;
use super::super::source::{Presence, SourceArgs, Wanted, open_file};
use super::super::terminal::out;
use crate::data_folder;
use crate::offline::rebuild::Rebuilt;
use crate::offline::{import, rebuild};

/// Options of `journal import`.
#[derive(Debug, Args)]
#[command(after_help = "\
All of the file is checked first; one that is torn or altered is refused, and nothing changes. The space keeps its id, its \
level, its positions and its digest. It is there with the last step: a command that ends early leaves no space, and can be \
run again. A store or a folder that has a space of this name is refused.

A ledger that is named and is not up to date is written from the entries in the file. Into a data folder, entries go to \
its archive; with a store, to the folder of --archive, if one is given: it must be the DATA/archive of a server to come.
Give the new servers the old keys: admin key, `code_keys`, `token_secret`.

Examples:
  firstcome journal import spring.fcspace --store postgres://fc@db/firstcome \\
    --ledger postgres://fc@db/firstcome
  firstcome journal import spring.fcspace --data /var/lib/firstcome")]
pub(in crate::cli) struct JournalImportArgs {
    /// The file that has the space.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    to: SourceArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

pub(super) fn run(args: &JournalImportArgs, json: bool) -> Result<Exit, Complaint> {
    bring(args, |file| file.about().purpose != Purpose::Backup, json)
}

/// Options of `restore`.
#[derive(Debug, Args)]
#[command(after_help = "\
First stop every server that had the space and may still reach the place: what it applied after the backup it would put back.

The space comes back with its id, its positions and its digest as they were at the backup, and with the results that its \
ledger had then. What happened since is lost: nobody who got a unit since has it, and it may go to somebody else. All of \
the file is checked first. A store or a folder that has a space of this name is refused, and so is a ledger with more \
than the backup. Give the servers the old keys: admin key, `code_keys`, `token_secret`. Add webhooks again.

Examples:
  firstcome restore monday.fcspace --data /var/lib/firstcome
  firstcome restore monday.fcspace --store postgres://fc@db/firstcome \\
    --ledger postgres://fc@db/firstcome")]
pub(in crate::cli) struct RestoreArgs {
    #[command(flatten)]
    import: JournalImportArgs,
}

/// Brings a space back from a backup.
pub(in crate::cli) fn restore(args: &RestoreArgs, json: bool) -> Result<Exit, Complaint> {
    bring(&args.import, |file| file.about().purpose == Purpose::Backup, json)
}

fn bring(
    args: &JournalImportArgs,
    is_wanted: impl Fn(&SpaceFile) -> bool,
    json: bool,
) -> Result<Exit, Complaint> {
    let named = args.ledger.ledger(args.to.is_shared())?;
    if args.to.archive.len() > 1 {
        return Err(Complaint::usage("one --archive takes the entries in: give one"));
    }
    if !args.to.is_shared() && !args.to.archive.is_empty() {
        return Err(Complaint::usage("--archive is for a journal in a store")
            .hint("the entries of a data folder go to its own archive"));
    }
    let file = open_file(&args.file)?;
    let (about, seed) = (file.about(), file.seed());
    let is_copy = about.purpose == Purpose::Copy;
    if !is_wanted(&file) {
        let name = args.file.display();
        return Err(match about.purpose {
            Purpose::Backup => Complaint::new(Exit::Refused, format!("{name} is a backup"))
                .hint("`firstcome restore` brings it back, with its ledger"),
            Purpose::Move | Purpose::Copy => {
                Complaint::new(Exit::Refused, format!("{name} is no backup: it was exported"))
                    .hint("`firstcome journal import` brings it to a store or a data folder")
            }
        });
    }
    if file.row_count() > 0 && named == LedgerChoice::None && !args.ledger.is_named() {
        let rows = file.row_count();
        return Err(Complaint::usage(format!("the backup has {rows} results of a ledger"))
            .hint("name the ledger to write with --ledger; --ledger none leaves them out"));
    }
    // A copy has no ledger: its results up to now are those of another space.
    let named = if is_copy { LedgerChoice::None } else { named };
    let meter = progress_bar();
    let (file, rebuilt) = match args.to.is_shared() {
        false => into_folder(args, file, &named, &meter)?,
        true => into_store(args, file, &named, &meter)?,
    };
    meter.finish_and_clear();
    let position = format!("{}.{}", seed.epoch, seed.position);
    let digest = digest(&file)?;
    if json {
        out::json(&json!({
            "space": about.space.to_string(), "position": position, "digest": digest,
            "copy": is_copy, "ledger_through": rebuilt.map(|rebuilt| rebuilt.through),
        }));
        return Ok(Exit::Yes);
    }
    let mark = terminal::mark(true);
    out::line(format!(
        "{mark} the space {} is there up to {position}; its digest is {digest}",
        about.space
    ));
    if let Some(rebuilt) = rebuilt {
        let Rebuilt { written, through, .. } = rebuilt;
        out::line(format!(
            "{mark} the ledger has the results up to {through}, {written} of them new"
        ));
    }
    Ok(Exit::Yes)
}

fn digest(file: &Reading) -> Result<String, Complaint> {
    let manifest = file.newest_snapshot()?.unwrap_or_default();
    let manifest = firstcome_core::snapshot::Manifest::decode(&manifest);
    Ok(manifest.map(|manifest| format!("{:016x}", manifest.digest)).map_err(anyhow::Error::from)?)
}

/// Writes what a ledger lacks; it is of the space already, or made now.
fn ledger(
    file: SpaceFile,
    (named, space): (&LedgerChoice, &str),
    folder: Option<&DataFolder>,
    meter: &ProgressBar,
) -> Result<(SpaceFile, Option<Rebuilt>), Complaint> {
    if *named == LedgerChoice::None {
        return Ok((file, None));
    }
    let journal = Reading::File(file);
    let rebuilt = rebuild::run(&journal, folder, (named, space), |position, head| {
        meter.set_length(head);
        meter.set_position(position);
    });
    let refused = |why: anyhow::Error| {
        Complaint::new(
            Exit::Refused,
            format!("nothing was imported, because of the ledger: {why:#}"),
        )
        .hint("name the ledger that the space had, or none with --ledger none")
    };
    let rebuilt = rebuilt.map_err(refused)?;
    let Reading::File(file) = journal else { unreachable!("it is the file from above") };
    Ok((file, Some(rebuilt)))
}

fn into_folder(
    args: &JournalImportArgs,
    file: SpaceFile,
    named: &LedgerChoice,
    meter: &ProgressBar,
) -> Result<(Reading, Option<Rebuilt>), Complaint> {
    let data = &args.to.folder.data;
    let folder = data_folder::take(data, |why| eprintln!("{why}"))?;
    if journal_file(data).exists() {
        let sentence =
            format!("{} has a journal already, and nothing is written over", data.display());
        return Err(Complaint::new(Exit::Refused, sentence).hint("name another folder with --data"));
    }
    // SQLite would write what is in them into the new file.
    let of = |file: PathBuf| {
        ["-wal", "-shm"].map(|end| {
            let mut name = file.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        })
    };
    let ledger_is_there = folder.ledger().exists();
    let of_ledger = of(folder.ledger()).into_iter().filter(|_| !ledger_is_there);
    if let Some(left) = of(folder.journal()).into_iter().chain(of_ledger).find(|file| file.exists())
    {
        let sentence = format!("{} is left of a file that is gone", left.display());
        return Err(Complaint::new(Exit::Refused, sentence)
            .hint("move it away, or name another folder with --data"));
    }
    import::archive(&file, &folder.archive(), |position, last| shown(meter, position, last))?;
    let (file, rebuilt) = ledger(file, (named, &args.ledger.space), Some(&folder), meter)?;
    on_one_core(async {
        import::into_folder(&file, &folder, |done, pieces| shown(meter, done, pieces)).await?;
        Ok(Exit::Yes)
    })?;
    Ok((Reading::File(file), rebuilt))
}

fn shown(meter: &ProgressBar, done: u64, all: u64) {
    meter.set_length(all);
    meter.set_position(done);
}

fn into_store(
    args: &JournalImportArgs,
    file: SpaceFile,
    named: &LedgerChoice,
    meter: &ProgressBar,
) -> Result<(Reading, Option<Rebuilt>), Complaint> {
    let (url, about) = (args.to.store.url()?, file.about());
    let name = args.ledger.space.as_str();
    let wanted = Wanted { name, space: about.space, presence: Presence::Vacant };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|why| Complaint::own(format!("cannot start: {why}")))?;
    // Before anything is written, whether there is room for a space.
    let journal = runtime.block_on(args.to.store.open_to_write(&url, &wanted))?;
    if let Some(folder) = args.to.archive.first() {
        import::archive(&file, folder, |position, last| shown(meter, position, last))?;
    }
    let (file, rebuilt) = ledger(file, (named, name), None, meter)?;
    let begun = runtime.block_on(async {
        let begun = import::begin(&file, &journal, |done, pieces| shown(meter, done, pieces)).await;
        journal.close().await;
        begun
    });
    begun.map_err(|failure| {
        if let JournalError::Unknown(_) = failure {
            return Complaint::new(Exit::Unknown, failure.to_string())
                .hint("run the same command again: it says whether the space is there");
        }
        Complaint::about_store(&url, &failure)
    })?;
    Ok((Reading::File(file), rebuilt))
}
