//! One server process: it appends the commands it received, follows the journal, and answers.
//!
//! The path of a claim, top to bottom: [`crate::http`]`/claims` → [`intake`] → `appender` →
//! [`replica`] → [`firstcome_core::campaign`].

mod appender;
pub mod ask;
pub mod health;
pub mod intake;
mod queue;
pub mod replica;
mod start;
mod ticker;

pub use ask::{Answer, Ask, Decided, Ordered};
pub use health::Condition;
pub use intake::{Intake, Limits};
pub use replica::{Replica, Stop};
pub use start::CannotStart;

use crate::metrics::Metrics;
use appender::Appender;
use firstcome_core::{NodeId, Timestamp};
use firstcome_journal::{Clock, Journal};
use health::Health;
use queue::Queue;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// What a node is given: it takes time, randomness and the store from here, never from the air.
pub struct Given {
    /// The journal.
    pub journal: Journal,
    /// The store's clock.
    pub clock: Clock,
    /// Random bits.
    pub random: Box<dyn FnMut() -> u64 + Send>,
    /// How much it takes on.
    pub limits: Limits,
    /// Where it counts.
    pub metrics: Arc<Metrics>,
}

/// A running node.
///
/// Its tasks end with [`Node::stop`]; dropped without it they end with the runtime.
#[derive(Debug)]
pub struct Node {
    /// Its identity, drawn anew at every start.
    pub id: NodeId,
    /// When it started.
    pub since: Timestamp,
    /// Where commands enter.
    pub intake: Arc<Intake>,
    /// Its state.
    pub replica: Arc<Replica>,
    /// The journal it follows.
    pub journal: Journal,
    appender: JoinHandle<Result<(), Stop>>,
    ticker: JoinHandle<()>,
    stopping: watch::Sender<bool>,
}

impl Node {
    /// Puts the state together and begins to take commands.
    ///
    /// `progress` hears the position applied and the position to reach.
    ///
    /// # Errors
    ///
    /// The journal cannot be read, is of a newer level, or holds what cannot be applied.
    pub async fn start(
        mut given: Given,
        progress: impl FnMut(u64, u64),
    ) -> Result<Self, CannotStart> {
        let mut id = NodeId::default();
        for part in id.0.chunks_exact_mut(8) {
            part.copy_from_slice(&(given.random)().to_le_bytes());
        }
        let replica = Arc::new(start::replica(&given.journal, progress).await?);
        let queue = Arc::new(Queue::new(given.limits.queue));
        let health = Arc::new(Health::default());
        let intake = Arc::new(Intake {
            replica: Arc::clone(&replica),
            queue: Arc::clone(&queue),
            health: Arc::clone(&health),
            metrics: Arc::clone(&given.metrics),
            clock: given.clock.clone(),
            limits: given.limits,
        });
        let appender = Appender {
            node: id,
            journal: given.journal.clone(),
            queue,
            replica: Arc::clone(&replica),
            health,
            metrics: given.metrics,
            number: 0,
        };
        let (stopping, stop) = watch::channel(false);
        let ticker = ticker::run(Arc::clone(&intake), given.clock.clone(), given.random, stop);
        Ok(Self {
            id,
            since: given.clock.now(),
            intake,
            replica,
            journal: given.journal,
            appender: tokio::spawn(appender.run()),
            ticker: tokio::spawn(ticker),
            stopping,
        })
    }

    /// Takes no more commands, finishes those it took, and ends.
    ///
    /// # Errors
    ///
    /// Why this node had stopped applying before, if it had.
    pub async fn stop(self) -> Result<(), Stop> {
        self.stopping.send_replace(true);
        self.intake.queue.close();
        drop(self.ticker.await);
        self.appender.await.unwrap_or(Ok(()))
    }

    /// Gives how many commands wait for the journal.
    pub fn waiting(&self) -> usize {
        self.intake.queue.len()
    }
}

/// Sleeps, or gives `true` as soon as the task is to stop.
///
/// # Cancel safety
///
/// Cancel safe.
pub(crate) async fn stopped_within(stop: &mut watch::Receiver<bool>, pause: Duration) -> bool {
    tokio::select! {
        () = sleep(pause) => false,
        () = told(stop) => true,
    }
}

/// Waits until the task is to stop.
///
/// # Cancel safety
///
/// Cancel safe.
pub(crate) async fn told(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone stops its tasks as well.
    drop(stop.wait_for(|stop| *stop).await);
}
