//! The store goes on from another server, from an older file, or from nothing.

use super::Store;
use crate::history::{Cause, Headed, Stored};
use firstcome_core::SpaceId;
use firstcome_journal::memory::Memory;
use firstcome_journal::{Clock, Failure, Journal};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, sleep};

impl Store {
    /// Has a copy take the primary's place, with what it has.
    pub(crate) fn promote(&self, copy: usize, lingers: Option<Duration>) {
        let mut inside = self.lock();
        let old = inside.primary;
        // Copies are counted beside the primary.
        let new = (0..inside.servers.len()).filter(|server| *server != old).nth(copy);
        let Some(new) = new.filter(|new| inside.servers[*new].version > 0) else { return };
        inside.primary = new;
        inside.servers[new].up = true;
        inside.servers[new].read_only = false;
        // Who was connected to it as it was before has to come again.
        inside.servers[new].since = *self.turns.borrow() + 1;
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
        self.record.turned(moment, new);
        self.record.headed(Headed { moment, server: new, last: to, replaced: true });
        if from != to {
            self.record.lost(moment, Cause::Promotion, from, to);
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
            store.follows(old, lingers.is_some());
        });
    }

    /// Has a primary that was replaced follow the one that took its place: what it took since is gone.
    ///
    /// One that was told to keeps the connections it has: who reads there has the other's entries from now on,
    /// and who writes is turned away. Not if the other has an entry of its own under a name and a time apart: who only
    /// reads would take it for the one it knows until the digests are compared.
    fn follows(&self, old: usize, told: bool) {
        let told = told && !self.has_twins(old);
        let (primary, from, to) = {
            let mut inside = self.lock();
            let primary = inside.primary;
            let last = |server: usize| inside.servers[server].chain.last().copied();
            let (from, to) = (last(old), last(primary));
            inside.servers[old].lingers = false;
            if primary != old {
                let image = Self::image(&inside.servers[primary]);
                let server = &mut inside.servers[old];
                server.up = told;
                server.read_only = told;
                server.memory.restore(&image.kept);
                server.version = image.version;
                server.chain = image.chain;
            }
            (primary, from, to)
        };
        if primary != old {
            let moment = self.trace.now();
            self.record.lost(moment, Cause::Promotion, from, to);
            self.record.headed(Headed { moment, server: old, last: to, replaced: true });
            if told {
                self.record.demoted(moment);
            }
        }
        self.send_to_copies(primary);
    }

    /// Says whether the primary has, under the same name, an entry of this server that is not the same.
    fn has_twins(&self, old: usize) -> bool {
        let (ours, theirs) = {
            let inside = self.lock();
            let chain = |server: usize| Arc::clone(&inside.servers[server].chain);
            (chain(old), chain(inside.primary))
        };
        self.record.with(|history| {
            let name = |index: &usize| {
                let Stored { entry, name, .. } = &history.stored[*index];
                (entry.position, name.node, name.number)
            };
            let theirs: BTreeMap<_, _> = theirs.iter().map(|index| (name(index), *index)).collect();
            ours.iter().any(|index| theirs.get(&name(index)).is_some_and(|other| other != index))
        })
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

    pub(super) fn starts(&self, server: usize, age: Duration, empty: bool) {
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
        self.record.turned(moment, server);
        self.record.headed(Headed { moment, server, last: to, replaced: true });
        if from != to {
            self.record.lost(moment, Cause::OlderFile, from, to);
        }
        self.turns.send_modify(|turn| *turn += 1);
        self.send_to_copies(server);
    }
}
