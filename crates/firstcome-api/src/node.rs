//! The server itself: its readiness, its time, its nodes, its ledger.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The process runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = AliveView))]
pub struct Alive {
    /// `alive`.
    pub status: Cow<'static, str>,
}

/// Whether this server accepts commands, and if not, why.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ReadyView))]
pub struct Ready {
    /// Settings in which live servers of the space differ from this one, each with what to do; without a key only their names.
    /// Empty if all agree. A server that differs is still ready.
    #[serde(default)]
    pub differs: Vec<String>,
    /// The failures that an answer survives; without a key only the name of the setting.
    #[serde(default)]
    pub durability: String,
    /// Why these are fewer than what was chosen: settings of the store, or `fsync` in NATS is not proven. Null if they are not.
    /// It is in `reasons` too if commands are refused for it.
    #[serde(default)]
    pub durability_trouble: Option<String>,
    /// Age of the oldest result that waits for the ledger, in milliseconds; 0 if none waits.
    pub lag_ms: u64,
    /// Results that wait for the ledger.
    pub lag: u64,
    /// The number of the last result.
    pub last_result: u64,
    /// How long there has been no leader, as far as this server knows, in milliseconds; 0 while there is one.
    pub leaderless_ms: u64,
    /// The last position that this server applied.
    pub position: String,
    /// Why it is not ready; empty if it is.
    pub reasons: Vec<String>,
    /// Why results are not written to the ledger; null if they are.
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
    /// The time that decides openings and deadlines.
    pub now: String,
    /// The last position that this server applied.
    pub position: String,
}

/// One server process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NodeView))]
pub struct Node {
    /// Its id, random at every start.
    pub node: String,
    /// Its address.
    pub address: String,
    /// When it started.
    pub since: String,
    /// Its position, in its last heartbeat.
    pub position: u64,
    /// How many entries it was behind the head of the journal then.
    pub lag: u64,
    /// The last position that it knew to be durable.
    pub durable: u64,
    /// The newest level of stored bytes it can read.
    pub level: u32,
    /// Bytes of memory that campaigns may use on it.
    pub memory_limit: u64,
    /// Its last heartbeat, by the store's clock.
    pub seen: String,
    /// Whether it is the leader.
    pub leader: bool,
    /// Whether it is the server that answers.
    pub this: bool,
    /// `here`; `silent` after 3 s without a heartbeat; `leaving` before it stops; `gone` if it stopped without leaving, 10 s
    /// after its last heartbeat.
    pub state: Cow<'static, str>,
    /// The id of its ledger, `none`, or `unknown` if it has not reached the ledger.
    pub ledger: Cow<'static, str>,
    /// The settings in which it differs from the server that answers.
    #[serde(default)]
    pub differs: Vec<String>,
}

/// The leader.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = LeaderView))]
pub struct Leader {
    /// The node.
    pub node: String,
    /// The number of its term.
    pub term: u64,
}

/// The servers of the space, and the state of this one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NodesView))]
pub struct Nodes {
    /// The identity of the space: 32 hexadecimal digits.
    #[serde(default)]
    pub space: String,
    /// The last position that this server applied.
    pub position: String,
    /// The digest of its state there.
    pub digest: String,
    /// The leader; null while there is none.
    pub leader: Option<Leader>,
    /// The term under which the ledger accepts results of this server; 0 if it does not.
    pub settle_term: u64,
    /// The number up to which the ledger has results.
    pub settled: u64,
    /// The number of the last result.
    pub last_result: u64,
    /// The failures that an answer survives.
    pub durability: String,
    /// Why these are fewer than what was chosen: settings of the store, or `fsync` in NATS is not proven. Null if they are not.
    #[serde(default)]
    pub durability_trouble: Option<String>,
    /// Whether this node's state may be out of date.
    pub stale: bool,
    /// Whether several servers can share the store; otherwise the journal is in the data folder of this server.
    #[serde(default)]
    pub shared: bool,
    /// The level of the space, at which everything is written.
    pub level: u32,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Servers that stopped without leaving in the last 24 hours, the last one first; at most 64. A server that starts at the
    /// same address replaces the old one.
    #[serde(default)]
    pub gone: Vec<Node>,
    /// How many servers should run: those that are here and those that are gone.
    #[serde(default)]
    pub expected: u64,
}

/// The server will write its state into a store that has nothing of the space any more.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ReseedView))]
pub struct Reseed {
    /// The last position that this server applied.
    pub position: String,
    /// `accepted`.
    pub reseed: Cow<'static, str>,
}

/// The level of the space.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RaisedView))]
pub struct Raised {
    /// `raised`, also if the space was at that level before.
    pub outcome: Cow<'static, str>,
    /// The level of the space.
    pub level: u32,
    /// The position to which this answer belongs.
    pub position: String,
}

/// The digest of the state of this server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = AuditView))]
pub struct Audit {
    /// The last position that this server applied.
    pub position: String,
    /// The digest at the requested position, or at the last applied one.
    pub digest: Option<String>,
    /// The number up to which the ledger has results.
    pub settled: u64,
    /// The number of the last result.
    pub last_result: u64,
}

/// How far results are in the ledger.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SettlingView))]
pub struct Settling {
    /// `sqlite`, `postgres`, `mariadb` or `none`.
    pub ledger: Cow<'static, str>,
    /// The number up to which the ledger has results.
    pub settled: u64,
    /// The number of the last result.
    pub last_result: u64,
    /// Results that wait for the ledger.
    pub lag: u64,
    /// Age of the oldest of them, in milliseconds; 0 if none waits.
    pub lag_ms: u64,
    /// The term under which this server writes to the ledger; 0 before the ledger issued one.
    pub term: u64,
    /// Why results are not written to the ledger; null if they are.
    pub trouble: Option<String>,
}

/// The report of one server about one fork.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ForkView))]
pub struct Fork {
    /// The epoch that began with it.
    pub epoch: u32,
    /// The server that switched to the other branch.
    pub node: String,
    /// Where the journal forked, how many claims kept, changed or lost their rank, and then a line for each of them.
    pub report: String,
}

/// Reports of servers about forks, the newest first; the last 64 are kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ForksView))]
pub struct Forks {
    /// The reports: as many as have 1 MiB together, or one.
    pub forks: Vec<Fork>,
    /// The `after` of the next page; null if this is the last.
    pub next: Option<String>,
}
