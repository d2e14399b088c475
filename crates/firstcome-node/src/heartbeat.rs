//! Heartbeats: tells the other nodes of this one once a second, and learns which there are.

use crate::agreement::Agreement;
use crate::appender::deliveries::Deliveries;
use crate::appender::signals::Signals;
use crate::clock::StoreClock;
use crate::heal::emptied::EmptiedStore;
use crate::metrics::Metrics;
use crate::replica::divergence::DivergenceCheck;
use crate::replica::{Difference, Replica};
use crate::task::stopped;
use firstcome_core::{NodeId, Timestamp, newest_level};
use firstcome_journal::cluster::{Membership, NodeStatus};
use firstcome_journal::{Journal, JournalError};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

/// How often a node announces itself.
const EVERY: Duration = Duration::from_secs(1);
/// The pause before what it newly knows to be durable is announced on its own, if no entry does.
const SOON: Duration = Duration::from_millis(20);

/// How long another node must have said something else before one of the two is taken to be wrong.
///
/// Longer than a heartbeat stays in the membership: that of a node that stands still, or died, in a branch that is
/// over are no sign of anything.
const DIFFERS_FOR: Duration = Duration::from_secs(12);

/// A node whose state was another one than this node's, the last time it was compared.
#[derive(Clone, Copy)]
struct Differs {
    node: NodeId,
    since: Instant,
}

/// What a node says of itself that does not change.
pub(crate) struct Heartbeat {
    pub(crate) node: NodeId,
    pub(crate) since: Timestamp,
    pub(crate) memory: u64,
    pub(crate) address: Box<str>,
    pub(crate) journal: Journal,
    pub(crate) replica: Arc<Replica>,
    pub(crate) signals: Arc<Signals>,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) agreement: Arc<Agreement>,
    pub(crate) seen: watch::Sender<Option<Membership>>,
    pub(crate) emptied: EmptiedStore,
    pub(crate) metrics: Arc<Metrics>,
}

impl Heartbeat {
    /// Sends heartbeats until told to stop, then leaves the membership.
    pub(crate) async fn run(mut self, mut check: DivergenceCheck, mut stop: watch::Receiver<bool>) {
        let mut durable = self.replica.watch_durable();
        let mut differs = None;
        let mut deliveries = Deliveries::default();
        loop {
            let before = Instant::now();
            self.announce(&mut differs).await;
            let ended = deliveries.look(&self.journal.ended_deliveries());
            self.metrics.deliveries_ended.inc_by(ended);
            // What is durable from here on nobody has heard of yet.
            durable.borrow_and_update();
            let soon = async {
                tokio::select! {
                    () = self.signals.endurance() => {}
                    // It lives as long as the replica.
                    _ = durable.changed(), if !self.replica.endures_at_once() => {}
                }
                sleep(SOON).await;
            };
            let mut soon = pin!(soon);
            loop {
                tokio::select! {
                    () = sleep_until(before + EVERY) => break,
                    () = &mut soon => break,
                    // Nobody hears of this node meanwhile, which is right.
                    difference = self.signals.diverged() => {
                        if check.resolve(difference).await {
                            self.signals.switch_branch();
                        }
                    }
                    () = stopped(&mut stop) => return self.leave().await,
                }
            }
        }
    }

    async fn leave(&self) {
        // If it fails, the membership forgets this node after a while.
        drop(self.journal.leave(self.node).await);
    }

    async fn announce(&mut self, differs: &mut Option<Differs>) {
        let (applied, name) = self.replica.applied();
        let durable = self.replica.durable();
        let (epoch, digest, level) = self
            .replica
            .look(|state| (state.token().epoch, state.digest_at(applied), state.level()));
        let me = NodeStatus {
            node: self.node,
            position: applied,
            durable: durable.position.min(applied),
            epoch,
            digest: digest.unwrap_or_default(),
            level: newest_level(),
            memory: self.memory,
            since: self.since,
            address: self.address.clone(),
            words: self.agreement.words(),
        };
        let asked = Instant::now();
        match self.journal.announce(me.clone(), level).await {
            Ok(membership) => {
                self.clock.heard(membership.head.now, asked);
                let head = &membership.head;
                if head.position < applied || head.position == applied && head.name != name {
                    self.signals.suspect();
                }
                let others = membership.nodes.iter().map(|(node, _)| node);
                let differing = others.filter_map(|node| self.compare(node, durable.branch, epoch));
                *differs = self.weigh(differing.collect(), *differs);
                self.seen.send_replace(Some(membership));
                self.emptied.is_over();
            }
            Err(JournalError::Gone(space)) => {
                self.signals.suspect();
                // A node that stopped applying has not what was there.
                let may = self.signals.is_without_store();
                if may && self.emptied.mark(&self.journal, space, &me).await {
                    self.signals.reseed();
                }
            }
            // What this node has is of another branch.
            Err(JournalError::OtherSpace { .. }) => self.signals.suspect(),
            // The appender finds out for itself.
            Err(_) => {}
        }
    }

    /// Learns from what a node says of its state, where this one was at the same position.
    fn compare(&self, node: &NodeStatus, branch: u64, epoch: u32) -> Option<Difference> {
        let ours = self.replica.look(|state| state.digest_at(node.position));
        let ours = ours.filter(|_| node.epoch == epoch && node.node != self.node)?;
        if ours == node.digest {
            // It is the same branch: what it knows to be durable is durable here.
            self.replica.confirm(branch, node.durable);
            return None;
        }
        let (position, theirs) = (node.position, node.digest);
        Some(Difference { node: node.node, position, theirs, ours })
    }

    /// Finds out what differing words are a sign of; gives whose are to be looked at again.
    fn weigh(&self, all: Vec<Difference>, known: Option<Differs>) -> Option<Differs> {
        let still = known.and_then(|known| {
            let difference = all.iter().find(|difference| difference.node == known.node)?;
            Some((known, *difference))
        });
        if let Some((known, difference)) = still {
            if known.since.elapsed() >= DIFFERS_FOR {
                self.signals.divergence(difference);
            }
            return Some(known);
        }
        let first = all.first()?;
        // One of the two may follow a branch that is over: this node looks whether it is the one.
        self.signals.suspect();
        Some(Differs { node: first.node, since: Instant::now() })
    }
}
