//! What exactly one node does: settle results, write snapshots and trim the journal, let finished
//! campaigns leave memory.
//!
//! On the embedded store this process is the only node and so the leader; several nodes elect one of
//! them with a lock. Nothing rests on that lock: the ledger and the head of the journal each mint the
//! term they enforce, so a leader that does not know yet that it was replaced changes nothing.

mod housekeeping;
mod settle;
mod snapshots;

use crate::ledger::Ledger;
use crate::metrics::Metrics;
#[cfg(feature = "redis")]
use crate::stopped;
use crate::{Intake, Node, Task};
use firstcome_journal::Journal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

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

/// Who leads, as far as this node knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leads {
    /// The node's id.
    pub node: String,
    /// The number of its term.
    pub term: u64,
}

/// How it is decided who leads.
#[derive(Debug)]
pub enum Election {
    /// This node does: it is the only one there can be.
    Alone,
    /// One of those who stand for it.
    #[cfg(feature = "redis")]
    Among {
        /// What this node stands with; its node id is the node's.
        candidate: firstcome_lock::Election,
        /// Where everybody sees who leads.
        watch: firstcome_lock::Watch,
    },
}

/// This node's part in leading: the leader's tasks while it leads, a place in the line while it does not.
///
/// Dropped without [`Leader::stop`], all of it ends where it stands, at its next await; an elected leader's lock is given
/// back if its store can still be reached, else its lease runs out.
#[derive(Debug)]
pub struct Leader {
    seat: Task<()>,
    stopping: watch::Sender<bool>,
    work: Arc<Work>,
    leads: watch::Receiver<Option<Leads>>,
    election: Arc<Election>,
}

/// What the leader does.
#[derive(Debug)]
struct Work {
    intake: Arc<Intake>,
    journal: Journal,
    ledger: Option<Ledger>,
    pace: Pace,
    metrics: Arc<Metrics>,
    standing: Arc<Mutex<Standing>>,
}

impl Leader {
    /// Leads from now on, or whenever elected.
    pub fn start(
        node: &Node,
        ledger: Option<Ledger>,
        pace: Pace,
        election: Election,
        metrics: &Arc<Metrics>,
    ) -> Self {
        let (stopping, stop) = watch::channel(false);
        let (leading, leads) = watch::channel(None);
        let work = Arc::new(Work {
            intake: Arc::clone(&node.intake),
            journal: node.journal.clone(),
            ledger,
            pace,
            metrics: Arc::clone(metrics),
            standing: Arc::default(),
        });
        let election = Arc::new(election);
        let seat =
            sit(Arc::clone(&election), Arc::clone(&work), leading, stop, node.id.to_string());
        Self { seat: Task::spawn(seat), stopping, work, leads, election }
    }

    /// Gives how settling stands.
    pub fn standing(&self) -> Standing {
        self.work.standing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says whether this node leads, as far as it knows.
    pub fn leads(&self) -> bool {
        self.leads.borrow().is_some()
    }

    /// Gives who leads, where there is an election and somebody won it.
    pub fn who(&self) -> Option<Leads> {
        match &*self.election {
            Election::Alone => None,
            #[cfg(feature = "redis")]
            Election::Among { watch, .. } => {
                let seen = watch.current();
                let seen = seen.map(|leader| Leads { node: leader.node, term: leader.term.get() });
                // Its own election this node knows before it sees it.
                let own = self.leads.borrow().clone();
                seen.into_iter().chain(own).max_by_key(|leads| leads.term)
            }
        }
    }

    /// Settles what is there if it leads, as far as the ledger takes it, hands over, and ends.
    pub async fn stop(self) {
        self.stopping.send_replace(true);
        self.seat.ended().await;
    }
}

/// How long handing over may take.
#[cfg(feature = "redis")]
const HAND_OVER: Duration = Duration::from_secs(1);

/// Leads whenever this node is elected, until it is to stop.
async fn sit(
    election: Arc<Election>,
    work: Arc<Work>,
    leading: watch::Sender<Option<Leads>>,
    stop: watch::Receiver<bool>,
    node: String,
) {
    match &*election {
        Election::Alone => {
            leading.send_replace(Some(Leads { node, term: 0 }));
            work.lead(stop).await;
        }
        #[cfg(feature = "redis")]
        Election::Among { candidate, .. } => {
            let term = |term: firstcome_lock::Term| {
                let (work, stop) = (Arc::clone(&work), stop.clone());
                let leads = Leads { node: node.clone(), term: term.fence().get() };
                let leading = Flag::raise(&leading, leads);
                async move {
                    work.lead(stop).await;
                    drop(leading);
                }
            };
            let mut stop_signal = stop.clone();
            let mut led = leading.subscribe();
            let stopped_in_line = async {
                stopped(&mut stop_signal).await;
                // A leader ends by itself and hands over; one who only waits is dropped.
                if led.borrow().is_some() {
                    drop(led.wait_for(Option::is_none).await);
                    tokio::time::sleep(HAND_OVER).await;
                }
            };
            tokio::select! {
                biased;
                // What cannot pass by itself was found out when the election was made.
                ended = candidate.run(term) => drop(ended),
                () = stopped_in_line => {}
            }
        }
    }
}

impl Work {
    /// Does everything a leader does until told to stop; dropped, it stops where it stands.
    async fn lead(&self, stop: watch::Receiver<bool>) {
        let mut tasks = JoinSet::new();
        if let Some(ledger) = &self.ledger {
            let settle = settle::Settle {
                intake: Arc::clone(&self.intake),
                ledger: ledger.clone(),
                interval: self.pace.settle_interval,
                metrics: Arc::clone(&self.metrics),
                standing: Arc::clone(&self.standing),
            };
            tasks.spawn(settle.run(stop.clone()));
        }
        let snapshots = snapshots::Snapshots {
            replica: Arc::clone(&self.intake.replica),
            journal: self.journal.clone(),
            bytes: self.pace.snapshot_bytes,
            every: self.pace.snapshot_every,
            metrics: Arc::clone(&self.metrics),
        };
        tasks.spawn(snapshots.run(stop.clone()));
        if let Some(keep_for) = self.pace.keep_for {
            let intake = Arc::clone(&self.intake);
            tasks.spawn(housekeeping::run(intake, keep_for, self.ledger.is_none(), stop));
        }
        while tasks.join_next().await.is_some() {}
    }
}

/// Up while it lives.
#[cfg(feature = "redis")]
struct Flag(watch::Sender<Option<Leads>>);

#[cfg(feature = "redis")]
impl Flag {
    fn raise(flag: &watch::Sender<Option<Leads>>, leads: Leads) -> Self {
        flag.send_replace(Some(leads));
        Self(flag.clone())
    }
}

#[cfg(feature = "redis")]
impl Drop for Flag {
    fn drop(&mut self) {
        self.0.send_replace(None);
    }
}
