//! `journal`: what is stored, in a data folder, in a shared store or in a file: show, verify, skip, export, import, forget.

mod backup;
mod export;
mod forget;
mod import;
mod skip;

use clap::{Args, Subcommand};
use firstcome_core::Outcome;
use firstcome_core::command::BadBody;
use firstcome_core::state::Skip;
use firstcome_journal::{Entry, JournalError, Reading};
use serde_json::{Value, json};

use super::audit::progress_bar;
use super::complaint::{Complaint, Exit};
use super::connect::FolderArgs;
use super::source::{ReadArgs, SpaceArgs};
use super::terminal::out;
use crate::offline::entry_text::to_json;
use crate::offline::outcomes::{self, Replay};
use crate::offline::raise_level;
pub(super) use backup::{BackupArgs, backup};
use export::ExportArgs;
pub(super) use export::{end_in_store, failed as export_failed};
use firstcome_rush::terminal;
use forget::ForgetArgs;
use import::JournalImportArgs;
pub(super) use import::{RestoreArgs, restore};
use skip::SkipArgs;

/// What can be done with a journal.
#[derive(Debug, Subcommand)]
pub(super) enum JournalVerb {
    /// Print entries as text.
    Show(JournalShowArgs),
    /// Read every entry and check its checksum, position, predecessor, time and epoch, and that snapshots are complete.
    Verify(VerifyArgs),
    /// Write a space into a file, to bring it to another store or to copy it.
    Export(ExportArgs),
    /// Bring a space from a file into a store or a data folder that has none.
    Import(JournalImportArgs),
    /// Let a new space begin in a store that was emptied on purpose while servers ran.
    Forget(ForgetArgs),
    /// Make every server continue without an entry that breaks a rule.
    Skip(SkipArgs),
    /// Raise a data folder that no server uses to the newest level of stored bytes and rules.
    RaiseLevel(RaiseArgs),
}

/// Options of `journal verify`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcome journal verify
  firstcome journal verify --store redis://10.0.0.5:6379 \\
    --archive /var/lib/firstcome/archive")]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    space: SpaceArgs,
}

/// Options of `journal raise-level`.
#[derive(Debug, Args)]
#[command(after_help = "\
Make a backup first, such as a copy of the folder: a level is never lowered, and older builds refuse the folder from \
then on. While a server runs, use firstcome nodes raise-level instead.

Example:
  firstcome journal raise-level --data /var/lib/firstcome")]
pub(super) struct RaiseArgs {
    #[command(flatten)]
    folder: FolderArgs,
}

/// Options of `journal show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each command is followed by its outcome. The journal does not store outcomes: they are computed again, from the newest \
snapshot before these entries, or from the first entry.

Examples:
  firstcome journal show --from 1 --limit 20
  firstcome journal show --last 5 --json
  firstcome journal show --all --stored --json > journal.ndjson
  firstcome journal show --store redis://10.0.0.5:6379 --last 5")]
pub(super) struct JournalShowArgs {
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    space: SpaceArgs,
    /// The first position to print [default: the oldest one].
    #[arg(long, value_name = "POSITION", conflicts_with = "last")]
    from: Option<u64>,
    /// The most entries to print.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    limit: usize,
    /// Print all entries, or all from --from on.
    #[arg(long, conflicts_with_all = ["limit", "last"])]
    all: bool,
    /// Print the last entries, this number of them.
    #[arg(long, value_name = "COUNT")]
    last: Option<u64>,
    /// Leave out the outcomes: to compute them, all earlier entries are applied, which may take long.
    #[arg(long)]
    stored: bool,
}

pub(super) fn run(verb: JournalVerb, json: bool) -> Result<Exit, Complaint> {
    match verb {
        JournalVerb::Show(args) => show(&args, json),
        JournalVerb::Verify(args) => verify(&args, json),
        JournalVerb::Export(args) => export::run(&args, json),
        JournalVerb::Import(args) => import::run(&args, json),
        JournalVerb::Forget(args) => super::on_one_core(forget::run(&args, json)),
        JournalVerb::Skip(args) => skip::run(&args, json),
        JournalVerb::RaiseLevel(args) => super::on_one_core(raise_level(&args, json)),
    }
}

