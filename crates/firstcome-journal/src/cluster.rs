//! What nodes on one journal exchange: heartbeats, membership, news, seeds.

pub(crate) mod heartbeat;
pub mod mark;
pub(crate) mod membership;
pub(crate) mod reports;

use crate::entry::{EntriesRead, Head};
use crate::name::Name;
use firstcome_core::names::PieceName;
use firstcome_core::{NodeId, Timestamp};

/// What there was to read.
#[derive(Clone, Debug)]
pub struct News {
    /// Entries beyond the position asked for; none if the time ran out.
    pub read: EntriesRead,
    /// The store's clock at a moment after it was asked.
    pub now: Timestamp,
}

/// A heartbeat: what a node says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// Who it is, as long as it runs.
    pub node: NodeId,
    /// The position it applied last.
    pub position: u64,
    /// The position up to which it knows the journal to be durable.
    pub durable: u64,
    /// How many forks were resolved before what it applied last.
    pub epoch: u32,
    /// The digest of its state there.
    pub digest: u64,
    /// The newest level it can read.
    pub level: u32,
    /// How many bytes of memory campaigns may take on it.
    pub memory: u64,
    /// Since when it runs.
    pub since: Timestamp,
    /// Where it can be reached, 0 to 255 bytes without a blank.
    pub address: Box<str>,
    /// What else it says, 0 to 1,024 bytes: words with blanks between, the first of which is their version. Nothing, of
    /// a build that knows none.
    pub words: Box<str>,
}

impl NodeStatus {
    /// Returns how far it has the space: whoever resolved more forks is further, then whoever applied more.
    pub fn reach(&self) -> (u32, u64) {
        (self.epoch, self.position)
    }
}

/// How long a node is a member after its last heartbeat, in microseconds.
pub(crate) const MEMBER_FOR: i64 = 10_000_000;
/// How long one that went without a word is remembered after its last heartbeat, in microseconds: a day.
pub(crate) const GONE_FOR: i64 = 86_400_000_000;
/// How many of those are remembered at most; the oldest are forgotten.
pub(crate) const GONE_NODES: usize = 64;

/// How often it ended that a server delivers what is appended, so that the next reader had to begin it again and asked a
/// server meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedDeliveries {
    /// How often, since the journal was opened.
    pub count: u64,
    /// Why, the last time.
    pub why: Box<str>,
}

/// The membership: which nodes are alive, and where the journal stands.
#[derive(Clone, Debug)]
pub struct Membership {
    /// Where the journal stands.
    pub head: Head,
    /// The nodes that sent a heartbeat in the last ten seconds, each with when it last did.
    pub nodes: Vec<(NodeStatus, Timestamp)>,
    /// The nodes that stopped sending them without leaving, in the last day, each with when it last did: the last 64 at
    /// most, and none whose address another one has since.
    pub gone: Vec<(NodeStatus, Timestamp)>,
}

/// A state to go on from where a store lost more than the nodes' entries can backfill.
#[derive(Clone, Debug)]
pub struct Seed {
    /// The position the state is as of; the next entry is one more.
    pub position: u64,
    /// The name of the entry there.
    pub name: Name,
    /// Its time.
    pub at: Timestamp,
    /// How many forks were resolved before it.
    pub epoch: u32,
    /// The level of the space there.
    pub level: u32,
    /// The manifest of the snapshot of that state.
    pub manifest: Vec<u8>,
    /// The pieces the manifest names; they must be stored already.
    pub pieces: Vec<PieceName>,
}
