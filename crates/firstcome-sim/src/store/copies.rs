//! From the primary to its copies and into its file: late, whole and in order; and when that counts as durable.

use super::{Connection, FILE_EVERY, Image, Server, Store};
use crate::history::{Durability, Headed};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

impl Store {
    pub(super) fn image(server: &Server) -> Image {
        let chain = Arc::clone(&server.chain);
        Image { kept: server.memory.kept(), version: server.version, chain }
    }

    pub(super) fn send_to_copies(&self, from: usize) {
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
        let (read, last) = (server.read_only, server.chain.last().copied());
        drop(inside);
        if read {
            self.record.headed(Headed {
                moment: self.trace.now(),
                server: copy,
                last,
                replaced: true,
            });
        }
        self.progress.send_modify(|times| *times += 1);
    }

    pub(super) fn sync_file(&self, server: usize, version: u64) {
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
    pub(super) async fn write_files(self) {
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

    pub(crate) fn without_confirms(&self, time: Duration) {
        self.lock().no_confirms = Instant::now() + time;
    }
}
