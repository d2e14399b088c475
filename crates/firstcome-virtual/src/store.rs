//! The simulated store: a primary and copies that lag, failovers that lose entries, restarts from an older file, and a
//! clock that is set.
//!
//! Each server is a [`Memory`]. What a server did reaches a copy whole and in order, some time later. In some worlds it is a
//! log that takes each append without a condition: then entries arrive at whichever server is the primary, see
//! [`StoreSettings::log`].

mod copies;
mod entries;
mod failover;

pub use entries::StoredEntry;

use crate::events::{Event, Observer};
use entries::Entries;
use fastrand::Rng;
use firstcome_core::{SpaceId, Timestamp};
use firstcome_journal::Clock;
use firstcome_journal::memory::{Kept, Memory};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// What the store's clock says when a world begins, in microseconds.
pub const BEGIN: i64 = 1_900_000_000_000_000;
/// The space that every store has at the beginning.
pub const SPACE: SpaceId = SpaceId([7; 16]);
/// How often the primary's state goes into a file from which it can be started again.
const FILE_EVERY: Duration = Duration::from_millis(500);

/// What a store is like.
#[derive(Clone, Copy, Debug)]
pub struct StoreSettings {
    /// The seed of its random choices.
    pub seed: u64,
    /// Copies of the primary.
    pub copies: usize,
    /// When an acknowledged entry is durable.
    pub durability: Durability,
    /// Where it takes each append without a condition: how many messages before it the ancestor of an entry may lie.
    pub log: Option<u64>,
}

/// When an acknowledged entry is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// At once: the store may lose it with its memory.
    Memory,
    /// When so many copies have it.
    Copies {
        /// So many.
        wanted: usize,
        /// Of so many.
        of: usize,
    },
    /// When it is in the primary's file.
    Fsync,
}

/// The store. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Store {
    state: Arc<Mutex<StoreState>>,
    /// Changes when a connection must be made anew: a number for each primary there was.
    generations: watch::Sender<u64>,
    /// How far copies and files are, as a number that only shows that something changed.
    progress: watch::Sender<u64>,
    pub(crate) settings: StoreSettings,
    begun: Instant,
    pub(crate) observer: Arc<dyn Observer>,
}

#[derive(Debug)]
struct StoreState {
    entries: Entries,
    servers: Vec<StoreServer>,
    primary: usize,
    /// Until when a copy hears nothing.
    lags: Vec<Instant>,
    no_confirms: Instant,
    random: Rng,
    /// Whether faults are over.
    faults_over: bool,
}

#[derive(Debug)]
struct StoreServer {
    memory: Memory,
    offset: Arc<AtomicI64>,
    /// Counts what it did and what it took over.
    version: u64,
    /// The numbers of its entries.
    chain: Arc<Vec<usize>>,
    up: bool,
    /// Since which generation it has been up: connections made before are gone.
    since: u64,
    /// Whether it was replaced, and does not follow yet.
    lingers: bool,
    /// It was a primary, and serves those who are still connected with what it copies.
    read_only: bool,
    /// How far each of the others is with what this server did.
    copied: Vec<u64>,
    /// What its file has, oldest first, with when it was written.
    files: Vec<(Instant, Image)>,
    /// Up to which version the file is written.
    synced: u64,
}

/// A server as it was.
#[derive(Clone, Debug)]
struct Image {
    kept: Kept,
    version: u64,
    chain: Arc<Vec<usize>>,
}

/// A server to talk to, in the generation in which the connection was made.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) server: usize,
    pub(crate) memory: Memory,
    pub(crate) generation: u64,
}

impl Store {
    /// Begins a store that has nothing yet; it must be in a runtime.
    pub fn build(settings: StoreSettings, observer: Arc<dyn Observer>) -> Self {
        let StoreSettings { seed, copies, log, .. } = settings;
        let mut random = Rng::with_seed(seed ^ 0x5708_e000);
        let begun = Instant::now();
        let servers = (0..=copies)
            .map(|number| {
                let off = if number == 0 { 0 } else { random.i64(-400_000..400_000) };
                let offset = Arc::new(AtomicI64::new(off));
                let clock = {
                    let offset = Arc::clone(&offset);
                    Clock::of(move || {
                        let passed = i64::try_from(begun.elapsed().as_micros()).unwrap_or(0);
                        BEGIN + passed + offset.load(Ordering::Relaxed)
                    })
                };
                let memory = empty(clock, log).for_several();
                StoreServer {
                    memory,
                    offset,
                    version: 0,
                    chain: Arc::default(),
                    up: true,
                    since: 0,
                    lingers: false,
                    read_only: false,
                    copied: vec![0; copies + 1],
                    files: Vec::new(),
                    synced: 0,
                }
            })
            .collect();
        let state = StoreState {
            entries: Entries::default(),
            servers,
            primary: 0,
            lags: vec![begun; copies + 1],
            no_confirms: begun,
            random,
            faults_over: false,
        };
        observer.observe(Event::HeadChanged { server: 0, last: None, replaced: false });
        let store = Self {
            state: Arc::new(Mutex::new(state)),
            generations: watch::Sender::new(0),
            progress: watch::Sender::new(0),
            settings,
            begun,
            observer,
        };
        let files = store.clone();
        tokio::spawn(async move { files.write_files().await });
        store
    }