/// An entry with its commands, and whether it is skipped; or the damage that its checksum or its encoding shows.
fn document(entry: &Entry, skips: &[Skip]) -> Result<Value, JournalError> {
    let position = entry.position;
    let bad = |why: BadBody| JournalError::Damaged { position, why: why.to_string() };
    let mut document = to_json(entry).map_err(bad)?;
    let skip = skips.iter().map(skip::document).find(|skip| {
        (&skip["position"], &skip["name"]) == (&document["position"], &document["name"])
    });
    if let Some(skip) = skip {
        document["skipped"] = skip;
    }
    Ok(document)
}

fn show(args: &JournalShowArgs, json: bool) -> Result<Exit, Complaint> {
    let journal = args.read.open(&args.space.space)?;
    let oldest = journal.first()?;
    let from = match (args.from, args.last) {
        (Some(from), _) => from.max(oldest),
        (None, Some(last)) => (journal.head()?.position + 1).saturating_sub(last).max(oldest),
        (None, None) => oldest,
    };
    let skips = journal.skips()?;
    let limit = match args.last {
        Some(last) => usize::try_from(last).unwrap_or(usize::MAX),
        None if args.all => usize::MAX,
        None => args.limit,
    };
    let wants_outcomes = !args.stored && limit > 0;
    let replay = wants_outcomes.then(|| Replay::before(&journal, from, skips.clone()));
    let mut replay = replay.transpose()?.flatten();
    if replay.is_none() && !args.stored && from > 1 {
        out::talk("note: no outcomes: earlier entries are not kept");
    }
    let meter = progress_bar();
    meter.set_length(from);
    let begin = replay.as_ref().map_or(from, Replay::next_position);
    if args.read.source.verbose && replay.is_some() {
        out::talk(format!("outcomes are computed from entry {begin} on"));
    }
    let mut shown = 0;
    for entry in journal.entries(begin) {
        if shown == limit {
            break;
        }
        let (entry, _) = entry?;
        let outcomes = replay.as_mut().and_then(|replay| replay.apply(&entry));
        if entry.position < from {
            meter.set_position(entry.position);
            continue;
        }
        meter.finish_and_clear();
        let mut entry = document(&entry, &skips)?;
        add_outcomes(&mut entry, outcomes);
        shown += 1;
        if json {
            out::json(&entry);
        } else {
            print(&entry);
        }
    }
    Ok(Exit::Yes)
}

/// Puts the outcome behind each command of an entry.
fn add_outcomes(entry: &mut Value, outcomes: Option<Vec<Outcome>>) {
    let commands = entry["commands"].as_array_mut().into_iter().flatten();
    for (command, outcome) in commands.zip(outcomes.into_iter().flatten()) {
        command["answer"] = outcomes::to_json(&outcome);
    }
}

/// A field and its value, as people read it.
fn word((name, value): (&String, &Value)) -> String {
    match value.as_str() {
        Some(text) => format!("{name} {text}"),
        None => format!("{name} {value}"),
    }
}

/// An entry on one line, and each of its commands on one of its own.
fn print(entry: &Value) {
    let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let commands = entry["commands"].as_array().map(Vec::as_slice).unwrap_or_default();
    out::line(format!(
        "{:>8}  {}  {}  {} bytes",
        entry["position"],
        text("at"),
        text("name"),
        entry["bytes"]
    ));
    if let Some(reason) = entry["skipped"]["reason"].as_str() {
        out::line(format!("{:>10}skipped: {reason}", ""));
    }
    if entry["moved"] == true {
        out::line(format!("{:>10}the space ends here: it was moved to another store", ""));
    }
    for command in commands {
        let words = |of: &Value, first: &str, without: &[&str]| {
            let mut words = vec![of[first].as_str().unwrap_or_default().to_owned()];
            let fields = of.as_object().into_iter().flatten();
            let fields =
                fields.filter(|(name, value)| !without.contains(&&***name) && !value.is_null());
            words.extend(fields.map(word));
            words.join(", ")
        };
        let asked = words(command, "command", &["command", "answer"]);
        let answer = &command["answer"];
        let answer = if answer.is_null() {
            String::new()
        } else {
            format!(" -> {}", words(answer, "outcome", &["outcome"]))
        };
        out::line(format!("{:>10}{asked}{answer}", ""));
    }
}

