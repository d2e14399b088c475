//! The nodes of a world: each slot runs one node at a time, which starts, pauses, crashes and is replaced.

use crate::environment::Environment;
use crate::record::Record;
use fastrand::Rng;
use firstcome_core::{SpaceId, State};
use firstcome_inject::Mistake;
use firstcome_journal::postgres::{DatabaseOptions, Durability};
use firstcome_journal::{Journal, JournalError};
use firstcome_lock::Locks;
use firstcome_node::Looking;
use firstcome_node::Metrics;
use firstcome_node::codes::CodeKeys;
use firstcome_node::leader::{Election, LeaderPace, Leadership, SettleDelay};
use firstcome_node::{Given, Intake, Limits, Node, Replica};
use firstcome_virtual::distant;
use firstcome_virtual::gate::Gate;
use firstcome_virtual::network::{Cut, StoreLink};
use firstcome_virtual::store::SPACE;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// The slots of the nodes. Clones are the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    environment: Environment,
    state: Arc<Mutex<NodeTable>>,
}

#[derive(Debug)]
struct NodeTable {
    running: Vec<Option<RunningNode>>,
    /// Whether a node is starting in a slot.
    starting: Vec<bool>,
    random: Rng,
    /// With which error the lock refuses changes, if it does.
    refusal: Option<&'static str>,
    /// The counts of the nodes that ended.
    counted: NodeCounts,
}

/// What nodes counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeCounts {
    pub(crate) forks: u64,
    pub(crate) put_back: u64,
    pub(crate) reseeds: u64,
}

/// A running node; the leader is the first field, so that it is dropped first.
#[derive(Debug)]
struct RunningNode {
    leader: Leadership,
    node: Node,
    handle: NodeHandle,
    link: StoreLink,
    /// Its connection to the lock that says who leads.
    lock: firstcome_lock::MemoryLink,
    metrics: Arc<Metrics>,
}

/// The id of the key with which codes are made.
pub(crate) const CODE_KEY: &str = "k1";

/// A handle by which people ask a node. Clones are the same node.
#[derive(Clone, Debug)]
pub(crate) struct NodeHandle {
    node_run: usize,
    slot: usize,
    intake: Arc<Intake>,
    gate: Gate,
    died: watch::Sender<bool>,
}

impl NodeHandle {
    pub(crate) fn node_run(&self) -> usize {
        self.node_run
    }

    /// Returns the name by which the story speaks of it.
    pub(crate) fn name(&self) -> String {
        format!("node {}.{}", self.slot, self.node_run)
    }

    pub(crate) fn intake(&self) -> &Intake {
        &self.intake
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Waits until the node is dead.
    pub(crate) async fn wait_for_death(&self) {
        drop(self.died.subscribe().wait_for(|died| *died).await);
    }
}

impl Slots {
    pub(crate) fn set_up(environment: Environment) -> Self {
        let plan = &environment.plan;
        let state = NodeTable {
            running: (0..plan.nodes).map(|_| None).collect(),
            starting: vec![false; plan.nodes],
            random: Rng::with_seed(plan.seed ^ 0x5ea7_5ea7),
            refusal: None,
            counted: NodeCounts::default(),
        };
        Self { environment, state: Arc::new(Mutex::new(state)) }
    }

    fn record(&self) -> &Record {
        &self.environment.record
    }

    fn tell(&self, what: std::fmt::Arguments<'_>) {
        self.environment.trace.tell(what);
    }

    /// Returns the node in a slot, if there is one.
    pub(crate) fn handle(&self, slot: usize) -> Option<NodeHandle> {
        self.lock().running[slot].as_ref().map(|running| running.handle.clone())
    }

    /// Starts a node in an empty slot, after a while; tries until it has started.
    pub(crate) fn start(&self, slot: usize, after: Duration) {
        {
            let mut state = self.lock();
            if state.running[slot].is_some() || state.starting[slot] {
                return;
            }
            state.starting[slot] = true;
        }
        let slots = self.clone();
        tokio::spawn(async move {
            sleep(after).await;
            while !slots.try_start(slot).await {
                sleep(Duration::from_millis(500)).await;
            }
            slots.lock().starting[slot] = false;
        });
    }

