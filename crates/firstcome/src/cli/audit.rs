//! `audit`: recompute and compare.

use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use firstcome_core::Position;
use indicatif::{ProgressBar, ProgressStyle};

use super::complaint::{Complaint, Exit};
use super::connect::{LedgerArgs, watched};
use super::source::ReadArgs;
use super::terminal::out;
use crate::offline::audit::{AuditReport, ServerDigest, run as audit};
use firstcome_api::key::Secret;
use firstcome_api::node::Audit;
use firstcome_client::{Ask, Client, Reply, Server};
use firstcome_node::ledger::Look;
use firstcome_node::ledger::choice::LedgerChoice;
use firstcome_rush::terminal;

/// Options of `audit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Applies the journal and its archive to the rules again, and compares the digest, the ranks and the ledger with the \
stored ones and with the servers: the server of the folder, the one in FIRSTCOME_URL with a shared store, or those \
named with --server. A file of an exported space needs neither a store nor a server. It prints where it began: at the newest snapshot, if earlier entries are not kept. It only reads. \
If something differs, it prints the first such position and ends with 1.

Examples:
  firstcome audit
  firstcome audit --data /var/lib/firstcome --json
  firstcome audit --file spring.fcspace
  firstcome audit --store redis://10.0.0.5:6379 \\
    --server http://10.0.0.7:8080 --server http://10.0.0.8:8080")]
pub(super) struct AuditArgs {
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
    /// A server to compare with: its digest at the last computed position. May be given several times
    /// [default: the server of the folder; with a store, the one in FIRSTCOME_URL].
    #[arg(long, value_name = "URL")]
    server: Vec<String>,
}

pub(super) fn run(args: AuditArgs, json: bool) -> Result<Exit, Complaint> {
    let named = args.ledger.ledger(args.read.is_elsewhere())?;
    let servers = servers(&args)?;
    let journal = args.read.open(&args.ledger.space)?;
    let head = journal.head()?;
    let data = (!args.read.is_elsewhere()).then_some(args.read.source.folder.data.as_path());
    let ledger = Look::open(&named, data, &args.ledger.space, head.space)
        .map_err(|why| Complaint::own(why.to_string()))?;
    let key = args.read.source.folder.key(servers.iter().map(|(_, server)| server))?;
    let meter = progress_bar();
    let verbose = args.read.source.verbose;
    if verbose && named != LedgerChoice::None {
        out::talk(format!("ledger {named}"));
    }
    let mut ask = |position| digests(&servers, key.as_ref(), position, verbose);
    let report = audit(&journal, ledger, &mut ask, |position, head| {
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
    let style = ProgressStyle::with_template("{bar:24} {pos} of {len} entries, {eta} left");
    ProgressBar::no_length().with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// The servers to compare with: those that are named, else the one that has the folder, or that of `FIRSTCOME_URL`
/// where the store is shared: of a folder it may be a server of something else.
fn servers(args: &AuditArgs) -> Result<Vec<(String, Server)>, Complaint> {
    let mut addresses = args.server.clone();
    if addresses.is_empty() && args.read.source.is_shared() {
        addresses.extend(std::env::var("FIRSTCOME_URL").ok().filter(|url| !url.is_empty()));
    } else if addresses.is_empty() && !args.read.is_elsewhere() {
        let owner = firstcome_journal::folder::owner(&args.read.source.folder.data);
        addresses.extend(owner.and_then(|owner| owner.address));
    }
    let parse = |address: String| match Server::parse(&address) {
        Ok(server) => Ok((address, server)),
        Err(why) => Err(Complaint::usage(why)),
    };
    addresses.into_iter().map(parse).collect()
}

/// Asks servers for their digests at a position, which each of them waits to reach.
fn digests(
    servers: &[(String, Server)],
    key: Option<&Secret>,
    at: Position,
    verbose: bool,
) -> anyhow::Result<Vec<ServerDigest>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut said = Vec::new();
    for (address, server) in servers {
        let client = Client::to(server.clone(), key.cloned(), Duration::from_secs(10));
        let client = watched(client, verbose);
        let ask = format!("/v1/audit?position={}&min_position={at}", at.position);
        let answer = runtime.block_on(client.ask::<Audit>(Ask::get(ask)));
        let digest = match answer.map_err(Complaint::from)? {
            Reply::Yes(audit, _) => audit.digest,
            Reply::No(problem) => return Err(Complaint::from(problem).into()),
        };
        said.push(ServerDigest { server: address.clone(), digest });
    }
    Ok(said)
}

fn print(report: &AuditReport) {
    let (from, to) = (report.from_position + 1, report.position);
    out::line(match report.from {
        _ if from <= to => format!("recomputed entries {from} to {to}, from the {}", report.from),
        "snapshot" => {
            format!("nothing to recompute: the journal has no entry behind the snapshot of {to}")
        }
        _ => "nothing to recompute: the journal has no entry yet".to_owned(),
    });
    for pool in &report.pools {
        out::line(format!(
            "  {}/{}: ranks 1 to {}, {} of {} taken, {} cancelled",
            pool.campaign, pool.pool, pool.last_rank, pool.taken, pool.capacity, pool.cancelled
        ));
    }
    let differs = |what: &str| report.differences.iter().any(|difference| difference.what == what);
    let (good, bad) = (terminal::mark(true), terminal::mark(false));
    let of = |what: &str| if differs(what) { bad } else { good };
    let skipped = report.skipped.iter().map(|skip| (skip.position, &*skip.reason));
    out::skipped(skipped);
    if let Some(end) = report.moved_at {
        out::line(format!("- entry {end} ends the space here: it was moved to another store"));
    }
    out::line(format!(
        "{} the journal is whole and its digest is {}",
        of("journal"),
        report.digest_recomputed
    ));
    for ServerDigest { server, digest } in &report.servers {
        let mark = terminal::mark(digest.as_ref() == Some(&report.digest_recomputed));
        match digest {
            Some(digest) => out::line(format!("{mark} the digest of {server} is {digest}")),
            None => out::line(format!("{mark} {server} no longer knows its digest there")),
        }
    }
    if report.servers.is_empty() {
        out::line(
            "- no server was asked, so there was no digest to compare: name one with --server",
        );
    }
    match (report.ledger_equal, report.ledger_through) {
        (Some(equal), Some(through)) => {
            let (mark, last) = (terminal::mark(equal), report.last_result);
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
