//! What a node, its healer and its leader count.
//!
//! Handles are kept: a count on the path of a claim is one atomic addition.

pub(crate) mod histogram;

use crate::metrics::histogram::Histogram;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::{Registry, Unit};
use std::time::Duration;

/// Why a term can end, as the lock library calls it; each is there from the start.
const LOSSES: [&str; 5] = ["taken", "ran_out", "held_too_long", "given_back", "closed"];

type ByReason = Family<[(&'static str, &'static str); 1], Counter>;

/// Every count of a node.
#[derive(Debug)]
pub struct Metrics {
    /// Claims answered from this node's state.
    pub from_memory: Counter,
    /// Calls to the journal that failed.
    pub journal_failures: Counter,
    /// Times the store no longer delivered what is appended.
    pub deliveries_ended: Counter,
    /// Transactions the ledger took.
    pub settlements: Counter,
    /// Transactions the ledger did not take.
    pub settle_failures: Counter,
    /// Times this node stopped leading, or standing for election, though nobody told it to.
    pub leader_failures: Counter,
    /// Terms this node was elected for.
    pub terms_won: Counter,
    terms_lost: ByReason,
    /// Renewals of the leader's lock that came when the next one was due already.
    pub renewals_late: Counter,
    /// Snapshots installed.
    pub snapshots: Counter,
    /// How often this node doubted the journal and checked whether it is whole.
    pub heals: Counter,
    /// Entries put back into a journal that had lost them.
    pub put_back: Counter,
    /// Forks of the journal this node left.
    pub forks: Counter,
    /// Times this node wrote its state into a store that had lost more than entries can put back.
    pub reseeds: Counter,
    /// Time each command waited until it was taken into a batch.
    pub queue_wait: Histogram,
    /// Time from applying a batch until it was known to be durable.
    pub durable_wait: Histogram,
    batches: Histogram,
    appends: Histogram,
}

impl Metrics {
    /// Makes the counts and registers them.
    pub fn new(registry: &mut Registry) -> Self {
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let from_memory = counter("from_memory", "Claims answered from memory");
        let journal_failures = counter("journal_failures", "Calls to the journal that failed");
        let help = "Times the store no longer delivered what is appended, and was asked";
        let deliveries_ended = counter("deliveries_ended", help);
        let settlements = counter("settlements", "Transactions the ledger took");
        let settle_failures = counter("settle_failures", "Transactions the ledger did not take");
        let help = "Times leading or standing for election broke off";
        let leader_failures = counter("leader_failures", help);
        let terms_won = counter("election_terms_won", "Terms this node was elected for");
        let help = "Renewals of the leader's lock that came when the next was due";
        let renewals_late = counter("election_renewals_late", help);
        let snapshots = counter("snapshots", "Snapshots installed");
        let heals = counter("heals", "Times this node doubted the journal");
        let put_back = counter("put_back", "Entries put back into a journal that lost them");
        let forks = counter("forks", "Forks of the journal this node left");
        let help = "Times this node wrote its state into a store that lost more than entries";
        let reseeds = counter("reseeds", help);
        let terms_lost = ByReason::default();
        for reason in LOSSES {
            drop(terms_lost.get_or_create(&[("reason", reason)]));
        }
        let help = "Terms of this node that ended, by reason";
        registry.register("election_terms_lost", help, terms_lost.clone());
        let batches = Histogram::of_commands();
        registry.register("batch_commands", "Commands in a batch", batches.clone());
        let mut times = |name: &str, help: &str| {
            let times = Histogram::of_times();
            registry.register_with_unit(name, help, Unit::Seconds, times.clone());
            times
        };
        let appends = times("append", "Time from sending a batch to hearing that it is stored");
        let help = "Time a command waits until it is taken into a batch";
        let queue_wait = times("queue_wait", help);
        let help = "Time from applying a batch to knowing that it is durable";
        let durable_wait = times("durable_wait", help);
        Self {
            from_memory,
            journal_failures,
            deliveries_ended,
            settlements,
            settle_failures,
            leader_failures,
            terms_won,
            terms_lost,
            renewals_late,
            snapshots,
            heals,
            put_back,
            forks,
            reseeds,
            queue_wait,
            durable_wait,
            batches,
            appends,
        }
    }

    /// Counts a term that ended, by its reason.
    pub(crate) fn term_lost(&self, reason: &'static str) {
        self.terms_lost.get_or_create(&[("reason", reason)]).inc();
    }

    /// Returns how many terms ended for this reason.
    pub fn terms_lost(&self, reason: &'static str) -> u64 {
        self.terms_lost.get_or_create(&[("reason", reason)]).get()
    }

    pub(crate) fn batch(&self, commands: usize) {
        if commands > 0 {
            self.batches.count(commands as u64);
        }
    }

    pub(crate) fn appended(&self, took: Duration) {
        self.appends.took(took);
    }
}

impl Default for Metrics {
    /// Makes counts that nobody reads.
    fn default() -> Self {
        Self::new(&mut Registry::default())
    }
}
