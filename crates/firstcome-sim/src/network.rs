//! The simulated network between a node and the store.
//!
//! Messages are late, lost or repeated; a connection is cut and made again to another server; a node pauses.

use crate::environment::Environment;
use crate::gate::Gate;
use crate::history::Durability;
use crate::plan::Cut;
use crate::store::{Connection, Store};
use fastrand::Rng;
use firstcome_faults::distant::{Carried, JournalCall, ServerWork, Way};
use firstcome_inject::Mistake;
use firstcome_journal::{Confirm, JournalError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until};

/// How long an answer is waited for.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// The link of one node to the store. Clones are the same link.
#[derive(Clone, Debug)]
pub(crate) struct StoreLink {
    slot: usize,
    store: Store,
    state: Arc<Mutex<LinkHealth>>,
    /// Changes when the connection is made anew.
    incarnation: watch::Sender<u64>,
    gate: Gate,
    latency: u64,
    fresh_counts: bool,
    /// Whether the store takes each append without a condition.
    log: bool,
    /// Whether it is made anew late: see [`Plan::late`](crate::plan::Plan::late).
    late: bool,
}

#[derive(Debug)]
struct LinkHealth {
    random: Rng,
    connection: Option<Connection>,
    cut: Option<(Cut, Instant)>,
    slow: (Instant, Duration),
    /// Whether messages are lost, late and repeated at random.
    noise: bool,
}

/// The delays and losses of one message.
#[derive(Debug)]
struct Delivery {
    there: Duration,
    back: Duration,
    lost_there: bool,
    lost_back: bool,
    refused: bool,
    /// After how long it arrives for a second time.
    again: Option<Duration>,
    /// Whether it arrives at the primary of that time, over whichever connection it was sent.
    by_any: bool,
}

impl StoreLink {
    pub(crate) fn build(environment: &Environment, slot: usize, gate: Gate, seed: u64) -> Self {
        let Environment { plan, store, .. } = environment;
        let state = LinkHealth {
            random: Rng::with_seed(seed),
            connection: store.connect(),
            cut: None,
            slow: (Instant::now(), Duration::ZERO),
            noise: plan.noise && !store.are_faults_over(),
        };
        let link = Self {
            slot,
            store: store.clone(),
            state: Arc::new(Mutex::new(state)),
            incarnation: watch::Sender::new(0),
            gate,
            latency: plan.latency,
            log: plan.log.is_some(),
            late: plan.late,
            fresh_counts: environment.mistake == Some(Mistake::FreshConnectionCounts),
        };
        let following = link.clone();
        tokio::spawn(async move { following.follow_failovers().await });
        link
    }

    /// Connects anew each time the store has another primary, after a while.
    async fn follow_failovers(self) {
        let mut generations = self.store.generations();
        loop {
            if generations.changed().await.is_err() {
                return;
            }
            let pause = {
                let random = &mut self.lock().random;
                let longest = if self.late { 3_000_000 } else { 3_000_000 >> random.u32(0..10) };
                Duration::from_micros(random.u64(500..longest))
            };
            sleep(pause).await;
            generations.borrow_and_update();
            self.reconnect();
        }
    }

    fn reconnect(&self) {
        self.lock().connection = self.store.connect();
        self.incarnation.send_modify(|times| *times += 1);
    }

    /// Has nothing, or only one direction, arrive for a while.
    pub(crate) fn cut(&self, direction: Cut, time: Duration) {
        self.lock().cut = Some((direction, Instant::now() + time));
        let link = self.clone();
        tokio::spawn(async move {
            sleep(time).await;
            // A connection that was cut is made anew.
            link.reconnect();
        });
    }

    pub(crate) fn slow(&self, time: Duration, by: Duration) {
        self.lock().slow = (Instant::now() + time, by);
    }

    pub(crate) fn stop_faults(&self) {
        let now = Instant::now();
        {
            let mut state = self.lock();
            state.cut = None;
            state.slow = (now, Duration::ZERO);
            state.noise = false;
        }
        self.reconnect();
    }

    /// Draws the delays and losses of a message that leaves now.
    fn delivery(&self, call: JournalCall) -> Delivery {
        let mut state = self.lock();
        let now = Instant::now();
        let slow = if state.slow.0 > now { state.slow.1.as_micros() as u64 } else { 0 };
        let cut = state.cut.filter(|(_, until)| *until > now).map(|(direction, _)| direction);
        let noise = state.noise;
        let random = &mut state.random;
        let mut time = || {
            let usual = random.u64(self.latency / 2..=self.latency * 2);
            let more = if slow > 0 { random.u64(..=slow) } else { 0 };
            let spike = if noise && random.u32(0..200) == 0 { random.u64(..1_500_000) } else { 0 };
            Duration::from_micros(usual + more + spike)
        };
        let (there, back) = (time(), time());
        let noise = noise && call != JournalCall::Follow;
        let by_any = self.log && call == JournalCall::Append && random.u32(0..4) > 0;
        Delivery {
            by_any,
            there,
            back,
            lost_there: matches!(cut, Some(Cut::Both | Cut::There))
                || noise && random.u32(0..150) == 0,
            lost_back: matches!(cut, Some(Cut::Back)) || noise && random.u32(0..150) == 0,
            refused: cut == Some(Cut::Refused),
            again: (noise && random.u32(0..80) == 0)
                .then(|| Duration::from_micros(random.u64(..2_000_000))),
        }
    }

