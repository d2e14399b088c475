//! `journal skip`: has everybody go on without an entry that breaks a rule.

use clap::Args;
use firstcome_core::state::Skip;
use firstcome_http::clock_text::rfc3339;
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{self, Sqlite};
use firstcome_journal::{Head, Journal};
use firstcome_node::ledger::Look;
use serde_json::{Value, json};
use std::time::Duration;

use super::super::audit::progress_bar;
use super::super::complaint::{Complaint, Exit};
use super::super::connect::LedgerArgs;
use super::super::source::{Presence, SourceArgs, Wanted};
use super::super::terminal::out;
use crate::data_folder;
use crate::offline::breaking::{self, Refused};
use firstcome_core::names::check_text;

/// The longest reason and name, in bytes.
const TEXT_BYTES: usize = 255;
/// How old an entry of a shared journal is at least before it is skipped, in microseconds: three heartbeats.
const HEARD_OF_US: i64 = 3_000_000;

/// Options of `journal skip`.
#[derive(Debug, Args)]
#[command(after_help = "\
For an entry at which every server stops, because it breaks a rule; this is a bug. `serve`, `audit` and /readyz name \
it. Its position and time stay, its commands are never executed, and their senders got `unknown`. The skip is refused \
if the entry can be applied, if it breaks while time passes, or if a server that was alive in the last 10 s, a \
snapshot or the ledger has the entry. A skip cannot be undone.

With a data folder, stop the server first. With a store, servers continue by themselves.

Examples:
  firstcome journal skip 4 --reason 'areas overflow, issue 15'
  firstcome journal skip 4 --reason 'areas overflow' \\
    --store redis://10.0.0.5:6379")]
pub(in crate::cli) struct SkipArgs {
    /// The position of the entry.
    #[arg(value_name = "POSITION")]
    position: u64,
    /// The reason, 1 to 255 bytes; stored with the journal.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The name of the person who decides it, 1 to 255 bytes; stored with the journal.
    #[arg(
        long,
        env = "USER",
        hide_env_values = true,
        default_value = "unknown",
        value_name = "NAME"
    )]
    who: String,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

pub(super) fn run(args: &SkipArgs, json: bool) -> Result<Exit, Complaint> {
    check("--reason", &args.reason)?;
    check("--who", &args.who)?;
    let named = args.ledger.ledger(args.source.is_shared())?;
    let journal = args.source.open(&args.ledger.space)?;
    // Nobody else may write to it meanwhile. It is there, so nothing is made.
    let data = (!args.source.is_shared()).then_some(args.source.folder.data.as_path());
    let folder = data.map(|data| data_folder::take(data, |why| eprintln!("{why}"))).transpose()?;
    let head = journal.head()?;
    let known = journal.skips()?.into_iter().find(|skip| skip.position == args.position);
    if let Some(known) = known {
        say(&known, json, "is skipped already");
        return Ok(Exit::Yes);
    }
    let meter = progress_bar();
    let found = breaking::find(&journal, args.position, |position, head| {
        meter.set_length(head);
        meter.set_position(position);
    });
    meter.finish_and_clear();
    let found = match found? {
        Ok(found) => found,
        Err(refused) => return Err(refuse(&refused)),
    };
    let ledger = Look::open(&named, data, &args.ledger.space, head.space)
        .map_err(|why| Complaint::own(why.to_string()))?;
    let through = ledger.as_ref().map(Look::through).transpose();
    let through = through.map_err(|why| Complaint::own(why.to_string()))?;
    if let Some(through) = through.filter(|through| *through > found.last_result) {
        let (position, last) = (args.position, found.last_result);
        return Err(Complaint::new(
            Exit::Refused,
            format!(
                "the ledger has results up to {through}, the entries before {position} made {last}: a server \
                 applied it"
            ),
        )
        .hint("start the build of that server"));
    }
    let skip = Skip {
        position: args.position,
        node: found.name.node,
        number: found.name.number,
        at: head.now,
        reason: args.reason.as_str().into(),
        who: args.who.as_str().into(),
    };
    drop(journal);
    // Who applied it says so within a second; who has not by then, has not.
    let young = HEARD_OF_US - head.now.micros_since(found.at);
    if folder.is_none()
        && let Ok(young) = u64::try_from(young)
    {
        std::thread::sleep(Duration::from_micros(young));
    }
    write(args, folder, &head, skip.clone())?;
    say(&skip, json, "is skipped");
    Ok(Exit::Yes)
}

fn check(option: &str, text: &str) -> Result<(), Complaint> {
    if text.is_empty() || text.len() > TEXT_BYTES {
        let bytes = text.len();
        return Err(Complaint::usage(format!(
            "{option} has {bytes} bytes: give 1 to {TEXT_BYTES}"
        )));
    }
    check_text(text).map_err(|why| Complaint::usage(format!("{option}: {why}")))
}

fn refuse(refused: &Refused) -> Complaint {
    let complaint = Complaint::new(Exit::Refused, refused.to_string());
    match refused {
        Refused::Earlier(broke) | Refused::InTime(broke) => complaint.hint(broke.advice()),
        Refused::Absent { .. } | Refused::Passed { .. } | Refused::Applies(_) => complaint,
    }
}

/// Has the store keep it.
fn write(
    args: &SkipArgs,
    folder: Option<DataFolder>,
    head: &Head,
    skip: Skip,
) -> Result<(), Complaint> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| Complaint::own(format!("cannot start: {why}")))?;
    match folder {
        Some(folder) => runtime.block_on(async {
            let options = sqlite::Options { ..sqlite::Options::new(head.space) };
            let sqlite = Sqlite::open(&folder, options)?;
            let skipped = Journal::Sqlite(sqlite.clone()).skip(skip).await;
            sqlite.close().await;
            Ok(skipped?)
        }),
        None => runtime.block_on(in_store(args, head, skip)),
    }
}

async fn in_store(args: &SkipArgs, head: &Head, skip: Skip) -> Result<(), Complaint> {
    let url = args.source.store.url()?;
    let about = |failure| Complaint::about_store(&url, &failure);
    let space = Wanted { name: &args.ledger.space, space: head.space, presence: Presence::There };
    let journal = args.source.store.open_to_write(&url, &space).await?;
    let skipped = journal.skip(skip).await;
    journal.close().await;
    let Err(failure) = skipped else { return Ok(()) };
    if !matches!(failure, firstcome_journal::JournalError::Applied { .. }) {
        return Err(about(failure));
    }
    let complaint = Complaint::new(Exit::Refused, failure.to_string());
    Err(complaint.hint(failure.hint().unwrap_or_default()))
}

fn say(skip: &Skip, json: bool, what: &str) {
    if json {
        return out::json(&document(skip));
    }
    let Skip { position, reason, .. } = skip;
    out::line(format!("entry {position} {what}: {reason}"));
}

/// Returns a skip as scripts read it.
pub(super) fn document(skip: &Skip) -> Value {
    json!({
        "position": skip.position,
        "name": format!("{}/{}", skip.node, skip.number),
        "reason": skip.reason,
        "who": skip.who,
        "at": rfc3339(skip.at),
    })
}
