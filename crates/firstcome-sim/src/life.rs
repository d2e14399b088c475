//! The nodes: each seat has one at a time, which starts, works, stands still, dies, and is followed by
//! another one.

use crate::around::Around;
use crate::plan::Cut;
use crate::record::Record;
use crate::road::{Gate, Road};
use crate::store::Store;
use fastrand::Rng;
use firstcome_core::State;
use firstcome_journal::Journal;
use firstcome_journal::distant::Distant;
use firstcome_lock::Locks;
use firstcome_node::Metrics;
use firstcome_node::leader::{Election, Leader, Pace};
use firstcome_node::{Given, Intake, Limits, Node, Replica};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// The seats. Clones are the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Seats {
    around: Around,
    inside: Arc<Mutex<Inside>>,
}

#[derive(Debug)]
struct Inside {
    lives: Vec<Option<Living>>,
    /// Whether a node is starting in a seat.
    starting: Vec<bool>,
    random: Rng,
    /// What those who died had counted.
    counted: Counted,
}

/// What nodes counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) forks: u64,
    pub(crate) put_back: u64,
    pub(crate) reseeds: u64,
}

/// A node, its leader's part first: what ends first when it is dropped.
#[derive(Debug)]
struct Living {
    leader: Leader,
    node: Node,
    front: Front,
    road: Road,
    /// Its way to the lock that says who leads.
    lock: firstcome_lock::Way,
    metrics: Arc<Metrics>,
}

/// What people see of a node. Clones are the same node.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    life: usize,
    seat: usize,
    intake: Arc<Intake>,
    gate: Gate,
    died: watch::Sender<bool>,
}

impl Front {
    pub(crate) fn life(&self) -> usize {
        self.life
    }

    /// Gives the name by which the story speaks of it.
    pub(crate) fn name(&self) -> String {
        format!("node {}.{}", self.seat, self.life)
    }

    pub(crate) fn intake(&self) -> &Intake {
        &self.intake
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Waits until it is dead.
    pub(crate) async fn dies(&self) {
        drop(self.died.subscribe().wait_for(|died| *died).await);
    }
}

impl Seats {
    pub(crate) fn set_up(around: Around) -> Self {
        let plan = &around.plan;
        let inside = Inside {
            lives: (0..plan.nodes).map(|_| None).collect(),
            starting: vec![false; plan.nodes],
            random: Rng::with_seed(plan.seed ^ 0x5ea7_5ea7),
            counted: Counted::default(),
        };
        Self { around, inside: Arc::new(Mutex::new(inside)) }
    }

    fn record(&self) -> &Record {
        &self.around.store.record
    }

    fn tell(&self, what: std::fmt::Arguments<'_>) {
        self.around.trace.tell(what);
    }

    /// Gives the node in a seat, if there is one.
    pub(crate) fn front(&self, seat: usize) -> Option<Front> {
        self.lock().lives[seat].as_ref().map(|living| living.front.clone())
    }

    /// Starts a node in an empty seat, after a while; tries until it has started.
    pub(crate) fn start(&self, seat: usize, after: Duration) {
        {
            let mut inside = self.lock();
            if inside.lives[seat].is_some() || inside.starting[seat] {
                return;
            }
            inside.starting[seat] = true;
        }
        let seats = self.clone();
        tokio::spawn(async move {
            sleep(after).await;
            while !seats.starts(seat).await {
                sleep(Duration::from_millis(500)).await;
            }
            seats.lock().starting[seat] = false;
        });
    }

    async fn starts(&self, seat: usize) -> bool {
        let Around { plan, store, books, locks, trace, .. } = &self.around;
        let (dice, mut random) = {
            let mut inside = self.lock();
            (inside.random.u64(..), inside.random.fork())
        };
        let gate = Gate::open();
        let road = Road::build(&self.around, seat, gate.clone(), dice);
        let metrics = Arc::new(Metrics::default());
        let (says, record) = (trace.clone(), self.record().clone());
        let given = Given {
            journal: Journal::Distant(Distant::over(Arc::new(road.clone()))),
            clock: None,
            address: format!("seat {seat}").into(),
            random: Box::new(move || random.u64(..)),
            limits: Limits {
                queue: 200,
                queue_bytes: firstcome_node::intake::QUEUE_BYTES,
                wait: Duration::from_secs(5),
                memory: 1 << 30,
                outbox: plan.ledger.then_some(100_000),
            },
            metrics: Arc::clone(&metrics),
            says: Arc::new(move |text| {
                says.tell(format_args!("seat {seat} says: {text}"));
                record.said(text);
            }),
        };
        let node = match Node::start(given, |_, _| {}).await {
            Ok(node) => node,
            Err(why) => {
                self.tell(format_args!("no node starts in seat {seat}: {why}"));
                return false;
            }
        };
        let lock = firstcome_lock::Way::new();
        let election = match stands(&node, Locks::with_memory(&locks.through(&lock))).await {
            Ok(election) => election,
            Err(why) => {
                self.tell(format_args!("seat {seat} cannot stand for election: {why}"));
                return false;
            }
        };
        let pace = Pace {
            settle_interval: Duration::from_millis(100),
            keep_for: plan.keep_for,
            snapshot_bytes: 64 << 20,
            snapshot_every: plan.snapshot_every,
        };
        let ledger = books.as_ref().map(|books| books.reached_by(gate.clone()));
        let leader = Leader::start(&node, ledger, pace, election, &metrics);
        let life = self.record().born(trace.now(), node.id);
        let front = Front {
            life,
            seat,
            intake: Arc::clone(&node.intake),
            gate,
            died: watch::Sender::new(false),
        };
        self.tell(format_args!("{} starts, as {}", front.name(), node.id));
        tokio::spawn(note_applied(front.clone(), Arc::clone(&node.replica), store.clone()));
        self.lock().lives[seat] = Some(Living { leader, node, front, road, lock, metrics });
        true
    }

