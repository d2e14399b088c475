//! The environment of the nodes of a world: store, ledger, lock and plan.

use crate::ledger::SimLedger;
use crate::plan::Plan;
use crate::store::Store;
use crate::trace::Trace;
use firstcome_inject::Mistake;
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
    /// What is done wrong on purpose, if anything is.
    pub(crate) mistake: Option<Mistake>,
}
