//! `nodes`: which servers share the space, what they found out about forks, and a store that was emptied.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use firstcome_api::node::{Forks, Node, Nodes, Raised, Reseed};

use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, table, yes};
use super::out;
use firstcome_client::{Ask, Client};

/// Options of `nodes`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Any server of the space tells about all of them. A server that is gone leaves the list within ten seconds.

Examples:
  firstcome nodes
  firstcome nodes --url http://10.0.0.7:8080 --json
  firstcome nodes forks
  firstcome nodes raise-level
  firstcome nodes reseed --url http://10.0.0.7:8080"
)]
pub(super) struct NodesArgs {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    verb: Option<NodesVerb>,
}

impl NodesArgs {
    /// Says whether it changes nothing.
    pub(super) fn only_looks(&self) -> bool {
        matches!(self.verb, None | Some(NodesVerb::Forks(_)))
    }
}

#[derive(Debug, Subcommand)]
enum NodesVerb {
    /// Raise the space to the newest level of stored bytes and rules, once every server runs the new build.
    RaiseLevel(RaiseArgs),
    /// Have a server write its own state into a store that has nothing of the space any more.
    Reseed(ReseedArgs),
    /// Print what servers found out about forks of the journal: who kept, changed or lost a rank.
    Forks(ServerArgs),
}

/// Options of `nodes raise-level`.
#[derive(Debug, Args)]
#[command(after_help = "\
Make a backup first: a space is never lowered again, and an older build refuses it from then on. It is refused while a \
server that was there in the last ten seconds, or the ledger, reads less. Campaigns keep the rules they were made under.

Example:
  firstcome nodes raise-level --url http://10.0.0.7:8080")]
struct RaiseArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Do it without asking.
    #[arg(long)]
    yes: bool,
}

/// Options of `nodes reseed`.
#[derive(Debug, Args)]
#[command(after_help = "\
For a store that was emptied or replaced while servers ran. If its data can be brought back, do that instead. \
Ask the server that applied most: `firstcome nodes` with each server's --url tells its position.

Example:
  firstcome nodes reseed --url http://10.0.0.7:8080")]
struct ReseedArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Do it without asking.
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(args: NodesArgs, json: bool) -> Result<Exit, Complaint> {
    match args.verb {
        None => show(&args.server, json).await,
        Some(NodesVerb::RaiseLevel(args)) => raise_level(&args, json).await,
        Some(NodesVerb::Reseed(args)) => reseed(&args, json).await,
        Some(NodesVerb::Forks(server)) => forks(&server, json).await,
    }
}

