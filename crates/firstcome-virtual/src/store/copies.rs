//! Replication from the primary to its copies and into its file, late and in order; and when that counts as durable.

use super::{Connection, Durability, FILE_EVERY, Image, Store, StoreServer};
use crate::events::Event;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

impl Store {
    pub(super) fn image(server: &StoreServer) -> Image {
        let chain = Arc::clone(&server.chain);
        Image { kept: server.memory.kept(), version: server.version, chain }
    }

    pub(super) fn send_to_copies(&self, from: usize) {
        let mut state = self.lock();
        let image = Self::image(&state.servers[from]);
        let generation = *self.generations.borrow();
        let now = Instant::now();
        for copy in (0..state.servers.len()).filter(|copy| *copy != from) {
            let quick = Duration::from_micros(state.random.u64(50..2_000));
            let lag = state.lags[copy].saturating_duration_since(now) + quick;
            let (store, image) = (self.clone(), image.clone());
            tokio::spawn(async move {
                sleep(lag).await;
                store.arrive_at_copy(from, copy, generation, image);
            });
        }
    }

    fn arrive_at_copy(&self, from: usize, copy: usize, generation: u64, image: Image) {
        let mut state = self.lock();
        // A copy that follows another server by now, or hears nothing for a while, does not get it; what
        // comes next brings it along.
        let deaf = state.lags[copy] > Instant::now() || state.servers[copy].lingers;
        let known = state.servers[from].copied[copy];
        if *self.generations.borrow() != generation || deaf || known >= image.version {
            return;
        }
        state.servers[from].copied[copy] = image.version;
        let server = &mut state.servers[copy];
        server.memory.restore(&image.kept);
        server.version = image.version;
        server.chain = image.chain;
        let (read, last) = (server.read_only, server.chain.last().copied());
        drop(state);
        if read {
            self.observer.observe(Event::HeadChanged { server: copy, last, replaced: true });
        }
        self.progress.send_modify(|times| *times += 1);
    }

    pub(super) fn sync_file(&self, server: usize, version: u64) {
        if self.settings.durability != Durability::Fsync {
            return;
        }
        let (image, pause) = {
            let mut state = self.lock();
            let slow = state.no_confirms.saturating_duration_since(Instant::now());
            let quick = Duration::from_micros(state.random.u64(200..6_000));
            (Self::image(&state.servers[server]), slow + quick)
        };
        let (store, generation) = (self.clone(), *self.generations.borrow());
        tokio::spawn(async move {
            sleep(pause).await;
            let mut state = store.lock();
            let server = &mut state.servers[server];
            if *store.generations.borrow() != generation || server.synced >= version {
                return;
            }
            server.synced = version;
            server.files = vec![(Instant::now(), image)];
            drop(state);
            store.progress.send_modify(|times| *times += 1);
        });
    }

    /// Writes the primary's file from time to time, as a store does that promises nothing of it.
    pub(super) async fn write_files(self) {
        loop {
            sleep(FILE_EVERY).await;
            if self.settings.durability == Durability::Fsync {
                return;
            }
            let mut state = self.lock();
            let primary = state.primary;
            let server = &mut state.servers[primary];
            let image = Self::image(server);
            server.files.push((Instant::now(), image));
            // Nobody goes back further than this.
            let old = server.files.len().saturating_sub(40);
            server.files.drain(..old);
        }
    }

    /// Waits until what a server did is as durable as promised; `false` if that is no longer known.
    ///
    /// The mistake to be made is to take what a new connection says (`fresh`) for an answer.
    pub(crate) async fn wait_until_durable(
        &self,
        connection: Connection,
        version: u64,
        fresh: bool,
    ) -> bool {
        let mut progress = self.progress.subscribe();
        loop {
            {
                let state = self.lock();
                let server = &state.servers[connection.server];
                if *self.generations.borrow() != connection.generation {
                    return fresh;
                }
                let confirmed = match self.settings.durability {
                    Durability::Memory => true,
                    Durability::Copies { wanted, .. } => {
                        let has = |copied: &&u64| **copied >= version;
                        let quiet = state.no_confirms > Instant::now();
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

    /// Has a copy hear nothing for a while.
    pub fn lag(&self, copy: usize, time: Duration) {
        let mut state = self.lock();
        let primary = state.primary;
        let copy = (0..state.servers.len()).filter(|server| *server != primary).nth(copy);
        if let Some(copy) = copy {
            state.lags[copy] = Instant::now() + time;
        }
        drop(state);
        let store = self.clone();
        tokio::spawn(async move {
            sleep(time).await;
            // What it missed it gets at once.
            let primary = store.lock().primary;
            store.send_to_copies(primary);
        });
    }

    /// Has nothing be confirmed by copies, and files be written late, for a while.
    pub fn without_confirms(&self, time: Duration) {
        self.lock().no_confirms = Instant::now() + time;
    }
}