    async fn try_start(&self, slot: usize) -> bool {
        let Environment { plan, ledger, locks, trace, record, mistake, .. } = &self.environment;
        let (seed, mut random) = {
            let mut state = self.lock();
            (state.random.u64(..), state.random.fork())
        };
        let gate = Gate::open();
        let link = self.environment.link(slot, gate.clone(), seed);
        if let Err(why) = self.enter(&link, random.fork()).await {
            self.tell(format_args!("no node starts in slot {slot}: {why}"));
            return false;
        }
        let metrics = Arc::new(Metrics::default());
        let (says, reports) = (trace.clone(), record.clone());
        let given = Given {
            journal: distant::over(Arc::new(link.clone())),
            clock: None,
            address: format!("slot {slot}").into(),
            random: Box::new(move || random.u64(..)),
            limits: Limits {
                queue: 200,
                queue_bytes: firstcome_node::intake::QUEUE_BYTES,
                wait: Duration::from_secs(5),
                memory: 1 << 30,
                outbox: plan.ledger.then_some(100_000),
            },
            metrics: Arc::clone(&metrics),
            says: Arc::new(move |_, text| {
                says.tell(format_args!("slot {slot} says: {text}"));
                reports.said(text);
            }),
            core: None,
            settings: BTreeMap::new(),
            on_emptied: plan.on_emptied,
            codes: Arc::new(code_keys()),
        };
        let node = match Node::start(given, |_, _| {}).await {
            Ok(node) => node,
            Err(why) => {
                self.tell(format_args!("no node starts in slot {slot}: {why}"));
                return false;
            }
        };
        let lock = firstcome_lock::MemoryLink::new();
        if let Some(error) = self.lock().refusal {
            lock.refuse(error);
        }
        let locks = lock_client(&locks.through(&lock), *mistake);
        let election = match join_election(&node, locks).await {
            Ok(election) => election,
            Err(why) => {
                self.tell(format_args!("slot {slot} cannot stand for election: {why}"));
                return false;
            }
        };
        let pace = LeaderPace {
            settle_interval: Duration::from_millis(100),
            settle_delay: SettleDelay::default(),
            keep_for: plan.keep_for,
            snapshot_bytes: 64 << 20,
            snapshot_every: plan.snapshot_every,
        };
        let ledger = ledger.as_ref().map(|ledger| ledger.reached_by(gate.clone()));
        let leader = Leadership::start(&node, ledger, pace, election, &metrics);
        let (_, there) = self.environment.store.chain();
        let first = Journal::Memory(there).head().await.map_or(0, |head| head.first);
        let node_run = record.born(trace.now(), node.id, first);
        let handle = NodeHandle {
            node_run,
            slot,
            intake: Arc::clone(&node.intake),
            gate,
            died: watch::Sender::new(false),
        };
        self.tell(format_args!("{} starts, as {}", handle.name(), node.id));
        let replica = Arc::clone(&node.replica);
        tokio::spawn(note_applied(handle.clone(), replica, self.environment.clone()));
        self.lock().running[slot] = Some(RunningNode { leader, node, handle, link, lock, metrics });
        true
    }

    /// Enters the space as a server does: it makes one only after a while in which nobody marked the store.
    async fn enter(&self, link: &StoreLink, mut random: Rng) -> Result<(), JournalError> {
        let fresh = SpaceId(random.u128(..).to_le_bytes());
        let wanted = self.environment.plan.remembers.then_some(SPACE);
        let options = DatabaseOptions::new(fresh, Durability::Memory);
        let mut options = DatabaseOptions { wanted, make: false, ..options };
        let looking = Looking::begin();
        loop {
            match distant::enter(Arc::new(link.clone()), options.clone()).await {
                Err(JournalError::NoSpace { .. }) if !options.make => {
                    options.make = looking.may_make().await;
                }
                entered => return entered.map(drop),
            }
        }
    }

    /// Takes the node out of a slot.
    fn remove(&self, slot: usize) -> Option<RunningNode> {
        let running = self.lock().running[slot].take()?;
        let counted = running.counted();
        let total = &mut self.lock().counted;
        total.forks += counted.forks;
        total.put_back += counted.put_back;
        total.reseeds += counted.reseeds;
        Some(running)
    }

    /// Kills a node at once; another one starts in its slot.
    pub(crate) fn crash(&self, slot: usize, down: Duration) {
        if let Some(running) = self.remove(slot) {
            self.tell(format_args!("{} dies", running.handle.name()));
            self.record().died(running.handle.node_run, self.environment.trace.now());
            running.lock.cut();
            running.handle.died.send_replace(true);
            drop(running);
        }
        self.start(slot, down);
    }

    /// Tells a node to stop; another one starts in its slot.
    pub(crate) fn stop(&self, slot: usize, down: Duration) {
        let Some(running) = self.remove(slot) else { return };
        let slots = self.clone();
        tokio::spawn(async move {
            let RunningNode { leader, node, handle, .. } = running;
            slots.tell(format_args!("{} is told to stop", handle.name()));
            slots.record().stop_requested(handle.node_run, slots.environment.trace.now());
            leader.stop().await;
            let stopped = node.stop().await;
            slots.tell(format_args!("{} stopped: {stopped:?}", handle.name()));
            slots.record().died(handle.node_run, slots.environment.trace.now());
            // What was accepted is answered before.
            sleep(Duration::from_millis(10)).await;
            handle.died.send_replace(true);
        });
        self.start(slot, down);
    }

