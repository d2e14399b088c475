//! The nodes: each seat has one at a time, which starts, works, stands still, dies, and is followed by
//! another one.

use crate::plan::{Cut, Plan};
use crate::record::Record;
use crate::road::{Gate, Road};
use crate::store::Store;
use crate::trace::Trace;
use fastrand::Rng;
use firstcome::metrics::Metrics;
use firstcome::node::{Given, Intake, Limits, Node};
use firstcome_journal::Journal;
use firstcome_journal::distant::Distant;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// The seats. Clones are the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Seats {
    plan: Arc<Plan>,
    store: Store,
    trace: Trace,
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

#[derive(Debug)]
struct Living {
    node: Node,
    front: Front,
    road: Road,
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
    pub(crate) fn set_up(plan: Arc<Plan>, store: Store, trace: Trace) -> Self {
        let inside = Inside {
            lives: (0..plan.nodes).map(|_| None).collect(),
            starting: vec![false; plan.nodes],
            random: Rng::with_seed(plan.seed ^ 0x5ea7_5ea7),
            counted: Counted::default(),
        };
        Self { plan, store, trace, inside: Arc::new(Mutex::new(inside)) }
    }

    fn record(&self) -> &Record {
        &self.store.record
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
        let (dice, mut random) = {
            let mut inside = self.lock();
            (inside.random.u64(..), inside.random.fork())
        };
        let gate = Gate::open();
        let road = Road::build(&self.plan, &self.store, gate.clone(), dice, false);
        let metrics = Arc::new(Metrics::default());
        let outbox = self.plan.ledger.then_some(100_000);
        let given = Given {
            journal: Journal::Distant(Distant::over(Arc::new(road.clone()))),
            clock: None,
            address: format!("seat {seat}").into(),
            random: Box::new(move || random.u64(..)),
            limits: Limits { queue: 200, wait: Duration::from_secs(5), memory: 1 << 30, outbox },
            metrics: Arc::clone(&metrics),
        };
        let node = match Node::start(given, |_, _| {}).await {
            Ok(node) => node,
            Err(why) => {
                self.trace.tell(format_args!("no node starts in seat {seat}: {why}"));
                return false;
            }
        };
        let life = self.record().born(self.trace.now());
        let front = Front {
            life,
            seat,
            intake: Arc::clone(&node.intake),
            gate,
            died: watch::Sender::new(false),
        };
        self.trace.tell(format_args!("{} starts, as {}", front.name(), node.id));
        self.lock().lives[seat] = Some(Living { node, front, road, metrics });
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
            self.trace.tell(format_args!("{} dies", living.front.name()));
            self.record().died(living.front.life, self.trace.now());
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
            let Living { node, front, .. } = living;
            seats.trace.tell(format_args!("{} is told to stop", front.name()));
            let stopped = node.stop().await;
            seats.trace.tell(format_args!("{} stopped: {stopped:?}", front.name()));
            seats.record().died(front.life, seats.trace.now());
            // What was accepted is answered before.
            sleep(Duration::from_millis(10)).await;
            front.died.send_replace(true);
        });
        self.start(seat, down);
    }

    /// Has a node stand still for a while.
    pub(crate) fn pause(&self, seat: usize, time: Duration) {
        let Some(front) = self.front(seat) else { return };
        front.gate.set(false);
        tokio::spawn(async move {
            sleep(time).await;
            front.gate.set(true);
        });
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
        for seat in 0..self.plan.nodes {
            if let Some(living) = &self.lock().lives[seat] {
                living.front.gate.set(true);
                living.road.mend();
            }
            self.start(seat, Duration::ZERO);
        }
    }

    /// Looks at each node that is there.
    pub(crate) fn each<T>(&self, mut look: impl FnMut(&Front, &Node) -> T) -> Vec<T> {
        let inside = self.lock();
        inside.lives.iter().flatten().map(|living| look(&living.front, &living.node)).collect()
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

impl Living {
    fn counted(&self) -> Counted {
        Counted {
            forks: self.metrics.forks.get(),
            put_back: self.metrics.put_back.get(),
            reseeds: self.metrics.reseeds.get(),
        }
    }
}
