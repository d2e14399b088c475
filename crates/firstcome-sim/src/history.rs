//! The history of a world, as the judge reads it: requests and replies, the entries that any server of the store ever
//! had, and the faults.

use firstcome_core::acts::Act;
use firstcome_core::codes::CodeKey;
use firstcome_core::command::{Encoded, Order, Steer};
use firstcome_core::names::Position;
use firstcome_core::results::Kind;
use firstcome_core::{NodeId, Outcome, Settings, Timestamp};
use firstcome_node::CommandError;
use firstcome_node::Decided;
use std::time::Duration;

pub use firstcome_virtual::events::Cause;
pub use firstcome_virtual::store::{Durability, StoredEntry};

/// A moment of the world, as the time since it began.
pub type Moment = Duration;

/// What a caller asked for.
#[derive(Clone, Debug)]
pub enum Asked {
    /// To win a unit.
    Claim {
        campaign: String,
        pool: Option<String>,
        /// For whom.
        subject: String,
    },
    /// To undo a claim, on the subject's or the operator's word.
    Cancel {
        campaign: String,
        /// In which pool, if that is said.
        pool: Option<String>,
        /// Whose claim.
        subject: String,
        /// Which one.
        rank: u32,
        /// Whether on the operator's word.
        operator: bool,
    },
    /// To create or change a campaign.
    Put {
        /// Its name.
        campaign: String,
        /// As it is to be.
        settings: Box<Settings>,
        /// Which operator asks, and under which id.
        order: Order<'static>,
    },
    /// To pause, resume, close or archive a campaign.
    Steer {
        /// Its name.
        campaign: String,
        /// How.
        steer: Steer,
        /// Which operator asks, and under which id.
        order: Order<'static>,
    },
    /// To raise the space to the newest level.
    Raise,
    /// To do something with a code that was typed.
    Code {
        /// What, with the code as the rules know it.
        command: Encoded,
        /// The code.
        typed: String,
        /// The number that its campaign had when it was shown: under another one it is another code.
        number: u32,
    },
    /// Something about a hold, or about seats.
    On {
        /// What.
        command: Encoded,
        /// How long to wait for seats that another subject has.
        wait: Duration,
    },
}

/// What a caller heard: the reply of a node.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An answer of the rules, as of a position.
    Answer {
        /// What it said.
        outcome: Outcome,
        /// As of when.
        position: Position,
        /// Who decided.
        decided: Decided,
    },
    Failure(CommandError),
    /// Nothing: the connection was cut, the node died, or the caller had no more patience.
    Nothing,
}

/// A request to a node, and its reply.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Which run of a node was asked.
    pub node_run: usize,
    /// When it was asked.
    pub asked_at: Moment,
    /// The store's clock then, as its primary had it.
    pub clock_at: Timestamp,
    /// What was asked.
    pub asked: Asked,
    /// The position in the request.
    pub min: Option<Position>,
    /// When the answer was heard, or waiting ended; [`Moment::MAX`] if the caller waits to the end.
    pub heard_at: Moment,
    /// What was heard.
    pub reply: Reply,
}

/// A server that nodes talk to has another last entry than before.
#[derive(Clone, Copy, Debug)]
pub struct HeadChange {
    /// When.
    pub moment: Moment,
    pub server: usize,
    /// Its last entry, an index into [`History::stored`]; `None` where it has none.
    pub last: Option<usize>,
    /// Whether what it had was replaced as a whole: the entry is not the successor of its last one.
    pub replaced: bool,
}

/// The store went on with less than a node or a caller had seen.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When.
    pub moment: Moment,
    /// Why.
    pub cause: Cause,
    /// The last entry of those that went away; [`History::stored`].
    pub from: Option<usize>,
    /// The last entry of what it went on with.
    pub to: Option<usize>,
    /// Up to which result the ledger had them then.
    pub settled: u64,
}

/// A node, from its start to its end.
#[derive(Clone, Debug, Default)]
pub struct NodeRun {
    /// Under which identity it began to write; after a fork the second half is another.
    pub node: NodeId,
    /// When it was ready.
    pub began: Moment,
    /// The first position that the store had then: what is before it this node has as state only.
    pub first: u64,
    /// When it died or was stopped; `None` if it lived to the end.
    pub ended: Option<Moment>,
    /// When it was asked to stop, if it was.
    pub reply: Option<Moment>,
    /// What it had applied last, and when that was seen: indexes into [`History::stored`].
    pub applied: Vec<(Moment, usize)>,
}