    /// Pauses a node for a while.
    pub(crate) fn pause(&self, slot: usize, time: Duration) {
        let Some((handle, lock)) =
            self.with(slot, |running| (running.handle.clone(), running.lock.clone()))
        else {
            return;
        };
        handle.gate.set(false);
        lock.stall();
        tokio::spawn(async move {
            sleep(time).await;
            handle.gate.set(true);
            lock.open();
        });
    }

    /// Has the lock that says who leads not answer a node for a while.
    pub(crate) fn lock_away(&self, slot: usize, time: Duration) {
        if let Some(lock) = self.with(slot, |running| running.lock.clone()) {
            lock.stall();
            tokio::spawn(async move {
                sleep(time).await;
                lock.open();
            });
        }
    }

    /// Has the lock that says who leads refuse every change of it for a while.
    pub(crate) fn lock_refuses(&self, error: &'static str, time: Duration) {
        self.set_refusal(Some(error));
        let slots = self.clone();
        tokio::spawn(async move {
            sleep(time).await;
            slots.set_refusal(None);
        });
    }

    fn set_refusal(&self, refusal: Option<&'static str>) {
        let mut state = self.lock();
        state.refusal = refusal;
        for running in state.running.iter().flatten() {
            match refusal {
                Some(error) => running.lock.refuse(error),
                None => running.lock.accept(),
            }
        }
    }

    fn with<T>(&self, slot: usize, look: impl FnOnce(&RunningNode) -> T) -> Option<T> {
        self.lock().running[slot].as_ref().map(look)
    }

    pub(crate) fn cut(&self, slot: usize, direction: Cut, time: Duration) {
        if let Some(running) = &self.lock().running[slot] {
            running.link.cut(direction, time);
        }
    }

    pub(crate) fn slow(&self, slot: usize, time: Duration, by: Duration) {
        if let Some(running) = &self.lock().running[slot] {
            running.link.slow(time, by);
        }
    }

    /// Ends everything that keeps a node from working, and starts those that are not there.
    pub(crate) fn stop_faults(&self) {
        self.set_refusal(None);
        for slot in 0..self.environment.plan.nodes {
            if let Some(running) = &self.lock().running[slot] {
                running.handle.gate.set(true);
                running.lock.open();
                running.link.stop_faults();
            }
            self.start(slot, Duration::ZERO);
        }
    }

    /// Looks at each node that is there.
    pub(crate) fn each<T>(
        &self,
        mut look: impl FnMut(&NodeHandle, &Node, &Leadership) -> T,
    ) -> Vec<T> {
        let state = self.lock();
        let running = state.running.iter().flatten();
        running.map(|running| look(&running.handle, &running.node, &running.leader)).collect()
    }

    /// Returns what all nodes counted so far.
    pub(crate) fn counted(&self) -> NodeCounts {
        let state = self.lock();
        let mut all = state.counted;
        for running in state.running.iter().flatten() {
            let counted = running.counted();
            all.forks += counted.forks;
            all.put_back += counted.put_back;
            all.reseeds += counted.reseeds;
        }
        all
    }

    fn lock(&self) -> MutexGuard<'_, NodeTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a node's client of the lock.
fn lock_client(locks: &firstcome_lock::Memory, mistake: Option<Mistake>) -> Locks {
    if mistake != Some(Mistake::LeaderEndsOnRefusal) {
        return Locks::with_memory(locks);
    }
    let ends = firstcome_lock::Mistake::EndElectionOnError;
    let client = Locks::builder().inject(ends).memory(locks);
    client.expect("the default lease of a watchdog is possible")
}

/// Has a node stand for election as its server does.
async fn join_election(node: &Node, locks: Locks) -> Result<Election, firstcome_lock::Error> {
    let candidate = firstcome_lock::Election::new(&locks, "leader")?.node(node.id.to_string());
    let candidate = candidate.lease(Duration::from_secs(3));
    let watch = candidate.watch().await?;
    Ok(Election::Among { candidate, watch })
}

/// Records what a node applies, until it ends.
async fn note_applied(handle: NodeHandle, replica: Arc<Replica>, environment: Environment) {
    let Environment { store, record, trace, .. } = environment;
    let mut applied = replica.watch();
    loop {
        let stamp = replica.look(State::stamp);
        if let Some(entry) = store.number_of(stamp) {
            record.applied(handle.node_run, trace.now(), entry);
        }
        tokio::select! {
            changed = applied.changed() => if changed.is_err() { return },
            () = handle.wait_for_death() => return,
        }
    }
}

impl RunningNode {
    fn counted(&self) -> NodeCounts {
        NodeCounts {
            forks: self.metrics.forks.get(),
            put_back: self.metrics.put_back.get(),
            reseeds: self.metrics.reseeds.get(),
        }
    }
}

/// Returns the key with which codes are made, the same on every node.
fn code_keys() -> CodeKeys {
    CodeKeys::new(&[(CODE_KEY, [7; 32])]).expect("it has an id, and is the only one")
}
