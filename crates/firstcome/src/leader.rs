//! What exactly one node does: settle results, write snapshots and trim the journal, let finished
//! campaigns leave memory.
//!
//! On the embedded store this process is the only node and so the leader. Terms and compares are
//! there all the same: the ledger and the head of the journal each mint the term they enforce.

mod housekeeping;
mod settle;
mod snapshots;

use crate::ledger::Ledger;
use crate::metrics::Metrics;
use crate::node::Node;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How the leader's work is paced.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The pause between two transactions of the ledger while little waits.
    pub settle_interval: Duration,
    /// How long a closed and settled campaign stays in memory; for ever, if none.
    pub keep_for: Option<Duration>,
    /// Bytes of entries behind the newest snapshot that make a new one due.
    pub snapshot_bytes: u64,
    /// Time since the newest snapshot that makes a new one due, if there are entries behind it.
    pub snapshot_every: Duration,
}

/// How settling stands, for readers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The term the ledger minted for this leader; 0 before it did.
    pub term: u64,
    /// Why results are not being settled, if they are not.
    pub trouble: Option<String>,
}

/// The leader's tasks.
#[derive(Debug)]
pub struct Leader {
    tasks: Vec<JoinHandle<()>>,
    stopping: watch::Sender<bool>,
    standing: Arc<Mutex<Standing>>,
}

impl Leader {
    /// Begins to lead.
    pub fn start(node: &Node, ledger: Option<Ledger>, pace: Pace, metrics: &Arc<Metrics>) -> Self {
        let (stopping, stop) = watch::channel(false);
        let standing = Arc::new(Mutex::new(Standing::default()));
        let intake = Arc::clone(&node.intake);
        let drop_unsettled = ledger.is_none();
        let mut tasks = Vec::new();
        if let Some(ledger) = ledger {
            let settle = settle::Settle {
                intake: Arc::clone(&intake),
                ledger,
                interval: pace.settle_interval,
                metrics: Arc::clone(metrics),
                standing: Arc::clone(&standing),
            };
            tasks.push(tokio::spawn(settle.run(stop.clone())));
        }
        let snapshots = snapshots::Snapshots {
            replica: Arc::clone(&node.replica),
            journal: node.journal.clone(),
            bytes: pace.snapshot_bytes,
            every: pace.snapshot_every,
            metrics: Arc::clone(metrics),
        };
        tasks.push(tokio::spawn(snapshots.run(stop.clone())));
        if let Some(keep_for) = pace.keep_for {
            tasks.push(tokio::spawn(housekeeping::run(intake, keep_for, drop_unsettled, stop)));
        }
        Self { tasks, stopping, standing }
    }

    /// Gives how settling stands.
    pub fn standing(&self) -> Standing {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Settles what is there, as far as the ledger takes it, and ends.
    pub async fn stop(self) {
        self.stopping.send_replace(true);
        for task in self.tasks {
            drop(task.await);
        }
    }
}
