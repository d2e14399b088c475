//! `nodes`: which servers share the space, what they found out about forks, and a store that was emptied.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::Value;

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
  firstcome nodes reseed --url http://10.0.0.7:8080"
)]
pub(super) struct NodesArgs {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    verb: Option<NodesVerb>,
}

#[derive(Debug, Subcommand)]
enum NodesVerb {
    /// Have a server write its own state into a store that has nothing of the space any more.
    Reseed(ReseedArgs),
    /// Print what servers found out about forks of the journal: who kept, changed or lost a rank.
    Forks(ServerArgs),
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
        Some(NodesVerb::Reseed(args)) => reseed(&args, json).await,
        Some(NodesVerb::Forks(server)) => forks(&server, json).await,
    }
}

async fn show(server: &ServerArgs, json: bool) -> Result<Exit, Complaint> {
    let (_, raw) = yes(server.client()?.ask::<Value>(Ask::nodes()).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    let mut table = table(&["", "node", "address", "since", "position", "lag", "durable", "seen"]);
    for node in nodes(&raw) {
        let role = if node["leader"] == true { "leader" } else { "" };
        let name = text(node, "node");
        let name = if node["this"] == true { format!("{name} (this)") } else { name };
        table.add_row([
            role.to_owned(),
            name,
            text(node, "address"),
            text(node, "since"),
            text(node, "position"),
            text(node, "lag"),
            text(node, "durable"),
            text(node, "seen"),
        ]);
    }
    out::line(table);
    let leader = &raw["leader"];
    if leader.is_null() {
        out::line("leader      nobody: results wait, claims go on");
    } else {
        out::line(format!("leader      {}, term {}", text(leader, "node"), text(leader, "term")));
    }
    let stale = if raw["stale"] == true { ", may be out of date" } else { "" };
    let (position, digest) = (text(&raw, "position"), text(&raw, "digest"));
    out::line(format!("this node   at {position}, digest {digest}{stale}"));
    let (settled, last) = (text(&raw, "settled"), text(&raw, "last_result"));
    out::line(format!("settled     {settled} of {last} results"));
    out::line(format!("durability  {}", text(&raw, "durability")));
    Ok(Exit::Yes)
}

async fn forks(server: &ServerArgs, json: bool) -> Result<Exit, Complaint> {
    let (_, raw) = yes(server.client()?.ask::<Value>(Ask::get("/v1/forks")).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    let reports = raw["forks"].as_array().map(Vec::as_slice).unwrap_or_default();
    if reports.is_empty() {
        out::line("the journal has not forked, as far as its reports go");
    }
    for fork in reports {
        out::line(format!("epoch {}, told by node {}", text(fork, "epoch"), text(fork, "node")));
        for line in text(fork, "report").lines() {
            out::line(format!("  {line}"));
        }
    }
    Ok(Exit::Yes)
}

async fn reseed(args: &ReseedArgs, json: bool) -> Result<Exit, Complaint> {
    let mut client = args.server.client()?;
    let (_, before) = yes(client.ask::<Value>(Ask::nodes()).await?)?;
    explain(&before);
    if !args.yes && !confirmed()? {
        return Err(Complaint::new(Exit::Refused, "not confirmed: nothing was changed"));
    }
    let (_, accepted) = yes(client.ask::<Value>(Ask::reseed()).await?)?;
    let position = text(&accepted, "position");
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
fn explain(before: &Value) {
    let this = nodes(before).find(|node| node["this"] == true).map(|node| text(node, "address"));
    let (this, position) = (this.unwrap_or_default(), text(before, "position"));
    out::talk(format!(
        "The server {this} will write its own state, as of {position}, into the store.\n\
         Kept:  everything up to {position}: campaigns, claims and ranks, and the results that are not settled yet.\n\
         Lost:  what only the store knew: older entries, which `journal` and `audit` then find in archives only, \
         and entries that no running server had applied.\n\
         Other servers go over to it; what they had applied beyond {position} they append again, and it may change ranks: \
         `firstcome nodes forks` tells whose."
    ));
    let ours =
        nodes(before).find(|node| node["this"] == true).and_then(|node| node["position"].as_u64());
    for node in nodes(before).filter(|node| node["position"].as_u64() > ours) {
        let (address, position) = (text(node, "address"), text(node, "position"));
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
        let (_, now) = yes(client.ask::<Value>(Ask::nodes()).await?)?;
        if now["stale"] == false {
            return Ok(true);
        }
        if Instant::now() >= end {
            return Ok(false);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn nodes(raw: &Value) -> impl Iterator<Item = &Value> {
    raw["nodes"].as_array().into_iter().flatten()
}

fn text(value: &Value, field: &str) -> String {
    match &value[field] {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            other.to_string()
        }
    }
}
