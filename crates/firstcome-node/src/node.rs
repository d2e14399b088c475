//! A node: its tasks, from the first look at the journal to a clean end.

use crate::agreement::Agreement;
use crate::appender::applier::Applier;
use crate::appender::batch::Gathering;
use crate::appender::batch::reject_all;
use crate::appender::pace::Pace;
use crate::appender::queue::Queue;
use crate::appender::signals::Signals;
use crate::appender::slow::SlowBatches;
use crate::appender::{Appender, Several};
use crate::clock::StoreClock;
use crate::codes::CodeKeys;
use crate::error::CommandError;
use crate::follow::Follower;
use crate::heal::Healer;
use crate::heal::emptied::{EmptiedStore, OnEmptied};
use crate::heal::fork::Fork;
use crate::heal::retransmit::RetransmitBuffer;
use crate::heal::suspensions::Suspensions;
use crate::health::Health;
use crate::heartbeat::Heartbeat;
use crate::intake::{Intake, Limits};
use crate::metrics::Metrics;
use crate::replica::divergence::DivergenceCheck;
use crate::replica::load::{self, Branch, CannotStart};
use crate::replica::{Replica, Stop, Stuck};
use crate::says::{Says, Speaker};
use crate::task::{Panics, Task};
use crate::ticker;
use firstcome_core::{NodeId, Timestamp};
use firstcome_journal::{Clock, Journal};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The name of the task that appends, follows and applies. Without it a node decides nothing.
pub const APPENDER: &str = "appender";

/// What a node is given: it takes time, randomness and the store from here, never from the air.
pub struct Given {
    pub journal: Journal,
    /// The store's clock, where this process reads it itself; else it goes by what the store says.
    pub clock: Option<Clock>,
    /// Where this node can be reached, for the others.
    pub address: Box<str>,
    /// Random bits.
    pub random: Box<dyn FnMut() -> u64 + Send>,
    /// How much it takes on.
    pub limits: Limits,
    /// Where it counts.
    pub metrics: Arc<Metrics>,
    /// Where it says what it found out.
    pub says: Says,
    /// The thread that appends and applies. Without one it is the runtime that starts the node.
    pub core: Option<Core>,
    /// The settings that every server of the space should have alike: announced from the first heartbeat on.
    pub settings: BTreeMap<String, String>,
    /// Whether it may put the space back into an emptied store by itself.
    pub on_emptied: OnEmptied,
    /// The keys that codes are made and kept with; none where there are no coded pools.
    pub codes: Arc<CodeKeys>,
}

/// The thread on which a node appends and applies.
#[derive(Clone, Debug)]
pub struct Core {
    /// Its runtime.
    pub runtime: Handle,
    /// Whether it serves connections, too.
    pub serves: bool,
}

/// A running node.
///
/// Its tasks end with [`Node::stop`]. Dropped without it they end where they stand, at their next await, as those of
/// a process do that dies: what was sent may still happen, whoever waits for an answer hears that it is unknown or
/// that nothing was sent, and the other nodes find out by themselves.
#[derive(Debug)]
pub struct Node {
    /// Its identity, drawn anew at every start.
    pub id: NodeId,
    /// When it started.
    pub since: Timestamp,
    /// Where it can be reached.
    pub address: Box<str>,
    /// Where commands enter.
    pub intake: Arc<Intake>,
    /// Its state.
    pub replica: Arc<Replica>,
    /// The journal it follows.
    pub journal: Journal,
    /// The tasks of this server that panicked: those of the node, of its leader, and of who serves it.
    pub panics: Panics,
    pub(crate) speaker: Speaker,
    appender: Task<Result<(), Stop>>,
    heartbeat: Option<Task<()>>,
    ticker: Task<()>,
    stopping: watch::Sender<bool>,
}