    /// Says when an entry that a server just took is durable.
    fn confirm(&self, call: JournalCall, connection: Connection, version: u64) -> Confirm {
        if call != JournalCall::Append || self.store.durability() == Durability::Memory {
            return Confirm::AtOnce;
        }
        let (heard, confirmed) = oneshot::channel();
        let (store, fresh, mut incarnation) =
            (self.store.clone(), self.fresh_counts, self.incarnation.subscribe());
        incarnation.mark_unchanged();
        tokio::spawn(async move {
            let durable = store.wait_until_durable(connection, version, fresh);
            tokio::select! {
                durable = durable => if durable {
                    // A caller that has gone needs no answer.
                    let _gone = heard.send(());
                },
                // What was asked on that connection is not answered any more.
                _ = incarnation.changed() => if fresh {
                    let _gone = heard.send(());
                },
            }
        });
        Confirm::Later(confirmed)
    }

    fn lock(&self) -> MutexGuard<'_, LinkHealth> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Way for StoreLink {
    fn carry(&self, call: JournalCall, work: ServerWork) -> Carried<Result<Confirm, JournalError>> {
        let link = self.clone();
        // The call rests on what the caller knew of this connection when it called.
        let rests_on = *self.incarnation.borrow();
        let knew = self.lock().connection.as_ref().map(|connection| connection.generation);
        Box::pin(async move { link.send(call, work, rests_on, knew).await })
    }

    fn incarnations(&self) -> watch::Receiver<u64> {
        self.incarnation.subscribe()
    }

    fn undelivered(&self) -> usize {
        let mut state = self.lock();
        if !self.log || !state.noise || state.random.u32(0..4) > 0 {
            return 0;
        }
        state.random.usize(1..4)
    }

    fn confirms_at_once(&self) -> bool {
        self.store.durability() == Durability::Memory
    }
}

impl StoreLink {
    async fn send(
        &self,
        call: JournalCall,
        work: ServerWork,
        rests_on: u64,
        knew: Option<u64>,
    ) -> Result<Confirm, JournalError> {
        self.gate.pass().await;
        let late = Instant::now() + ANSWER_WITHIN;
        let delivery = self.delivery(call);
        let connection = self.lock().connection.clone();
        let unknown = || JournalError::Unknown("the answer was lost".into());
        let by_any = delivery.by_any;
        let Some(connection) = connection.filter(|_| !delivery.refused) else {
            sleep(delivery.back).await;
            self.gate.pass().await;
            return Err(JournalError::Unavailable("there is no connection".into()));
        };
        let rests = matches!(
            call,
            JournalCall::Append
                | JournalCall::PutBack
                | JournalCall::RaiseEpoch
                | JournalCall::Reseed
                | JournalCall::Install
                | JournalCall::Trim
                | JournalCall::Skip
        );
        if rests && !by_any && *self.incarnation.borrow() != rests_on {
            return Err(JournalError::Changed);
        }
        if delivery.lost_there {
            sleep_until(late).await;
            self.gate.pass().await;
            return Err(unknown());
        }
        sleep(delivery.there).await;
        let Some(connection) = self.store.reached(&connection, by_any, knew) else {
            // It died with the message on its way, or before.
            sleep(delivery.back).await;
            self.gate.pass().await;
            return Err(unknown());
        };
        if changes(call) && self.store.is_read_only(&connection) {
            sleep(delivery.back).await;
            self.gate.pass().await;
            // The node that hears that looks for the primary.
            self.reconnect();
            return Err(JournalError::Unavailable("it only copies, and takes nothing".into()));
        }
        if is_traced(call) {
            let server = connection.server;
            self.store
                .trace
                .tell(format_args!("{call:?} of slot {} at server {server}", self.slot));
        }
        let is_done = work(connection.memory.clone()).await;
        let version =
            if changes(call) { self.store.publish_changes(connection.server).await } else { 0 };
        // What was refused, and heard to be, does not come again.
        let again = delivery.again.filter(|_| changes(call) && (is_done || delivery.lost_back));
        if let Some(again) = again {
            let (store, connection) = (self.store.clone(), connection.clone());
            tokio::spawn(async move {
                sleep(again).await;
                // What repeats it is on the way to this server, and knows no other.
                if store.is_up(&connection) && !store.is_read_only(&connection) {
                    work(connection.memory.clone()).await;
                    store.publish_changes(connection.server).await;
                }
            });
        }
        let confirm = self.confirm(call, connection.clone(), version);
        sleep(delivery.back).await;
        let cut_since = matches!(self.lock().cut, Some((Cut::Both | Cut::Back, until)) if until > Instant::now());
        let other = !by_any && *self.incarnation.borrow() != rests_on;
        let moved = other || !self.store.is_up(&connection);
        let is_late = Instant::now() > late && call != JournalCall::Follow;
        if delivery.lost_back || cut_since || moved || is_late {
            if !moved {
                sleep_until(late).await;
            }
            self.gate.pass().await;
            return Err(unknown());
        }
        self.gate.pass().await;
        Ok(confirm)
    }
}

/// Says whether the story has a line for a call.
fn is_traced(call: JournalCall) -> bool {
    changes(call) && call != JournalCall::Announce
}

/// Says whether a call may change what the store has.
fn changes(call: JournalCall) -> bool {
    match call {
        JournalCall::Append
        | JournalCall::Announce
        | JournalCall::PutBack
        | JournalCall::RaiseEpoch
        | JournalCall::Reseed
        | JournalCall::MintTerm
        | JournalCall::PutPiece
        | JournalCall::Install
        | JournalCall::Trim
        | JournalCall::Skip
        | JournalCall::Leave
        | JournalCall::Report => true,
        JournalCall::Read
        | JournalCall::Follow
        | JournalCall::Head
        | JournalCall::Piece
        | JournalCall::Look => false,
    }
}