async fn show(server: &ServerArgs, json: bool) -> Result<Exit, Complaint> {
    let (space, raw) = yes(server.client()?.ask::<Nodes>(Ask::nodes()).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    let mut table = table(&["", "node", "address", "since", "position", "lag", "durable", "seen"]);
    for node in space.nodes {
        let role = if node.leader { "leader" } else { "" };
        let name = if node.this { format!("{} (this)", node.node) } else { node.node };
        table.add_row([
            role.to_owned(),
            name,
            node.address,
            node.since,
            node.position.to_string(),
            node.lag.to_string(),
            node.durable.to_string(),
            node.seen,
        ]);
    }
    out::line(table);
    out::line(match space.leader {
        None => "leader      nobody: results wait, claims go on".to_owned(),
        Some(leader) => format!("leader      {}, term {}", leader.node, leader.term),
    });
    let stale = if space.stale { ", may be out of date" } else { "" };
    out::line(format!("this node   at {}, digest {}{stale}", space.position, space.digest));
    out::line(format!("settled     {} of {} results", space.settled, space.last_result));
    out::line(format!("durability  {}", space.durability));
    out::line(format!("level       {}", space.level));
    Ok(Exit::Yes)
}

async fn forks(server: &ServerArgs, json: bool) -> Result<Exit, Complaint> {
    let (found, raw) = yes(server.client()?.ask::<Forks>(Ask::get("/v1/forks")).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    if found.forks.is_empty() {
        out::line("the journal has not forked, as far as its reports go");
    }
    for fork in found.forks {
        out::line(format!("epoch {}, told by node {}", fork.epoch, fork.node));
        for line in fork.report.lines() {
            out::line(format!("  {line}"));
        }
    }
    Ok(Exit::Yes)
}

async fn raise_level(args: &RaiseArgs, json: bool) -> Result<Exit, Complaint> {
    let mut client = args.server.client()?;
    let (before, _) = yes(client.ask::<Nodes>(Ask::nodes()).await?)?;
    out::talk(format!(
        "The space is at level {}. It will be raised to the newest level this server reads, for good: \
         an older build will refuse it. Make a backup first.",
        before.level
    ));
    if !args.yes && !confirmed()? {
        return Err(Complaint::new(Exit::Refused, "not confirmed: nothing was changed"));
    }
    let (raised, raw) = yes(client.ask::<Raised>(Ask::raise_level()).await?)?;
    if json {
        out::json(&raw);
    } else {
        out::line(format!("the space is at level {}", raised.level));
    }
    Ok(Exit::Yes)
}

async fn reseed(args: &ReseedArgs, json: bool) -> Result<Exit, Complaint> {
    let mut client = args.server.client()?;
    let (before, _) = yes(client.ask::<Nodes>(Ask::nodes()).await?)?;
    explain(&before);
    if !args.yes && !confirmed()? {
        return Err(Complaint::new(Exit::Refused, "not confirmed: nothing was changed"));
    }
    let (Reseed { position, .. }, accepted) = yes(client.ask(Ask::reseed()).await?)?;
    if !has_written(&mut client, args.server.timeout).await? {
        let complaint =
            format!("the server took the order, and has not written its state ({position}) yet");
        return Err(Complaint::new(Exit::Unknown, complaint)
            .hint("`firstcome nodes` tells how it goes, its log why it does not"));
    }
    if json {
        out::json(&accepted);
    } else {
        out::line(format!("the store has the space again, as of {position}"));
    }
    Ok(Exit::Yes)
}

/// Says on stderr what a reseed keeps and what it gives up.
fn explain(before: &Nodes) {
    let own: Option<&Node> = before.nodes.iter().find(|node| node.this);
    let this = own.map_or("", |node| node.address.as_str());
    let position = &before.position;
    out::talk(format!(
        "The server {this} will write its own state, as of {position}, into the store.\n\
         Kept:  everything up to {position}: campaigns, claims and ranks, and the results that are not settled yet.\n\
         Lost:  what only the store knew: older entries, which `journal` and `audit` then find in archives only, \
         and entries that no running server had applied.\n\
         Other servers go over to it; what they had applied beyond {position} they append again, and it may change ranks: \
         `firstcome nodes forks` tells whose."
    ));
    let ours = own.map(|node| node.position);
    for node in before.nodes.iter().filter(|node| Some(node.position) > ours) {
        let Node { address, position, .. } = node;
        out::talk(format!(
            "note: the server {address} was at {position}, further than this one: if it runs, ask it"
        ));
    }
}

fn confirmed() -> Result<bool, Complaint> {
    if !std::io::stdin().is_terminal() {
        let complaint = Complaint::usage("nobody is there to confirm it");
        return Err(complaint.hint("say --yes to do it without asking"));
    }
    drop(write!(std::io::stderr(), "Type yes to go on: "));
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.map_err(|why| Complaint::own(format!("cannot read the answer: {why}")))?;
    Ok(answer.trim() == "yes")
}

/// Waits until the server's state rests on the store again.
async fn has_written(client: &mut Client, within: Duration) -> Result<bool, Complaint> {
    let end = Instant::now() + within;
    loop {
        let (now, _) = yes(client.ask::<Nodes>(Ask::nodes()).await?)?;
        if !now.stale {
            return Ok(true);
        }
        if Instant::now() >= end {
            return Ok(false);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