impl Node {
    /// Puts the state together and begins to take commands.
    ///
    /// Before an entry that breaks a rule it stops: it can be read, and refuses commands with the sentence.
    ///
    /// `progress` hears the position applied and the position to reach.
    ///
    /// # Errors
    ///
    /// The journal cannot be read, is of a newer level, or holds what cannot be applied.
    pub async fn start(
        mut given: Given,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Self, CannotStart> {
        let mut id = NodeId::default();
        for part in id.0.chunks_exact_mut(8) {
            part.copy_from_slice(&(given.random)().to_le_bytes());
        }
        let several = given.journal.is_shared();
        // Before anything is read: what is lost from here on is noticed.
        let incarnations = several.then(|| given.journal.incarnations());
        let asked = Instant::now();
        let said = given.journal.head().await?.now;
        let clock = Arc::new(match given.clock {
            Some(clock) => StoreClock::Own(clock),
            None => StoreClock::learned(said, asked),
        });
        let whole = begin(&given.journal, several, &mut progress, u64::MAX).await;
        let (Branch { state, asked, kept, .. }, stuck) = match whole {
            Err(CannotStart::Entry(Stop::Stuck(Stuck { broke, .. }))) => {
                let through = broke.position - 1;
                let before = begin(&given.journal, several, &mut progress, through).await?;
                (before, Some(Stuck { broke, is_whole: true }))
            }
            whole => (whole?, None),
        };
        let at_once = !several || given.journal.confirms_at_once();
        let replica = Arc::new(Replica::new(state, at_once));
        if let Some(stuck) = stuck {
            replica.stop_before(stuck);
        }
        let queue = Arc::new(Queue::new(given.limits.queue, given.limits.queue_bytes));
        let health = Arc::new(Health::new(several, asked));
        let signals = Arc::new(Signals::default());
        let (seen, membership) = watch::channel(None);
        let since = clock.now();
        let agreement = Agreement::new((id, since), Arc::clone(&signals), membership.clone());
        agreement.announce(given.settings);
        let agreement = Arc::new(agreement);
        let suspensions = Arc::new(Suspensions::default());
        let intake = Arc::new(Intake {
            replica: Arc::clone(&replica),
            queue: Arc::clone(&queue),
            health: Arc::clone(&health),
            metrics: Arc::clone(&given.metrics),
            clock: Arc::clone(&clock),
            signals: Arc::clone(&signals),
            limits: given.limits,
            agreement: Arc::clone(&agreement),
            membership: membership.clone(),
            codes: given.codes,
            suspensions: Arc::clone(&suspensions),
        });
        let panics = Panics::new(Arc::clone(&given.says));
        let (stopping, stop) = watch::channel(false);
        let heartbeat = several.then(|| {
            let heartbeat = Heartbeat {
                node: id,
                since,
                memory: given.limits.memory,
                address: given.address.clone(),
                journal: given.journal.clone(),
                replica: Arc::clone(&replica),
                signals: Arc::clone(&signals),
                clock: Arc::clone(&clock),
                agreement,
                seen,
                emptied: EmptiedStore::new(given.on_emptied),
                metrics: Arc::clone(&given.metrics),
            };
            let (journal, replica) = (given.journal.clone(), Arc::clone(&replica));
            let says = Arc::clone(&given.says);
            let check = DivergenceCheck { journal, replica, says, last: None };
            panics.spawn("heartbeat", heartbeat.run(check, stop.clone()))
        });
        let core = given.core.as_ref().map(|core| core.runtime.clone());
        let several = incarnations.map(|incarnations| Several {
            follower: Follower::new(given.journal.clone(), asked, core.as_ref()),
            healer: Healer::new(
                incarnations,
                membership,
                Fork::new(Arc::clone(&given.says), suspensions),
            ),
        });
        let applier = Applier {
            writer: id,
            number: 0,
            journal: given.journal.clone(),
            queue,
            replica: Arc::clone(&replica),
            health,
            signals,
            metrics: given.metrics,
            several: several.is_some(),
            retransmit: kept,
            pace: Pace::default(),
            awaiting_durability: JoinSet::new(),
        };
        let says = Arc::clone(&given.says);
        let slow = SlowBatches::default();
        let next_append_at = asked;
        // Nothing else runs on the core thread of a journal that this process alone writes.
        let alone = given.core.as_ref().is_some_and(|core| !core.serves) && several.is_none();
        let gathering = alone.then(Gathering::default);
        let appender = Appender { applier, clock, several, next_append_at, gathering, slow, says };
        let abandoned = Arc::clone(&intake);
        let abandon = move || abandon(&abandoned);
        let appender = panics.spawn_on(core.as_ref(), APPENDER, appender.run(), abandon);
        let ticker = ticker::run(Arc::clone(&intake), given.random, stop);
        Ok(Self {
            id,
            since,
            address: given.address,
            intake,
            replica,
            journal: given.journal,
            speaker: Speaker(given.says),
            appender,
            heartbeat,
            ticker: panics.spawn("ticker", ticker),
            panics,
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
        self.ticker.ended().await;
        let stopped = self.appender.ended().await.unwrap_or(Ok(()));
        if let Some(heartbeat) = self.heartbeat {
            heartbeat.ended().await;
        }
        stopped
    }

    /// Says whether this node applies nothing any more, or was told to stop.
    pub fn has_stopped(&self) -> bool {
        self.appender.has_ended()
    }

    /// Says whether the store was found to have nothing of the space any more.
    pub fn is_without_store(&self) -> bool {
        self.intake.signals.is_without_store()
    }

    /// Says whether the store was found to lack the space, empty or with another one, and has not agreed with this node since.
    pub fn lacks_store(&self) -> bool {
        self.intake.signals.lacks_space()
    }

    /// Allows this node to write its state into a store that has nothing of the space any more.
    ///
    /// It is for the operator to say that what the store had is lost: a node with more, if there is
    /// one, must be asked instead.
    pub fn reseed(&self) {
        self.intake.signals.reseed();
    }

    /// Returns how many commands wait for the journal.
    pub fn waiting(&self) -> usize {
        self.intake.queue.len()
    }
}

/// Puts the state together, and with several nodes what others may need of the journal.
async fn begin(
    journal: &Journal,
    several: bool,
    progress: impl FnMut(u64, u64),
    through: u64,
) -> Result<Branch, CannotStart> {
    let kept = RetransmitBuffer::default();
    if several {
        return load::branch(journal, progress, through, &kept).await;
    }
    let (state, asked) = load::state(journal, progress, |_, _| {}, through).await?;
    Ok(Branch { state, asked, kept, fork: None })
}

/// Has commands refused at once where the appender panicked: nobody would answer them.
///
/// Those in the batch it had taken get `unknown`, since that may have been sent.
fn abandon(intake: &Intake) {
    let why = "the task that appends panicked, which is a bug: restart this server";
    let failure = CommandError::Unavailable(why.to_owned());
    intake.health.stopped(failure.clone(), why.to_owned());
    intake.queue.close();
    reject_all(&intake.queue, &failure);
}