    /// Takes the node out of a seat.
    fn leaves(&self, seat: usize) -> Option<Living> {
        let living = self.lock().lives[seat].take()?;
        let counted = living.counted();
        let total = &mut self.lock().counted;
        total.forks += counted.forks;
        total.put_back += counted.put_back;
        total.reseeds += counted.reseeds;
        Some(living)
    }

    /// Kills a node where it stands; another one starts in its place.
    pub(crate) fn crash(&self, seat: usize, down: Duration) {
        if let Some(living) = self.leaves(seat) {
            self.tell(format_args!("{} dies", living.front.name()));
            self.record().died(living.front.life, self.around.trace.now());
            living.lock.cut();
            living.front.died.send_replace(true);
            drop(living);
        }
        self.start(seat, down);
    }

    /// Tells a node to stop; another one starts in its place.
    pub(crate) fn stop(&self, seat: usize, down: Duration) {
        let Some(living) = self.leaves(seat) else { return };
        let seats = self.clone();
        tokio::spawn(async move {
            let Living { leader, node, front, .. } = living;
            seats.tell(format_args!("{} is told to stop", front.name()));
            seats.record().told_to_stop(front.life, seats.around.trace.now());
            leader.stop().await;
            let stopped = node.stop().await;
            seats.tell(format_args!("{} stopped: {stopped:?}", front.name()));
            seats.record().died(front.life, seats.around.trace.now());
            // What was accepted is answered before.
            sleep(Duration::from_millis(10)).await;
            front.died.send_replace(true);
        });
        self.start(seat, down);
    }

    /// Has a node stand still for a while.
    pub(crate) fn pause(&self, seat: usize, time: Duration) {
        let Some((front, lock)) =
            self.with(seat, |living| (living.front.clone(), living.lock.clone()))
        else {
            return;
        };
        front.gate.set(false);
        lock.stall();
        tokio::spawn(async move {
            sleep(time).await;
            front.gate.set(true);
            lock.open();
        });
    }

    /// Has the lock that says who leads not answer a node for a while.
    pub(crate) fn lock_away(&self, seat: usize, time: Duration) {
        if let Some(lock) = self.with(seat, |living| living.lock.clone()) {
            lock.stall();
            tokio::spawn(async move {
                sleep(time).await;
                lock.open();
            });
        }
    }

    fn with<T>(&self, seat: usize, look: impl FnOnce(&Living) -> T) -> Option<T> {
        self.lock().lives[seat].as_ref().map(look)
    }

    pub(crate) fn cut(&self, seat: usize, way: Cut, time: Duration) {
        if let Some(living) = &self.lock().lives[seat] {
            living.road.cut(way, time);
        }
    }

    pub(crate) fn slow(&self, seat: usize, time: Duration, by: Duration) {
        if let Some(living) = &self.lock().lives[seat] {
            living.road.slow(time, by);
        }
    }

    /// Ends everything that keeps a node from working, and starts those that are not there.
    pub(crate) fn mend(&self) {
        for seat in 0..self.around.plan.nodes {
            if let Some(living) = &self.lock().lives[seat] {
                living.front.gate.set(true);
                living.lock.open();
                living.road.mend();
            }
            self.start(seat, Duration::ZERO);
        }
    }

    /// Looks at each node that is there.
    pub(crate) fn each<T>(&self, mut look: impl FnMut(&Front, &Node, &Leader) -> T) -> Vec<T> {
        let inside = self.lock();
        let living = inside.lives.iter().flatten();
        living.map(|living| look(&living.front, &living.node, &living.leader)).collect()
    }

    /// Gives what all nodes counted so far.
    pub(crate) fn counted(&self) -> Counted {
        let inside = self.lock();
        let mut all = inside.counted;
        for living in inside.lives.iter().flatten() {
            let counted = living.counted();
            all.forks += counted.forks;
            all.put_back += counted.put_back;
            all.reseeds += counted.reseeds;
        }
        all
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has a node stand for election as its server does.
async fn stands(node: &Node, locks: Locks) -> Result<Election, firstcome_lock::Failure> {
    let candidate = firstcome_lock::Election::new(&locks, "leader")?.node(node.id.to_string());
    let candidate = candidate.lease(Duration::from_secs(3));
    let watch = candidate.watch().await?;
    Ok(Election::Among { candidate, watch })
}

/// Writes down what a node applies, for as long as it lives.
async fn note_applied(front: Front, replica: Arc<Replica>, store: Store) {
    let mut applied = replica.watch();
    loop {
        let stamp = replica.look(State::stamp);
        if let Some(entry) = store.record.place(stamp) {
            store.record.applied(front.life, store.trace.now(), entry);
        }
        tokio::select! {
            changed = applied.changed() => if changed.is_err() { return },
            () = front.dies() => return,
        }
    }
}

impl Living {
    fn counted(&self) -> Counted {
        Counted {
            forks: self.metrics.forks.get(),
            put_back: self.metrics.put_back.get(),
            reseeds: self.metrics.reseeds.get(),
        }
    }
}
