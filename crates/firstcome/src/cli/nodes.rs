//! `nodes`: which servers share the space, what they found out about forks, and a store that was emptied.

mod replace;

use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use firstcome_api::node::{Forks, Node, Nodes, Raised, Reseed};

use serde_json::json;

use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, yes};
use super::terminal::confirmed;
use super::terminal::out;
use super::terminal::table::{Column, Table, TableArgs};
use firstcome_client::{Ask, Client};
use replace::ReplaceArgs;

/// Options of `nodes`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Every server of the space knows all of them. A server without a heartbeat for 3 s is `silent`, for 10 s `gone`. It is \
listed as gone for 24 hours, or until a server starts at its address. A server that was shut down is not listed. \
`servers` counts the servers here, and those that should run: here and gone.

Examples:
  firstcome nodes
  firstcome nodes --url http://10.0.0.7:8080 --json"
)]
pub(super) struct NodesArgs {
    #[command(flatten)]
    table: TableArgs,
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
    /// Raise the space to the newest level (version of stored bytes and rules), after every server was upgraded.
    RaiseLevel(RaiseArgs),
    /// Make a server write its own state into a store that has nothing of the space any more.
    Reseed(Box<ReseedArgs>),
    /// Print reports about forks of the journal: the subjects that kept, changed or lost a rank.
    #[command(after_help = "Example:\n  firstcome nodes forks")]
    Forks(ServerArgs),
}

/// Options of `nodes raise-level`.
#[derive(Debug, Args)]
#[command(after_help = "\
Make a backup first: a level is never lowered, and older builds refuse the space from then on. The raise is refused \
while the ledger, or a server that was alive in the last 10 s, cannot read the level. Existing campaigns keep their \
rules.

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
For a store that was emptied or replaced while servers ran. If you can restore its data, do that instead. Run it on the \
server with the highest position: `firstcome nodes` with the --url of each server prints it.

If another space was begun there meanwhile, --replace ends that one first: its servers answer `space_moved` from then on, \
and all it has is in --file. It is refused if that space has results, unless --yes is given. If the command ends early, run \
it again.

Examples:
  firstcome nodes reseed --url http://10.0.0.7:8080
  firstcome nodes reseed --url http://10.0.0.7:8080 \\
    --replace 0123456789abcdef0123456789abcdef \\
    --store redis://10.0.0.5:6379 --file begun-by-mistake.fcspace")]
