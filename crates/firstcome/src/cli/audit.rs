//! `audit`: recompute and compare.

use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::complaint::{Complaint, Exit};
use super::connect::{FolderArgs, LedgerArgs};
use super::out;
use crate::audit::{Report, run as audit};
use crate::client::{Ask, Client, Reply, Server};
use crate::picture;

/// Options of `audit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Replays the journal of the folder (and its archive) through the rules and compares the digest, the ranks and the
ledger with what is stored, and with the server if one runs on the folder. It only reads, so nobody is disturbed.
Exit code 1, and the first position that differs, when something differs.

Examples:
  firstcome audit
  firstcome audit --data /var/lib/firstcome --json
  FIRSTCOME_LEDGER=postgres://ann:secret@db/shop firstcome audit")]
pub(super) struct AuditArgs {
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

pub(super) fn run(args: AuditArgs, json: bool) -> Result<Exit, Complaint> {
    let ledger = args.ledger.ledger()?;
    let meter = progress_bar();
    let mut ask = |position| live_digest(&args.folder, position);
    let named = (&ledger, args.ledger.space.as_str());
    let report = audit(&args.folder.data, named, &mut ask, |position, head| {
        meter.set_length(head);
        meter.set_position(position);
    });
    meter.finish_and_clear();
    let report = report?;
    if json {
        let report =
            serde_json::to_value(&report).context("the report cannot be written as JSON")?;
        out::json(&report);
    } else {
        print(&report);
    }
    Ok(if report.ok { Exit::Yes } else { Exit::Refused })
}

/// A meter over journal entries; hidden where nobody looks at a terminal.
pub(super) fn progress_bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} entries, {eta} left");
    ProgressBar::no_length().with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Asks the server that has the folder, if one does, for its digest at a position.
fn live_digest(folder: &FolderArgs, position: u64) -> anyhow::Result<Option<String>> {
    let owner = firstcome_journal::folder::owner(&folder.data);
    let Some(address) = owner.and_then(|owner| owner.address) else { return Ok(None) };
    let server = Server::parse(&address).map_err(anyhow::Error::msg)?;
    let mut client = Client::new(server, folder.key()?, Duration::from_secs(10));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ask = Ask::get(format!("/v1/audit?position={position}"));
    match runtime.block_on(client.ask::<Value>(ask)).map_err(Complaint::from)? {
        Reply::Yes(view, _) => Ok(view["digest"].as_str().map(str::to_owned)),
        Reply::No(problem) => Err(Complaint::from(problem).into()),
    }
}

fn print(report: &Report) {
    let (from, to) = (report.from_position + 1, report.position);
    out::line(format!("recomputed entries {from} to {to}, from the {}", report.from));
    for pool in &report.pools {
        out::line(format!(
            "  {}/{}: ranks 1 to {}, {} of {} taken, {} cancelled",
            pool.campaign, pool.pool, pool.last_rank, pool.taken, pool.capacity, pool.cancelled
        ));
    }
    let differs = |what: &str| report.differences.iter().any(|difference| difference.what == what);
    let (good, bad) = (picture::mark(true), picture::mark(false));
    let of = |what: &str| if differs(what) { bad } else { good };
    out::line(format!(
        "{} the journal is whole and its digest is {}",
        of("journal"),
        report.digest_recomputed
    ));
    match &report.digest_live {
        Some(live) => out::line(format!("{} the running server's digest is {live}", of("server"))),
        None => out::line("- no server runs on this folder, so there was no digest to compare"),
    }
    match (report.ledger_equal, report.ledger_through) {
        (Some(equal), Some(through)) => {
            let (mark, last) = (picture::mark(equal), report.last_result);
            out::line(format!(
                "{mark} the ledger has the first {through} of {last} results, as the journal says"
            ));
        }
        _ => out::line("- there is no ledger to compare"),
    }
    for difference in &report.differences {
        let at =
            difference.position.map_or(String::new(), |position| format!(" at entry {position}"));
        out::line(format!("{bad} {}{at}: {}", difference.what, difference.detail));
    }
}
