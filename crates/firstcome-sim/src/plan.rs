//! The plan of a world: its store and nodes, the requests of its people, and its faults.
//!
//! Everything is drawn before the world begins, so that a part of it can be left out and the rest
//! stays what it was: that is how a history that fails is made shorter.

mod bars;
mod coupons;
mod desks;
mod draw;
mod leaving;
mod lists;
mod newcomers;
mod refusals;
mod scenarios;
mod swings;
mod venues;

pub use coupons::{Codes, CouponStep, CouponWant};
pub use venues::{PlannedSeat, Venue};

use crate::history::Durability;
use firstcome_core::command::{Encoded, Order};
use firstcome_core::settings::HoldSettings;
use firstcome_node::OnEmptied;
use firstcome_virtual::network::Cut;
use std::time::Duration;

/// How often a person asks at least who does not give up.
pub(crate) const INSISTS: u32 = 200;

/// The operator who is there in every world, without an id.
const DESK: Order<'static> = Order { id: None, who: "desk" };

/// The plan of a world.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The number it was drawn from.
    pub seed: u64,
    /// Nodes at the beginning.
    pub nodes: usize,
    /// Copies of the primary.
    pub copies: usize,
    /// When an acknowledged entry is durable.
    pub durability: Durability,
    /// Where the store takes each append without a condition: how many messages before it the ancestor of an entry may lie.
    pub log: Option<u64>,
    /// Whether results are settled into a ledger.
    pub ledger: bool,
    /// Whether messages are lost, late and repeated at random.
    pub noise: bool,
    /// How long the store's messages take on average, in microseconds.
    pub latency: u64,
    /// The pause between snapshots.
    pub snapshot_every: Duration,
    /// How long campaigns stay in memory after they closed, if not for ever.
    pub keep_for: Option<Duration>,
    /// Whether its builds read one level more than there is, to which the space may be raised.
    pub invents_level: bool,
    /// Whether a newer build writes once everything is whole.
    pub newer: bool,
    /// Whether nodes find the store's next primary late, and stay connected to the last one until then.
    pub late: bool,
    /// Whether nodes that start know which space they are of, as with a data folder; else they begin one where there is none.
    pub remembers: bool,
    /// Whether nodes put the space back into an emptied store by themselves.
    pub on_emptied: OnEmptied,
    pub campaigns: Vec<PlannedCampaign>,
    /// What happens, in the order of time.
    pub steps: Vec<Step>,
    /// When faults are over.
    pub ends: Duration,
}

/// A campaign as people want it.
#[derive(Clone, Debug)]
pub struct PlannedCampaign {
    pub name: String,
    /// Its pools: name and capacity.
    pub pools: Vec<(String, u32)>,
    /// Which of them are pools of codes; shorter where the others are not.
    pub codes: Vec<Option<Codes>>,
    /// When it opens, after the beginning.
    pub opens: Duration,
    /// When it closes, after the beginning.
    pub closes: Option<Duration>,
    /// The most live claims of one subject.
    pub limit: Option<u32>,
    /// Whether one may claim again after cancelling.
    pub claim_again: bool,
    /// Whether the unit of a cancelled claim can be won again.
    pub units_return: bool,
    /// Whether everybody may see it.
    pub public: bool,
    /// Its seated pool after the others, if it has one.
    pub venue: Option<Venue>,
    /// How units are held.
    pub holding: HoldSettings,
}

impl PlannedCampaign {
    /// Returns the name of a pool by its index; the seated one comes last.
    pub fn pool(&self, index: usize) -> &str {
        self.pools.get(index).map_or("hall", |(name, _)| name)
    }
}

/// Something that happens.
#[derive(Clone, Debug)]
pub struct Step {
    /// When.
    pub at: Duration,
    pub what: What,
}

/// What happens.
#[derive(Clone, Debug)]
pub enum What {
    /// A person asks, and asks again elsewhere when there is no answer.
    Ask(Ask),
    /// Something goes wrong.
    Fault(Fault),
}