struct ReseedArgs {
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    replace: ReplaceArgs,
    /// Do it without asking.
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(args: NodesArgs, json: bool) -> Result<Exit, Complaint> {
    match args.verb {
        None => show(&args.server, args.table, json).await,
        Some(NodesVerb::RaiseLevel(args)) => raise_level(&args, json).await,
        Some(NodesVerb::Reseed(args)) => reseed(*args, json).await,
        Some(NodesVerb::Forks(server)) => forks(&server, json).await,
    }
}

/// The columns for each server: all of them take about 110 characters.
const TABLE: [Column; 8] = [
    Column::new("node"),
    Column::new("role"),
    Column::new("address").least(16),
    Column::number("position"),
    Column::number("lag"),
    Column::number("durable").spare(1),
    Column::new("seen").spare(2),
    Column::new("since").spare(3),
];

async fn show(server: &ServerArgs, table: TableArgs, json: bool) -> Result<Exit, Complaint> {
    let (space, raw) = yes(server.client()?.ask::<Nodes>(Ask::nodes()).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    let mut table = Table::new(table, &TABLE);
    let (here, gone) = (space.nodes.len(), space.gone.len());
    let differing: Vec<String> = space
        .nodes
        .iter()
        .filter(|node| !node.differs.is_empty())
        .map(|node| format!("{} of {}", node.differs.join(", "), node.address))
        .collect();
    for node in space.nodes.into_iter().chain(space.gone) {
        let role = match (&*node.state, node.leader, node.this) {
            ("here", true, true) => "leader, this one",
            ("here", true, false) => "leader",
            ("here", false, true) => "this one",
            ("here", false, false) => "",
            (state, ..) => state,
        };
        table.row([
            table.id(&node.node),
            role.to_owned(),
            node.address,
            node.position.to_string(),
            node.lag.to_string(),
            node.durable.to_string(),
            table.time(&node.seen),
            table.time(&node.since),
        ]);
    }
    let leader = space.leader.map(|leader| (table.id(&leader.node), leader.term));
    table.print();
    out::line(match leader {
        None => "leader      none: results wait, claims continue".to_owned(),
        Some((node, term)) => format!("leader      {node}, term {term}"),
    });
    out::line(match gone {
        0 => format!("servers     {here}, none gone in the last 24 hours"),
        _ => format!(
            "servers     {here} of {}: {gone} stopped without leaving.\n            \
             Start them again; they are forgotten after 24 hours",
            here + gone
        ),
    });
    for differs in differing {
        out::line(format!("differs     {differs}: /readyz says what to do"));
    }
    let stale = if space.stale { ", may be out of date" } else { "" };
    out::line(format!("this node   at {}, digest {}{stale}", space.position, space.digest));
    out::line(format!("settled     {} of {} results", space.settled, space.last_result));
    out::paragraph("durability  ", &space.durability);
    if let Some(why) = &space.durability_trouble {
        out::paragraph("            ", why);
    }
    out::line(format!("level       {}", space.level));
    Ok(Exit::Yes)
}

async fn forks(server: &ServerArgs, json: bool) -> Result<Exit, Complaint> {
    let client = server.client()?;
    let (mut path, mut forks) = ("/v1/forks".to_owned(), Vec::new());
    loop {
        let (page, _) = yes(client.ask::<Forks>(Ask::get(&*path)).await?)?;
        forks.extend(page.forks);
        let Some(after) = page.next else { break };
        path = format!("/v1/forks?after={after}");
    }
    // The oldest first.
    forks.reverse();
    if json {
        out::json(&json!({"forks": forks}));
        return Ok(Exit::Yes);
    }
    if forks.is_empty() {
        out::line("there is no report of a fork of the journal");
    }
    for fork in forks {
        out::line(format!("epoch {}, reported by node {}", fork.epoch, fork.node));
        for line in fork.report.lines() {
            out::line(format!("  {line}"));
        }
    }
    Ok(Exit::Yes)
}

async fn raise_level(args: &RaiseArgs, json: bool) -> Result<Exit, Complaint> {
    let client = args.server.client()?;
    let (before, _) = yes(client.ask::<Nodes>(Ask::nodes()).await?)?;
    let said = format!(
        "The space is at level {}. It will be raised permanently to the newest level that this server reads: \
         older builds will refuse it. Make a backup first.",
        before.level
    );
    out::talk_paragraph("", &said);
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

async fn reseed(args: ReseedArgs, json: bool) -> Result<Exit, Complaint> {
    let mut client = args.server.client()?;
    let (before, _) = yes(client.ask::<Nodes>(Ask::nodes()).await?)?;
    if !before.shared {
        let complaint = Complaint::new(
            Exit::Refused,
            "this server has no shared store: its journal is in its own data folder, so there is nothing to write",
        );
        return Err(complaint.hint("restore a lost data folder from a backup"));
    }
    explain(&before);
    let replaces = args.replace.is_wanted();
    if !args.replace.make_room(&before, args.yes).await? {
        let position = &before.position;
        if json {
            out::json(&json!({ "position": position, "reseed": "not_needed" }));
        } else {
            out::line(format!(
                "the store has the space of this server, as of {position}: nothing was changed"
            ));
        }
        return Ok(Exit::Yes);
    }
    let (Reseed { position, .. }, accepted) =
        word(&mut client, replaces.then_some(args.server.timeout)).await?;
    if !has_written(&mut client, args.server.timeout).await? {
        let complaint = format!(
            "the server accepted the order, and has not written its state ({position}) yet"
        );
        return Err(Complaint::new(Exit::Unknown, complaint)
            .hint("`firstcome nodes` shows the progress, the log of the server shows errors"));
    }
    if json {
        out::json(&accepted);
    } else {
        out::line(format!("the store has the space again, as of {position}"));
    }
    Ok(Exit::Yes)
}

/// Gives the server the word to write its state. It may need a moment to see that the store has no space any more.
async fn word(
    client: &mut Client,
    within: Option<Duration>,
) -> Result<(Reseed, serde_json::Value), Complaint> {
    let end = Instant::now() + within.unwrap_or_default();
    loop {
        match yes(client.ask(Ask::reseed()).await?) {
            Err(_) if Instant::now() < end => tokio::time::sleep(Duration::from_millis(100)).await,
            said => return said,
        }
    }
}

/// Says on stderr what a reseed keeps and what it gives up.
fn explain(before: &Nodes) {
    let own: Option<&Node> = before.nodes.iter().find(|node| node.this);
    let this = own.map_or("", |node| node.address.as_str());
    let position = &before.position;
    let said = [
        ("", format!("The server {this} will write its own state, as of {position}, into the store.")),
        (
            "Kept:  ",
            format!(
                "everything up to {position}: campaigns, claims and ranks, and the results that are not settled yet."
            ),
        ),
        (
            "Lost:  ",
            "what only the store knew: older entries, which `journal` and `audit` then find in archives only, and \
             entries that no running server had applied."
                .to_owned(),
        ),
        (
            "",
            format!(
                "Other servers go over to it; what they had applied beyond {position} they append again, and it may \
                 change ranks: `firstcome nodes forks` tells whose."
            ),
        ),
    ];
    said.iter().for_each(|(head, text)| out::talk_paragraph(head, text));
    let ours = own.map(|node| node.position);
    for node in before.nodes.iter().filter(|node| Some(node.position) > ours) {
        let Node { address, position, .. } = node;
        out::talk(format!(
            "note: the server {address} was at {position}, which is higher: if it runs, use it instead"
        ));
    }
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
