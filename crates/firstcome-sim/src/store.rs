//! The store as it really is: a primary, copies that lag, one that takes its place and has less, a
//! file that is older than what was acknowledged, a clock that is set.
//!
//! Each server is a [`Memory`]. What a server did reaches a copy whole and in order, some time later.

use crate::history::{Cause, Durability, Headed, Loss};
use crate::plan::Plan;
use crate::record::Record;
use crate::trace::Trace;
use fastrand::Rng;
use firstcome_core::SpaceId;
use firstcome_journal::memory::twins::Mistake;
use firstcome_journal::memory::{Kept, Memory};
use firstcome_journal::{Clock, Entry, Failure, Journal};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// What the store's clock says when a world begins, in microseconds.
pub(crate) const BEGIN: i64 = 1_900_000_000_000_000;
/// How often the primary's state goes into a file from which it can be started again.
const FILE_EVERY: Duration = Duration::from_millis(500);

/// The store. Clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    inside: Arc<Mutex<Inside>>,
    /// Changes when a connection must be made anew: a number for each primary there was.
    turns: watch::Sender<u64>,
    /// How far copies and files are, as a number that only tells that something changed.
    progress: watch::Sender<u64>,
    durability: Durability,
    pub(crate) record: Record,
    pub(crate) trace: Trace,
}

#[derive(Debug)]
struct Inside {
    servers: Vec<Server>,
    primary: usize,
    /// Until when a copy hears nothing.
    lags: Vec<Instant>,
    no_confirms: Instant,
    random: Rng,
    /// Whether faults are over.
    mended: bool,
}

#[derive(Debug)]
struct Server {
    memory: Memory,
    offset: Arc<AtomicI64>,
    /// Counts what it did and what it took over.
    version: u64,
    /// Its entries, as numbers in the record.
    chain: Arc<Vec<usize>>,
    up: bool,
    /// Since which turn it has been up: connections made before are gone.
    since: u64,
    /// Whether it was replaced, and has not been told to follow yet.
    lingers: bool,
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

/// A server to talk to, in the turn in which somebody connected to it.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) server: usize,
    pub(crate) memory: Memory,
    pub(crate) turn: u64,
}