/// A row of the ledger, as its readers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub number: u64,
    /// Its number among the results of its campaign.
    pub in_campaign: u32,
    /// What it says has happened.
    pub kind: Kind,
    pub campaign: String,
    pub pool: String,
    pub rank: u32,
    /// Whose.
    pub subject: String,
    /// Which unit of a seated pool; of an exchange the new one.
    pub unit: Option<String>,
    /// The id of the hold it came from.
    pub hold: Option<String>,
    /// Of an exchange the old seat.
    pub moved_from: Option<String>,
}

impl From<firstcome_node::ledger::Row> for Row {
    fn from(row: firstcome_node::ledger::Row) -> Self {
        let details = row.details.map(|details| *details).unwrap_or_default();
        Self {
            number: row.number,
            in_campaign: row.in_campaign,
            kind: row.kind,
            campaign: row.campaign.into(),
            pool: row.pool.into(),
            rank: row.rank,
            subject: row.subject.into(),
            // What only results about codes and waitlists say stands in the columns that they do not use.
            unit: row.unit.or(details.verdict).map(Into::into),
            hold: row.hold.or(details.reference).map(Into::into),
            moved_from: row.moved_from.or(details.import).map(Into::into),
        }
    }
}

/// A code that a caller was shown with a claim.
#[derive(Clone, Debug)]
pub struct ShownCode {
    /// The request, an index into [`History::exchanges`].
    pub exchange: usize,
    pub campaign: String,
    pub pool: String,
    /// Whose claim it was.
    pub subject: String,
    /// The code, as the rules know it.
    pub code: CodeKey,
}

/// A request that waited in the queue for seats.
#[derive(Clone, Copy, Debug)]
pub struct QueueWait {
    /// The request, an index into [`History::exchanges`].
    pub exchange: usize,
    /// When the wait began.
    pub began: Moment,
    /// When the wait ended; `None` if the node died before.
    pub left: Option<Moment>,
}

/// A node at the end.
#[derive(Clone, Debug)]
pub struct Last {
    /// Which life.
    pub node_run: usize,
    /// What it applied last, an index into [`History::stored`].
    pub applied: Option<usize>,
    /// The digest of its state.
    pub digest: u64,
    /// What is wrong with it, if anything is.
    pub trouble: Option<String>,
    /// The acts of operators on each campaign, the newest first; `None` if nobody looked.
    pub acts: Option<Vec<ActRow>>,
}

/// A row of a list of acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActRow {
    /// On which campaign.
    pub campaign: String,
    pub number: u32,
    /// What it says.
    pub act: Act,
}

/// How the world stood when the faults had been over for the stated time.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// Every entry of the journal, in order: indexes into [`History::stored`].
    pub journal: Vec<usize>,
    /// The nodes that run.
    pub nodes: Vec<Last>,
    /// The ledger's rows, in the order of their numbers; `None` in a world without one.
    pub ledger: Option<Vec<Row>>,
    /// Up to which result the ledger says it has them.
    pub through: u64,
    /// Why settling does not go on, if it does not.
    pub settle_trouble: Option<String>,
    /// What nodes wrote about forks, into the store and on standard error: lines such as `spring/main "bob" changed from rank 2 to 4`.
    pub reports: Vec<String>,
    /// Whether no node leads.
    pub leaderless: bool,
}

/// Everything that happened.
#[derive(Clone, Debug)]
pub struct History {
    /// When an acknowledged entry was durable in this world.
    pub durability: Durability,
    /// All requests, in the order of time.
    pub exchanges: Vec<Exchange>,
    /// All entries any server ever had.
    pub stored: Vec<StoredEntry>,
    /// Where the servers stood that nodes talked to.
    pub head_changes: Vec<HeadChange>,
    /// What the store lost.
    pub losses: Vec<Loss>,
    /// When it went on from another server or an older file, and which server that is.
    pub failovers: Vec<(Moment, usize)>,
    /// When a primary became a copy and kept the connections it had.
    pub demotions: Vec<Moment>,
    /// When an append arrived at another primary than its sender knew of: a log without conditions takes it.
    pub carried_over: Vec<Moment>,
    /// When its clock was set, and by how many microseconds.
    pub clock_steps: Vec<(Moment, i64)>,
    /// When the operator gave the ledger another content: a restored backup, or one rebuilt.
    pub ledger_restored: Vec<Moment>,
    /// Rows that the ledger had, and since when: the last of each batch, and all where it was replaced.
    pub ledger_had: Vec<(Moment, Row)>,
    /// When a leader's results were taken by the ledger although another leader had begun there since.
    pub settled_late: Vec<Moment>,
    /// The waits for seats, in the order in which they began.
    pub queue_waits: Vec<QueueWait>,
    /// The codes that callers were shown.
    pub codes_shown: Vec<ShownCode>,
    /// The runs of all nodes.
    pub node_runs: Vec<NodeRun>,
    /// How it ended.
    pub end: End,
}