fn verify(args: &VerifyArgs, json: bool) -> Result<Exit, Complaint> {
    let journal = args.read.open(&args.space.space)?;
    let first = journal.first()?;
    let meter = progress_bar();
    meter.set_length(journal.head().map_or(0, |head| head.position));
    let skips = journal.skips()?;
    let mut skipped = Vec::new();
    let (mut entries, mut commands, mut last) = (0_u64, 0_u64, first.saturating_sub(1));
    let mut failure = None;
    for entry in journal.entries(first) {
        match entry.and_then(|(entry, _)| document(&entry, &skips)) {
            Ok(mut entry) => {
                if entry.get("skipped").is_some() {
                    skipped.push(entry["skipped"].take());
                }
                entries += 1;
                commands += entry["commands"].as_array().map_or(0, |list| list.len() as u64);
                last = entry["position"].as_u64().unwrap_or(last);
                meter.set_position(last);
            }
            Err(found) => {
                failure = Some(found);
                break;
            }
        }
    }
    meter.finish_and_clear();
    let pieces = match failure {
        None => pieces(&journal).map_err(|found| failure = Some(found)).unwrap_or(0),
        Some(_) => 0,
    };
    let at = match &failure {
        Some(JournalError::Damaged { position, .. }) => Some(*position),
        Some(_) | None => None,
    };
    if json {
        let detail = failure.as_ref().map(ToString::to_string);
        out::json(
            &json!({"ok": failure.is_none(), "first": first, "last": last, "entries": entries, "commands": commands, "pieces": pieces, "skipped": skipped, "position": at, "detail": detail}),
        );
    } else {
        let mark = terminal::mark(failure.is_none());
        out::line(format!(
            "{mark} {entries} entries with {commands} commands are whole, from {first} to {last}"
        ));
        let each = skipped.iter().map(|skip| {
            let reason = skip["reason"].as_str().unwrap_or_default();
            (skip["position"].as_u64().unwrap_or_default(), reason)
        });
        out::skipped(each);
        if failure.is_none() {
            out::line(format!("{mark} {pieces} pieces of snapshots are whole"));
        }
        if let Some(failure) = &failure {
            out::line(format!("{mark} {failure}"));
        }
    }
    Ok(if failure.is_none() { Exit::Yes } else { Exit::Refused })
}

/// Counts the pieces of the snapshots that are kept, each looked at.
fn pieces(journal: &Reading) -> Result<usize, JournalError> {
    let named = journal.pieces()?;
    for name in &named {
        // A newer snapshot may have taken its place since it was named.
        if journal.piece(*name)?.is_none() && journal.pieces()?.contains(name) {
            return Err(JournalError::Broken(format!("piece {name} of a snapshot is missing")));
        }
    }
    Ok(named.len())
}

async fn raise_level(args: &RaiseArgs, json: bool) -> Result<Exit, Complaint> {
    let folder = &args.folder.data;
    let raised = raise_level::raise(folder).await.map_err(|failure| {
        let what = format!("the journal in {} was not raised: {failure}", folder.display());
        let complaint = Complaint::new(Exit::Unchanged, what);
        match failure.hint() {
            Some(hint) => complaint.hint(hint),
            None => complaint,
        }
    })?;
    if json {
        out::json(&json!({"before": raised.before, "level": raised.level}));
    } else if raised.before == raised.level {
        out::line(format!("the space is at level {} already", raised.level));
    } else {
        out::line(format!(
            "the space was at level {}, and is at level {}",
            raised.before, raised.level
        ));
    }
    Ok(Exit::Yes)
}
