//! The server itself: its readiness, its time, its nodes, its ledger.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// That the process runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = AliveView))]
pub struct Alive {
    /// `alive`.
    pub status: Cow<'static, str>,
}

/// Whether this node takes commands, and why not.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ReadyView))]
pub struct Ready {
    /// Settings in which live servers of the space differ from this one, each with the cure; without a key their names
    /// only. Empty if all agree. A server that differs is ready all the same.
    #[serde(default)]
    pub differs: Vec<String>,
    /// Age of the oldest result that waits for the ledger, in milliseconds; 0 if none waits.
    pub lag_ms: u64,
    /// Results that wait for the ledger.
    pub lag: u64,
    /// The number of the last result.
    pub last_result: u64,
    /// For how long nobody has led, as far as this node knows, in milliseconds; 0 while somebody does.
    pub leaderless_ms: u64,
    /// The position this node applied last.
    pub position: String,
    /// Why it is not ready; empty if it is.
    pub reasons: Vec<String>,
    /// Why results are not being settled; null if they are.
    pub settle_trouble: Option<String>,
    /// The number up to which the ledger has results.
    pub settled: u64,
    /// `ready` or `not_ready`.
    pub status: Cow<'static, str>,
}

/// The server's time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = TimeView))]
pub struct Time {
    /// The time by which openings and deadlines are decided.
    pub now: String,
    /// The position this node applied last.
    pub position: String,
}

/// One server process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NodeView))]
pub struct Node {
    /// Drawn anew at every start.
    pub node: String,
    /// Where it can be reached, as it says itself.
    pub address: String,
    /// When it started.
    pub since: String,
    /// The position it had applied when it last said so.
    pub position: u64,
    /// How many entries it was behind the head of the journal then.
    pub lag: u64,
    /// Up to where it knew the journal to be durable.
    pub durable: u64,
    /// The newest level of stored bytes it can read.
    pub level: u32,
    /// Bytes of memory campaigns may take on it.
    pub memory_limit: u64,
    /// When it last said so, by the store's clock.
    pub seen: String,
    /// Whether it is the leader.
    pub leader: bool,
    /// Whether it is the one that answers this.
    pub this: bool,
    /// `here`; `silent` where it has said nothing for 3 seconds; `leaving` before it stops; `gone` where it stopped
    /// without leaving, 10 seconds after it last said so.
    #[serde(default = "here")]
    pub state: Cow<'static, str>,
    /// The id of its ledger, `none`, or `unknown` where it has not reached it or is of an older build.
    #[serde(default = "unknown")]
    pub ledger: Cow<'static, str>,
    /// The settings in which it differs from the one that answers this.
    #[serde(default)]
    pub differs: Vec<String>,
}

/// Of a server of an older build.
fn here() -> Cow<'static, str> {
    "here".into()
}

fn unknown() -> Cow<'static, str> {
    "unknown".into()
}

/// Who leads.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = LeaderView))]
pub struct Leader {
    /// The node.
    pub node: String,
    /// The number of its term.
    pub term: u64,
}

/// The nodes of the space, and what this one knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NodesView))]
pub struct Nodes {
    /// The position this node applied last.
    pub position: String,
    /// The digest of its state there.
    pub digest: String,
    /// Who leads; null while nobody does.
    pub leader: Option<Leader>,
    /// The term under which the ledger takes results from this node; 0 where it does not.
    pub settle_term: u64,
    /// The number up to which the ledger has results.
    pub settled: u64,
    /// The number of the last result.
    pub last_result: u64,
    /// What an answer that left is safe against.
    pub durability: String,
    /// Whether this node's state may be out of date.
    pub stale: bool,
    /// Whether the store can be shared by several servers; else the journal is in this one's data folder.
    #[serde(default)]
    pub shared: bool,
    /// The level of the space, at which everything is written.
    pub level: u32,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The nodes that stopped without leaving in the last 24 hours, the last seen first; 64 at most. One that is
    /// started again under the same address takes the place of the one before.
    #[serde(default)]
    pub gone: Vec<Node>,
    /// How many nodes should be there by what was seen: those that are, and those that are gone.
    #[serde(default)]
    pub expected: u64,
}

/// That a node will write its state into a store that has nothing of the space any more.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ReseedView))]
pub struct Reseed {
    /// The position this node applied last.
    pub position: String,
    /// `accepted`.
    pub reseed: Cow<'static, str>,
}

/// That the space is at a level.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RaisedView))]
pub struct Raised {
    /// `raised`, also where it was there before.
    pub outcome: Cow<'static, str>,
    /// The level of the space.
    pub level: u32,
    /// The position it is as of.
    pub position: String,
}

/// What this node's state comes down to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = AuditView))]
pub struct Audit {
    /// The position this node applied last.
    pub position: String,
    /// The digest at the position asked for, or at the one applied last.
    pub digest: Option<String>,
    /// The number up to which the ledger has results.
    pub settled: u64,
    /// The number of the last result.
    pub last_result: u64,
}

/// How settling stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SettlingView))]
pub struct Settling {
    /// `sqlite`, `postgres` or `none`.
    pub ledger: Cow<'static, str>,
    /// The number up to which the ledger has results.
    pub settled: u64,
    /// The number of the last result.
    pub last_result: u64,
    /// Results that wait for the ledger.
    pub lag: u64,
    /// Age of the oldest of them, in milliseconds; 0 if none waits.
    pub lag_ms: u64,
    /// The term under which this server settles; 0 before the ledger minted one.
    pub term: u64,
    /// Why results are not being settled; null if they are.
    pub trouble: Option<String>,
}

/// What one node found out about one fork.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ForkView))]
pub struct Fork {
    /// The epoch that began with it.
    pub epoch: u32,
    /// The node that went over to the other history.
    pub node: String,
    /// Where the journal forked, how many claims kept, changed or lost their rank, and then a line for each of them.
    pub report: String,
}

/// What nodes found out about forks, the oldest first; the last 64 reports are kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ForksView))]
pub struct Forks {
    /// The reports.
    pub forks: Vec<Fork>,
}
