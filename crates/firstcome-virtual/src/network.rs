//! The simulated network between a node and the store.
//!
//! Messages are late, lost or repeated; a connection is cut and made again to another server; a node pauses.

use crate::distant::{Carried, JournalCall, ServerWork, Way};
use crate::events::Event;
use crate::gate::Gate;
use crate::store::{Connection, Durability, Store};
use fastrand::Rng;
use firstcome_journal::{Confirm, JournalError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until};

/// How long an answer is waited for.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// What a link is like.
#[derive(Clone, Copy, Debug)]
pub struct LinkSettings {
    /// Its number, which the observer of the store hears.
    pub number: usize,
    /// The seed of its random choices.
    pub seed: u64,
    /// How long messages take on average, in microseconds.
    pub latency: u64,
    /// Whether messages are lost, late and repeated at random.
    pub noise: bool,
    /// Whether it finds the store's next primary late, and stays connected to the last one until then.
    pub late: bool,
    /// Whether what a new connection says counts as the answer to what was asked on the one before: a mistake.
    pub fresh_counts: bool,
}

/// What does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nothing does.
    Both,
    /// What the node says.
    There,
    /// What the store answers.
    Back,
    /// Connections are refused at once.
    Refused,
}

/// The link of one node to the store. Clones are the same link.
#[derive(Clone, Debug)]
pub struct StoreLink {
    settings: LinkSettings,
    store: Store,
    state: Arc<Mutex<LinkHealth>>,
    /// Changes when the connection is made anew.
    incarnation: watch::Sender<u64>,
    gate: Gate,
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
    /// Connects a node to a store, through the gate of the node.
    pub fn build(store: &Store, gate: Gate, settings: LinkSettings) -> Self {
        let state = LinkHealth {
            random: Rng::with_seed(settings.seed),
            connection: store.connect(),
            cut: None,
            slow: (Instant::now(), Duration::ZERO),
            noise: settings.noise && !store.are_faults_over(),
        };
        let link = Self {
            settings,
            store: store.clone(),
            state: Arc::new(Mutex::new(state)),
            incarnation: watch::Sender::new(0),
            gate,
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
                let longest =
                    if self.settings.late { 3_000_000 } else { 3_000_000 >> random.u32(0..10) };
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
    pub fn cut(&self, direction: Cut, time: Duration) {
        self.lock().cut = Some((direction, Instant::now() + time));
        let link = self.clone();
        tokio::spawn(async move {
            sleep(time).await;
            // A connection that was cut is made anew.
            link.reconnect();
        });
    }

    /// Has messages take longer for a while, by up to so much.
    pub fn slow(&self, time: Duration, by: Duration) {
        self.lock().slow = (Instant::now() + time, by);
    }

    /// Ends everything that goes wrong with it.
    pub fn stop_faults(&self) {
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
            let usual = random.u64(self.settings.latency / 2..=self.settings.latency * 2);
            let more = if slow > 0 { random.u64(..=slow) } else { 0 };
            let spike = if noise && random.u32(0..200) == 0 { random.u64(..1_500_000) } else { 0 };
            Duration::from_micros(usual + more + spike)
        };
        let (there, back) = (time(), time());
        let noise = noise && call != JournalCall::Follow;
        let by_any = self.is_log() && call == JournalCall::Append && random.u32(0..4) > 0;
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
        if call != JournalCall::Append || self.store.settings.durability == Durability::Memory {
            return Confirm::AtOnce;
        }
        let (heard, confirmed) = oneshot::channel();
        let (store, fresh, mut incarnation) =
            (self.store.clone(), self.settings.fresh_counts, self.incarnation.subscribe());
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

    /// Says whether the store takes each append without a condition.
    fn is_log(&self) -> bool {
        self.store.settings.log.is_some()
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
        if !self.is_log() || !state.noise || state.random.u32(0..4) > 0 {
            return 0;
        }
        state.random.usize(1..4)
    }

    fn confirms_at_once(&self) -> bool {
        self.store.settings.durability == Durability::Memory
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
        if rests_on_connection(call) && !by_any && *self.incarnation.borrow() != rests_on {
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
        if changes(call) && call != JournalCall::Announce {
            let server = connection.server;
            self.store.observer.observe(Event::Called { call, link: self.settings.number, server });
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

/// Says whether a call is refused where the connection was made anew since its caller looked.
fn rests_on_connection(call: JournalCall) -> bool {
    matches!(
        call,
        JournalCall::Append
            | JournalCall::PutBack
            | JournalCall::RaiseEpoch
            | JournalCall::Reseed
            | JournalCall::Install
            | JournalCall::Trim
            | JournalCall::Skip
    )
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
        | JournalCall::Report
        | JournalCall::Mark
        | JournalCall::Enter => true,
        JournalCall::Read
        | JournalCall::Follow
        | JournalCall::Head
        | JournalCall::Piece
        | JournalCall::Look => false,
    }
}
