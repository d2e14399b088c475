//! The environment of the nodes of a world: store, ledger, lock and plan.

use crate::ledger::SimLedger;
use crate::plan::Plan;
use crate::record::Record;
use crate::trace::{Listener, Trace};
use firstcome_inject::Mistake;
use firstcome_virtual::gate::Gate;
use firstcome_virtual::network::{LinkSettings, StoreLink};
use firstcome_virtual::store::{BEGIN, Store, StoreSettings};
use std::sync::Arc;

/// The environment of the nodes. Clones are the same environment.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) plan: Arc<Plan>,
    pub(crate) store: Store,
    /// The ledger, in a world that has one.
    pub(crate) ledger: Option<SimLedger>,
    /// The lock that the leader holds.
    pub(crate) locks: firstcome_lock::Memory,
    pub(crate) trace: Trace,
    pub(crate) record: Record,
    /// What is done wrong on purpose, if anything is.
    pub(crate) mistake: Option<Mistake>,
}

impl Environment {
    /// Sets up what a plan says; `listener` hears the story.
    pub(crate) fn build(
        plan: Arc<Plan>,
        mistake: Option<Mistake>,
        listener: Option<Listener>,
    ) -> Self {
        let Plan { seed, copies, durability, log, .. } = *plan;
        let trace = Trace::begin(listener);
        let record = Record::begin(durability, trace.clone());
        let settings = StoreSettings { seed, copies, durability, log };
        Self {
            store: Store::build(settings, Arc::new(record.clone())),
            ledger: plan.ledger.then(|| SimLedger::open(seed, record.clone(), trace.clone())),
            locks: firstcome_lock::Memory::starting_at(BEGIN.unsigned_abs()),
            trace,
            record,
            mistake,
            plan,
        }
    }

    /// Connects the node in a slot to the store.
    pub(crate) fn link(&self, slot: usize, gate: Gate, seed: u64) -> StoreLink {
        let settings = LinkSettings {
            number: slot,
            seed,
            latency: self.plan.latency,
            noise: self.plan.noise,
            late: self.plan.late,
            fresh_counts: self.mistake == Some(Mistake::FreshConnectionCounts),
        };
        StoreLink::build(&self.store, gate, settings)
    }
}