    /// Watches for a new primary, or the same one started anew.
    pub(crate) fn generations(&self) -> watch::Receiver<u64> {
        self.generations.subscribe()
    }

    /// Says whether faults are over.
    pub(crate) fn are_faults_over(&self) -> bool {
        self.lock().faults_over
    }

    /// Returns how often it went on from another server, or from its file.
    pub fn failovers(&self) -> usize {
        usize::try_from(*self.generations.borrow()).unwrap_or(usize::MAX)
    }

    /// Connects to the primary, if it is there.
    pub(crate) fn connect(&self) -> Option<Connection> {
        let state = self.lock();
        let server = &state.servers[state.primary];
        let generation = *self.generations.borrow();
        let connection =
            Connection { server: state.primary, memory: server.memory.clone(), generation };
        server.up.then_some(connection)
    }

    /// Returns where an entry arrives now that was sent over a connection; nothing where no server is there.
    ///
    /// A log without conditions takes it over any connection, also where there is another primary than its sender knew; not over
    /// one to a server that is cut off from the others.
    pub(crate) fn reached(
        &self,
        connection: &Connection,
        by_any: bool,
        knew: Option<u64>,
    ) -> Option<Connection> {
        let there = || self.is_up(connection).then(|| connection.clone());
        if !by_any {
            return there();
        }
        let reached = if self.is_cut_off(connection) { there() } else { self.connect() }?;
        if knew != Some(reached.generation) {
            self.observer.observe(Event::CarriedOver);
        }
        Some(reached)
    }

    /// Says whether a connection is to a server that was replaced, and is there for those only who still talk to it.
    fn is_cut_off(&self, connection: &Connection) -> bool {
        let state = self.lock();
        state.primary != connection.server && state.servers[connection.server].lingers
    }

    /// Says whether a server is there for those who are connected to it since a generation.
    pub(crate) fn is_up(&self, connection: &Connection) -> bool {
        let server = &self.lock().servers[connection.server];
        server.up && connection.generation >= server.since
    }

    /// Says whether who is connected to a server may only read there.
    pub(crate) fn is_read_only(&self, connection: &Connection) -> bool {
        self.lock().servers[connection.server].read_only
    }

    /// Returns the primary's clock.
    pub fn clock(&self) -> Timestamp {
        let state = self.lock();
        let off = state.servers[state.primary].offset.load(Ordering::Relaxed);
        let passed = i64::try_from(self.begun.elapsed().as_micros()).unwrap_or(0);
        Timestamp::from_micros(BEGIN + passed + off)
    }

    /// Takes in what a server just did: writes it down and sends it to the copies. Gives its version.
    pub(crate) async fn publish_changes(&self, server: usize) -> u64 {
        let memory = self.lock().servers[server].memory.clone();
        self.record_entries(server, &memory).await;
        let (version, is_primary) = {
            let mut state = self.lock();
            let is_primary = state.primary == server;
            let server = &mut state.servers[server];
            server.version += 1;
            (server.version, is_primary)
        };
        if is_primary {
            self.send_to_copies(server);
            self.sync_file(server, version);
        }
        version
    }

    /// Says that the primary has no room for entries, or has again.
    pub fn full(&self, full: bool) {
        let state = self.lock();
        for server in &state.servers {
            server.memory.set_full(full);
        }
    }

    /// Sets the primary's clock.
    pub fn set_clock(&self, by: i64) {
        let state = self.lock();
        state.servers[state.primary].offset.fetch_add(by, Ordering::Relaxed);
        drop(state);
        self.observer.observe(Event::ClockStepped { by });
    }

    /// Ends everything that goes wrong by itself only after a while.
    pub fn stop_faults(&self) {
        let mut state = self.lock();
        let now = Instant::now();
        state.faults_over = true;
        state.lags.fill(now);
        state.no_confirms = now;
        let primary = state.primary;
        for server in &state.servers {
            server.memory.set_full(false);
        }
        let down = !state.servers[primary].up;
        drop(state);
        if down {
            self.start_primary(primary, Duration::ZERO, false);
        }
        self.send_to_copies(primary);
        self.progress.send_modify(|times| *times += 1);
    }

    /// Returns the primary's entries, as their numbers, and the server itself.
    pub fn chain(&self) -> (Arc<Vec<usize>>, Memory) {
        let state = self.lock();
        let server = &state.servers[state.primary];
        (Arc::clone(&server.chain), server.memory.clone())
    }

    fn lock(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a server that has nothing yet.
fn empty(clock: Clock, log: Option<u64>) -> Memory {
    let memory = Memory::new(SPACE, clock);
    match log {
        Some(reach) => memory.without_conditions(reach),
        None => memory,
    }
}