impl Store {
    pub(crate) fn build(
        plan: &Plan,
        mistake: Option<Mistake>,
        record: Record,
        trace: Trace,
    ) -> Self {
        let mut random = Rng::with_seed(plan.seed ^ 0x5708_e000);
        let begun = Instant::now();
        let servers = (0..=plan.copies)
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
                let memory =
                    Memory::new(SpaceId([7; 16]), 0, clock).for_several().mistaken(mistake);
                Server {
                    memory,
                    offset,
                    version: 0,
                    chain: Arc::default(),
                    up: true,
                    since: 0,
                    lingers: false,
                    copied: vec![0; plan.copies + 1],
                    files: Vec::new(),
                    synced: 0,
                }
            })
            .collect();
        let inside = Inside {
            servers,
            primary: 0,
            lags: vec![begun; plan.copies + 1],
            no_confirms: begun,
            random,
            mended: false,
        };
        let store = Self {
            inside: Arc::new(Mutex::new(inside)),
            turns: watch::Sender::new(0),
            progress: watch::Sender::new(0),
            durability: plan.durability,
            record,
            trace,
        };
        let files = store.clone();
        tokio::spawn(async move { files.write_files().await });
        store
    }

    /// Watches for a new primary, or the same one started anew.
    pub(crate) fn turns(&self) -> watch::Receiver<u64> {
        self.turns.subscribe()
    }

    /// Says whether faults are over.
    pub(crate) fn is_mended(&self) -> bool {
        self.lock().mended
    }

    /// Gives how often it went on from another server, or from its file.
    pub(crate) fn failovers(&self) -> usize {
        usize::try_from(*self.turns.borrow()).unwrap_or(usize::MAX)
    }

    pub(crate) fn durability(&self) -> Durability {
        self.durability
    }

    /// Connects to the primary, if it is there.
    pub(crate) fn connect(&self) -> Option<Connection> {
        let inside = self.lock();
        let server = &inside.servers[inside.primary];
        let turn = *self.turns.borrow();
        let connection = Connection { server: inside.primary, memory: server.memory.clone(), turn };
        server.up.then_some(connection)
    }

    /// Says whether a server is there for those who are connected to it since a turn.
    pub(crate) fn is_up(&self, connection: &Connection) -> bool {
        let server = &self.lock().servers[connection.server];
        server.up && connection.turn >= server.since
    }

    /// Gives the primary's clock.
    pub(crate) fn clock(&self) -> firstcome_core::Timestamp {
        let inside = self.lock();
        let off = inside.servers[inside.primary].offset.load(Ordering::Relaxed);
        let passed = i64::try_from(self.trace.now().as_micros()).unwrap_or(0);
        firstcome_core::Timestamp::from_micros(BEGIN + passed + off)
    }

    /// Takes in what a server just did: writes it down and sends it to the copies. Gives its version.
    pub(crate) async fn did(&self, server: usize) -> u64 {
        let memory = self.lock().servers[server].memory.clone();
        self.write_down(server, &memory).await;
        let (version, is_primary) = {
            let mut inside = self.lock();
            let is_primary = inside.primary == server;
            let server = &mut inside.servers[server];
            server.version += 1;
            (server.version, is_primary)
        };
        if is_primary {
            self.send_to_copies(server);
            self.sync_file(server, version);
        }
        version
    }

    /// Writes down which entries a server has now.
    async fn write_down(&self, number: usize, memory: &Memory) {
        let journal = Journal::Memory(memory.clone());
        let (chain, last) = {
            let inside = self.lock();
            let chain = Arc::clone(&inside.servers[number].chain);
            let last = chain.last().copied();
            (chain, last)
        };
        let Ok(head) = journal.head().await else {
            return self.heads(number, Arc::default());
        };
        let known = last.map(|last| {
            self.record.with(|history| {
                let stored = &history.stored[last];
                (stored.entry.position, stored.name, stored.entry.at, stored.entry.epoch)
            })
        });
        let (position, same) = match known {
            None => (0, true),
            Some((position, name, at, _)) if position == head.position => {
                (position, name == head.name && at == head.at)
            }
            Some((position, ..)) => (position, position < head.position),
        };
        if same && position == head.position {
            return;
        }
        if same
            && let Ok(entries) = journal.read(position).await
            && entries
                .first()
                .is_some_and(|first| known.is_none_or(|(_, name, ..)| first.before == name))
        {
            let mut chain = chain;
            let mut entries = entries;
            while !entries.is_empty() {
                for entry in &entries {
                    let index = self.note(number, entry);
                    Arc::make_mut(&mut chain).push(index);
                }
                let after = entries.last().map_or(0, |last| last.position);
                entries = journal.read(after).await.unwrap_or_default();
            }
            return self.heads(number, chain);
        }
        // Another history than before: its beginning may be trimmed, and is what it was.
        let mut after = head.first - 1;
        let mut fresh = Vec::new();
        let mut base = head.name;
        loop {
            let entries = journal.read(after).await.unwrap_or_default();
            let (Some(first), Some(last)) = (entries.first(), entries.last()) else { break };
            if fresh.is_empty() {
                base = first.before;
            }
            after = last.position;
            fresh.extend(entries.iter().map(|entry| self.note(number, entry)));
        }
        let mut chain = self.record.ancestry(head.first - 1, base);
        chain.append(&mut fresh);
        let fresh = chain;
        self.heads(number, Arc::new(fresh));
    }

    fn note(&self, server: usize, entry: &Entry) -> usize {
        let name = entry.name().unwrap_or_default();
        let (place, is_new) = self.record.stored(self.trace.now(), entry, name);
        if is_new {
            let Entry { position, epoch, .. } = entry;
            let commands = entry.open().map(|(_, body)| body.commands());
            self.trace.tell(format_args!(
                "server {server} has entry {epoch}.{position}, batch {name}: {commands:?}"
            ));
        }
        place
    }

    fn heads(&self, server: usize, chain: Arc<Vec<usize>>) {
        let last = chain.last().copied();
        self.lock().servers[server].chain = chain;
        self.record.headed(Headed { moment: self.trace.now(), server, last });
    }

    fn image(server: &Server) -> Image {
        let chain = Arc::clone(&server.chain);
        Image { kept: server.memory.kept(), version: server.version, chain }
    }

    fn send_to_copies(&self, from: usize) {
        let mut inside = self.lock();
        let image = Self::image(&inside.servers[from]);
        let turn = *self.turns.borrow();
        let now = Instant::now();
        for copy in (0..inside.servers.len()).filter(|copy| *copy != from) {
            let quick = Duration::from_micros(inside.random.u64(50..2_000));
            let lag = inside.lags[copy].saturating_duration_since(now) + quick;
            let (store, image) = (self.clone(), image.clone());
            tokio::spawn(async move {
                sleep(lag).await;
                store.arrives_at_copy(from, copy, turn, image);
            });
        }
    }

    fn arrives_at_copy(&self, from: usize, copy: usize, turn: u64, image: Image) {
        let mut inside = self.lock();
        // A copy that follows somebody else by now, or hears nothing for a while, does not get it; what
        // comes next brings it along.
        let deaf = inside.lags[copy] > Instant::now() || inside.servers[copy].lingers;
        let known = inside.servers[from].copied[copy];
        if *self.turns.borrow() != turn || deaf || known >= image.version {
            return;
        }
        inside.servers[from].copied[copy] = image.version;
        let server = &mut inside.servers[copy];
        server.memory.restore(&image.kept);
        server.version = image.version;
        server.chain = image.chain;
        drop(inside);
        self.progress.send_modify(|times| *times += 1);
    }

    fn sync_file(&self, server: usize, version: u64) {
        if self.durability != Durability::Fsync {
            return;
        }
        let (image, pause) = {
            let mut inside = self.lock();
            let slow = inside.no_confirms.saturating_duration_since(Instant::now());
            let quick = Duration::from_micros(inside.random.u64(200..6_000));
            (Self::image(&inside.servers[server]), slow + quick)
        };
        let (store, turn) = (self.clone(), *self.turns.borrow());
        tokio::spawn(async move {
            sleep(pause).await;
            let mut inside = store.lock();
            let server = &mut inside.servers[server];
            if *store.turns.borrow() != turn || server.synced >= version {
                return;
            }
            server.synced = version;
            server.files = vec![(Instant::now(), image)];
            drop(inside);
            store.progress.send_modify(|times| *times += 1);
        });
    }

    /// Writes the primary's file from time to time, as a store does that promises nothing of it.
    async fn write_files(self) {
        loop {
            sleep(FILE_EVERY).await;
            if self.durability == Durability::Fsync {
                return;
            }
            let mut inside = self.lock();
            let primary = inside.primary;
            let server = &mut inside.servers[primary];
            let image = Self::image(server);
            server.files.push((Instant::now(), image));
            // Nobody goes back further than this.
            let old = server.files.len().saturating_sub(40);
            server.files.drain(..old);
        }
    }

    /// Waits until what a server did is as durable as promised; `false` if that can no longer be told.
    ///
    /// The mistake to be made is to take what a new connection says (`fresh`) for an answer.
    pub(crate) async fn endures(&self, connection: Connection, version: u64, fresh: bool) -> bool {
        let mut progress = self.progress.subscribe();
        loop {
            {
                let inside = self.lock();
                let server = &inside.servers[connection.server];
                if *self.turns.borrow() != connection.turn {
                    return fresh;
                }
                let confirmed = match self.durability {
                    Durability::Memory => true,
                    Durability::Copies { wanted, .. } => {
                        let has = |copied: &&u64| **copied >= version;
                        let quiet = inside.no_confirms > Instant::now();
                        !quiet && server.copied.iter().filter(has).count() >= wanted
                    }
                    Durability::Fsync => server.synced >= version,
                };
                if confirmed {
                    return true;
                }
            }
            tokio::select! {
                _ = progress.changed() => {}
                () = sleep(Duration::from_millis(100)) => {}
            }
        }
    }

    /// Has a copy take the primary's place, with what it has.
    pub(crate) fn promote(&self, copy: usize, lingers: Option<Duration>) {
        let mut inside = self.lock();
        let old = inside.primary;
        // Copies are counted beside the primary.
        let new = (0..inside.servers.len()).filter(|server| *server != old).nth(copy);
        let Some(new) = new.filter(|new| inside.servers[*new].version > 0) else { return };
        inside.primary = new;
        inside.servers[new].up = true;
        inside.servers[new].copied.fill(0);
        inside.servers[old].up = lingers.is_some();
        inside.servers[old].lingers = true;
        inside.servers[new].memory.set_full(false);
        let last = |server: usize| inside.servers[server].chain.last().copied();
        let (from, to) = (last(old), last(new));
        let clock = |server: usize| inside.servers[server].offset.load(Ordering::Relaxed);
        let step = clock(new) - clock(old);
        let version = inside.servers[new].version;
        inside.servers[new].synced = version;
        let image = Self::image(&inside.servers[new]);
        inside.servers[new].files = vec![(Instant::now(), image)];
        drop(inside);
        let moment = self.trace.now();
        // Another server has another clock.
        self.record.clock_stepped(moment, step);
        self.record.headed(Headed { moment, server: new, last: to });
        if from != to {
            self.record.lost(Loss { moment, cause: Cause::Promotion, from, to });
        }
        self.turns.send_modify(|turn| *turn += 1);
        // The others copy from it from now on.
        self.send_to_copies(new);
        let store = self.clone();
        tokio::spawn(async move {
            if let Some(time) = lingers {
                sleep(time).await;
            }
            // Told to follow the new one, it takes no more entries.
            store.follows(old);
        });
    }

    /// Has a primary that was replaced follow the one that took its place: what it took since is gone.
    fn follows(&self, old: usize) {
        let (primary, from, to) = {
            let mut inside = self.lock();
            let primary = inside.primary;
            let last = |server: usize| inside.servers[server].chain.last().copied();
            let (from, to) = (last(old), last(primary));
            inside.servers[old].lingers = false;
            inside.servers[old].up = primary == old;
            (primary, from, to)
        };
        if primary != old {
            let moment = self.trace.now();
            self.record.lost(Loss { moment, cause: Cause::Promotion, from, to });
        }
        self.send_to_copies(primary);
    }

    /// Says whether the primary has nothing of the space any more.
    pub(crate) async fn is_gone(&self) -> bool {
        let (_, memory) = self.chain();
        matches!(Journal::Memory(memory).head().await, Err(Failure::Gone(_)))
    }

    /// Begins with nothing, as an operator has it who has lost everything.
    pub(crate) fn begins_anew(&self) {
        let fresh = Memory::new(SpaceId([7; 16]), 0, Clock::of(|| 0)).kept();
        {
            let mut inside = self.lock();
            let primary = inside.primary;
            let it = &mut inside.servers[primary];
            it.memory.restore(&fresh);
            it.chain = Arc::default();
            it.version += 1;
            it.since = *self.turns.borrow() + 1;
        }
        self.turns.send_modify(|turn| *turn += 1);
    }

    /// Starts the primary again after a while, with what its file had at least `age` ago.
    pub(crate) fn restart(&self, down: Duration, age: Duration, empty: bool) {
        let primary = {
            let mut inside = self.lock();
            let primary = inside.primary;
            inside.servers[primary].up = false;
            primary
        };
        let store = self.clone();
        tokio::spawn(async move {
            sleep(down).await;
            store.starts(primary, age, empty);
        });
    }

    fn starts(&self, server: usize, age: Duration, empty: bool) {
        let mut inside = self.lock();
        if inside.primary != server || inside.servers[server].up {
            return;
        }
        let now = Instant::now();
        let it = &mut inside.servers[server];
        let from = it.chain.last().copied();
        let file = it.files.iter().rev().find(|(written, _)| now - *written >= age);
        // A file that was written with every entry has them all, and one of later is not older.
        let file = file.or(it.files.first()).map(|(_, image)| image.clone());
        match file {
            Some(image) if !empty => {
                it.memory.restore(&image.kept);
                it.chain = image.chain;
            }
            _ => {
                it.memory.empty();
                it.chain = Arc::default();
            }
        }
        it.memory.set_full(false);
        it.version += 1;
        it.copied.fill(0);
        it.up = true;
        it.since = *self.turns.borrow() + 1;
        let to = it.chain.last().copied();
        let image = Self::image(it);
        it.synced = it.version;
        it.files = vec![(now, image)];
        drop(inside);
        let moment = self.trace.now();
        self.record.headed(Headed { moment, server, last: to });
        if from != to {
            self.record.lost(Loss { moment, cause: Cause::OlderFile, from, to });
        }
        self.turns.send_modify(|turn| *turn += 1);
        self.send_to_copies(server);
    }

    /// Has a copy hear nothing for a while.
    pub(crate) fn lag(&self, copy: usize, time: Duration) {
        let mut inside = self.lock();
        let primary = inside.primary;
        let copy = (0..inside.servers.len()).filter(|server| *server != primary).nth(copy);
        if let Some(copy) = copy {
            inside.lags[copy] = Instant::now() + time;
        }
        drop(inside);
        let store = self.clone();
        tokio::spawn(async move {
            sleep(time).await;
            // What it missed it gets at once.
            let primary = store.lock().primary;
            store.send_to_copies(primary);
        });
    }

    /// Says that the primary has no room for entries, or has again.
    pub(crate) fn full(&self, full: bool) {
        let inside = self.lock();
        for server in &inside.servers {
            server.memory.set_full(full);
        }
    }

    /// Sets the primary's clock.
    pub(crate) fn set_clock(&self, by: i64) {
        let inside = self.lock();
        inside.servers[inside.primary].offset.fetch_add(by, Ordering::Relaxed);
        drop(inside);
        self.record.clock_stepped(self.trace.now(), by);
    }

    pub(crate) fn without_confirms(&self, time: Duration) {
        self.lock().no_confirms = Instant::now() + time;
    }

    /// Ends everything that goes wrong by itself only after a while.
    pub(crate) fn mend(&self) {
        let mut inside = self.lock();
        let now = Instant::now();
        inside.mended = true;
        inside.lags.fill(now);
        inside.no_confirms = now;
        let primary = inside.primary;
        for server in &inside.servers {
            server.memory.set_full(false);
        }
        let down = !inside.servers[primary].up;
        drop(inside);
        if down {
            self.starts(primary, Duration::ZERO, false);
        }
        self.send_to_copies(primary);
        self.progress.send_modify(|times| *times += 1);
    }

    /// Gives the primary's entries, as numbers in the record, and the server itself.
    pub(crate) fn chain(&self) -> (Arc<Vec<usize>>, Memory) {
        let inside = self.lock();
        let server = &inside.servers[inside.primary];
        (Arc::clone(&server.chain), server.memory.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