/// A person asks for something.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Which node first, by its slot.
    pub slot: usize,
    /// What for.
    pub want: Want,
    /// Under which key and id, where an operator asks.
    pub order: Order<'static>,
    /// How many times it is asked again without an answer.
    pub retries: u32,
    /// Whether the position heard last is sent along.
    pub sends_position: bool,
    /// The seed of the random choices of the person.
    pub seed: u64,
}

/// What a person wants.
#[derive(Clone, Debug)]
pub enum Want {
    /// A unit of a campaign's pool; the pool may be left out.
    Claim {
        campaign: usize,
        pool: Option<usize>,
        /// Who.
        subject: u32,
    },
    /// Their claim undone, if they know of one.
    Cancel {
        campaign: usize,
        pool: usize,
        /// Whether that is said.
        names_pool: bool,
        /// Who.
        subject: u32,
        /// Whether the operator does it.
        operator: bool,
    },
    /// A campaign, created or with another capacity of its first pool.
    Put { campaign: usize, capacity: Option<u32> },
    /// A campaign paused.
    Pause(usize),
    /// A campaign resumed.
    Resume(usize),
    /// A campaign closed.
    Close(usize),
    /// The space raised to the newest level.
    Raise,
    /// A unit of a campaign nobody made.
    Nowhere(u32),
    /// Something of a code, or of an import.
    Coupon(CouponWant),
    /// Something about a hold, or about seats.
    On {
        /// What.
        command: Encoded,
        /// How long to wait for seats that another subject has.
        wait: Duration,
    },
}

/// Something goes wrong.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// A node dies, and another one starts in its slot after a while.
    Crash {
        slot: usize,
        /// After how long.
        down: Duration,
    },
    /// A node is asked to stop, and another one starts in its slot after a while.
    Stop {
        slot: usize,
        /// After how long.
        down: Duration,
    },
    /// A node is paused.
    Pause {
        slot: usize,
        /// For how long.
        time: Duration,
    },
    /// A node and the store do not reach one another.
    Cut {
        slot: usize,
        /// For how long.
        time: Duration,
        /// What still arrives.
        direction: Cut,
    },
    /// What a node says to the store and hears from it takes much longer.
    Slow {
        slot: usize,
        /// For how long.
        time: Duration,
        /// How much longer, at most.
        by: Duration,
    },
    /// The lock that says who leads does not answer a node.
    LockAway {
        slot: usize,
        /// For how long.
        time: Duration,
    },
    /// The lock that says who leads refuses every node whatever would change it.
    LockRefuses {
        /// With which error of Redis.
        error: &'static str,
        /// For how long.
        time: Duration,
    },
    /// A copy hears nothing from the primary.
    Lag {
        copy: usize,
        /// For how long.
        time: Duration,
    },
    /// A copy takes the primary's place; the old one goes on for those who still talk to it.
    Promote {
        copy: usize,
        /// Whether the old primary is there for a while.
        lingers: Option<Duration>,
    },
    /// The primary dies and starts again from what its file has.
    Restart {
        /// After how long.
        down: Duration,
    },
    /// The primary starts again from a file that is this old.
    OldFile {
        /// How old.
        age: Duration,
    },
    /// The primary starts again with nothing.
    Emptied,
    /// There is no room for entries.
    Full {
        /// For how long.
        time: Duration,
    },
    /// The primary's clock is set.
    Clock {
        /// Forward by so many microseconds, or back.
        by: i64,
    },
    /// Copies do not confirm, and the file is not written.
    NoConfirms {
        /// For how long.
        time: Duration,
    },
    /// The ledger does not answer.
    LedgerAway {
        /// For how long.
        time: Duration,
    },
    /// The answer to the next transaction of the ledger is lost.
    LostCommit,
    /// A transaction blocks before its end, and the next one gives up waiting for it.
    StuckTransaction {
        /// For how long.
        time: Duration,
    },
    /// The ledger's backup of this long ago takes its place.
    OldLedger {
        /// How long ago.
        age: Duration,
    },
}

impl Plan {
    /// Returns the same world with these of its steps only.
    #[must_use]
    pub fn only(&self, steps: &[usize]) -> Self {
        let steps = steps.iter().filter_map(|step| self.steps.get(*step)).cloned().collect();
        Self { steps, ..self.clone() }
    }
}
