//! Failover: the store goes on from another server, from an older file, or from nothing.

use super::Store;
use crate::events::{Cause, Event};
use firstcome_journal::{Clock, Journal, JournalError};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, sleep};

impl Store {
    /// Promotes a copy to primary, with what it has.
    pub fn promote(&self, copy: usize, lingers: Option<Duration>) {
        let mut state = self.lock();
        let old = state.primary;
        // Copies are counted beside the primary.
        let new = (0..state.servers.len()).filter(|server| *server != old).nth(copy);
        let Some(new) = new.filter(|new| state.servers[*new].version > 0) else { return };
        state.primary = new;
        state.servers[new].up = true;
        state.servers[new].read_only = false;
        // Who was connected to it as it was before has to come again.
        state.servers[new].since = *self.generations.borrow() + 1;
        state.servers[new].copied.fill(0);
        state.servers[old].up = lingers.is_some();
        state.servers[old].lingers = true;
        state.servers[new].memory.set_full(false);
        let last = |server: usize| state.servers[server].chain.last().copied();
        let (from, to) = (last(old), last(new));
        let clock = |server: usize| state.servers[server].offset.load(Ordering::Relaxed);
        let step = clock(new) - clock(old);
        let version = state.servers[new].version;
        state.servers[new].synced = version;
        let image = Self::image(&state.servers[new]);
        state.servers[new].files = vec![(Instant::now(), image)];
        drop(state);
        // Another server has another clock.
        self.observer.observe(Event::ClockStepped { by: step });
        self.observer.observe(Event::FailedOver { server: new });
        self.observer.observe(Event::HeadChanged { server: new, last: to, replaced: true });
        if from != to {
            self.observer.observe(Event::Lost { cause: Cause::Promotion, from, to });
        }
        self.generations.send_modify(|generation| *generation += 1);
        // The others copy from it from now on.
        self.send_to_copies(new);
        let store = self.clone();
        tokio::spawn(async move {
            if let Some(time) = lingers {
                sleep(time).await;
            }
            // Told to follow the new one, it takes no more entries.
            store.follow_primary(old, lingers.is_some());
        });
    }

    /// Makes a replaced primary follow the new one: what it took since is gone.
    ///
    /// One that was demoted keeps the connections it has: a node that reads there has the other's entries from now on,
    /// and who writes is turned away.
    fn follow_primary(&self, old: usize, demoted: bool) {
        let (primary, from, to) = {
            let mut state = self.lock();
            let primary = state.primary;
            let last = |server: usize| state.servers[server].chain.last().copied();
            let (from, to) = (last(old), last(primary));
            state.servers[old].lingers = false;
            if primary != old {
                let image = Self::image(&state.servers[primary]);
                let server = &mut state.servers[old];
                server.up = demoted;
                server.read_only = demoted;
                server.memory.restore(&image.kept);
                server.version = image.version;
                server.chain = image.chain;
            }
            (primary, from, to)
        };
        if primary != old {
            self.observer.observe(Event::Lost { cause: Cause::Promotion, from, to });
            self.observer.observe(Event::HeadChanged { server: old, last: to, replaced: true });
            if demoted {
                self.observer.observe(Event::Demoted);
            }
        }
        self.send_to_copies(primary);
    }

    /// Says whether the primary has nothing of the space any more.
    pub async fn is_gone(&self) -> bool {
        let (_, memory) = self.chain();
        matches!(Journal::Memory(memory).head().await, Err(JournalError::Gone(_)))
    }

    /// Restarts the primary with nothing, as an operator does after everything was lost.
    pub fn restart_empty(&self) {
        {
            let mut state = self.lock();
            let fresh = super::empty(Clock::of(|| 0), self.settings.log).kept();
            let primary = state.primary;
            let it = &mut state.servers[primary];
            it.memory.restore(&fresh);
            it.chain = Arc::default();
            it.version += 1;
            it.since = *self.generations.borrow() + 1;
        }
        self.generations.send_modify(|generation| *generation += 1);
    }

    /// Starts the primary again after a while, with what its file had at least `age` ago.
    pub fn restart(&self, down: Duration, age: Duration, empty: bool) {
        let primary = {
            let mut state = self.lock();
            let primary = state.primary;
            state.servers[primary].up = false;
            primary
        };
        let store = self.clone();
        tokio::spawn(async move {
            sleep(down).await;
            store.start_primary(primary, age, empty);
        });
    }

    pub(super) fn start_primary(&self, server: usize, age: Duration, empty: bool) {
        let mut state = self.lock();
        if state.primary != server || state.servers[server].up {
            return;
        }
        let now = Instant::now();
        let it = &mut state.servers[server];
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
        it.since = *self.generations.borrow() + 1;
        let to = it.chain.last().copied();
        let image = Self::image(it);
        it.synced = it.version;
        it.files = vec![(now, image)];
        drop(state);
        self.observer.observe(Event::FailedOver { server });
        self.observer.observe(Event::HeadChanged { server, last: to, replaced: true });
        if from != to {
            self.observer.observe(Event::Lost { cause: Cause::OlderFile, from, to });
        }
        self.generations.send_modify(|generation| *generation += 1);
        self.send_to_copies(server);
    }
}
