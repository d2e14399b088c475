//! The journal in memory, for tests and for what need not outlive the process.

use crate::{Append, Clock, Entry, Exchange, Failure, Head, Name};
use firstcome_core::LEVEL;
use firstcome_core::Timestamp;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::SpaceId;
use firstcome_core::snapshot::PieceName;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// A journal in memory.
#[derive(Clone, Debug)]
pub struct Memory {
    shared: Arc<Mutex<Inside>>,
    head: watch::Sender<u64>,
    clock: Clock,
}

#[derive(Debug)]
struct Inside {
    space: SpaceId,
    shard: u32,
    epoch: u32,
    entries: Vec<(Entry, Name)>,
    term: u64,
    pieces: BTreeMap<PieceName, Vec<u8>>,
    newest: Option<(u64, Vec<u8>)>,
}

impl Memory {
    /// Makes an empty journal.
    pub fn new(space: SpaceId, shard: u32, clock: Clock) -> Self {
        let inside = Inside {
            space,
            shard,
            epoch: 0,
            entries: Vec::new(),
            term: 0,
            pieces: BTreeMap::new(),
            newest: None,
        };
        Self { shared: Arc::new(Mutex::new(inside)), head: watch::Sender::new(0), clock }
    }

    /// Forgets all entries beyond a position, as a store does that fails over to a copy which lags.
    pub fn lose_tail(&self, keep: u64) {
        self.with(|inside| {
            inside.entries.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
            self.head.send_replace(inside.position());
        });
    }

    /// Puts other entries in the place of all beyond a position, as a store does whose copy was
    /// written to while it was cut off.
    pub fn fork(&self, keep: u64, others: impl IntoIterator<Item = (Name, Vec<u8>)>) {
        self.with(|inside| {
            inside.entries.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
            let now = self.clock.now();
            for (name, body) in others {
                inside.push(name, body.into(), now);
            }
            self.head.send_replace(inside.position());
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inside) -> T) -> T {
        work(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) async fn append(&self, append: Append) -> Result<Exchange, Failure> {
        self.with(|inside| {
            let exchange = inside.append(append, &self.clock)?;
            self.head.send_replace(inside.position());
            Ok(exchange)
        })
    }

    pub(crate) async fn read(&self, after: u64) -> Result<Vec<Entry>, Failure> {
        Ok(self.with(|inside| inside.read(after)))
    }

    pub(crate) async fn wait(&self, after: u64, timeout: Duration) -> Result<(), Failure> {
        let mut head = self.head.subscribe();
        // Running out of time is an answer here, and the sender lives as long as this journal.
        drop(tokio::time::timeout(timeout, head.wait_for(|head| *head > after)).await);
        Ok(())
    }

    pub(crate) async fn head(&self) -> Result<Head, Failure> {
        let now = self.clock.now();
        Ok(self.with(|inside| inside.head(now)))
    }

    pub(crate) async fn mint_term(&self) -> Result<u64, Failure> {
        Ok(self.with(|inside| {
            inside.term += 1;
            inside.term
        }))
    }

    pub(crate) async fn put_piece(&self, name: PieceName, bytes: Vec<u8>) -> Result<(), Failure> {
        self.with(|inside| {
            inside.pieces.entry(name).or_insert(bytes);
        });
        Ok(())
    }

    pub(crate) async fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.with(|inside| inside.pieces.get(&name).cloned()))
    }

    pub(crate) async fn install(
        &self,
        position: u64,
        manifest: Vec<u8>,
        pieces: Vec<PieceName>,
        term: u64,
    ) -> Result<(), Failure> {
        self.with(|inside| {
            inside.check_term(term)?;
            let head = inside.position();
            if position > head {
                return Err(Failure::Behind { head, applied: position });
            }
            if let Some(missing) = pieces.iter().find(|name| !inside.pieces.contains_key(name)) {
                return Err(Failure::PieceMissing(*missing));
            }
            if inside.newest.as_ref().is_none_or(|(newest, _)| *newest <= position) {
                inside.newest = Some((position, manifest));
            }
            Ok(())
        })
    }

    pub(crate) async fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.with(|inside| inside.newest.as_ref().map(|(_, manifest)| manifest.clone())))
    }

    /// Keeps everything: what is in memory ends with the process.
    pub(crate) async fn trim(&self, term: u64) -> Result<u64, Failure> {
        self.with(|inside| inside.check_term(term))?;
        Ok(1)
    }
}

impl Inside {
    fn append(&mut self, append: Append, clock: &Clock) -> Result<Exchange, Failure> {
        let Append { body, name, applied, applied_name } = append;
        let head = self.position();
        if applied > head {
            return Err(Failure::Behind { head, applied });
        }
        let found = self.name_at(applied);
        if found != applied_name {
            return Err(Failure::Forked { position: applied, found, applied: applied_name });
        }
        self.push(name, body, clock.now());
        Ok(Exchange { entries: self.read(applied) })
    }

    fn push(&mut self, name: Name, body: Arc<[u8]>, now: Timestamp) {
        let head = self.head(now);
        let entry = Entry {
            position: head.position + 1,
            at: head.at.max(now),
            epoch: head.epoch,
            before: head.name,
            body,
        };
        self.entries.push((entry, name));
    }

    fn read(&self, after: u64) -> Vec<Entry> {
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        let entries = self.entries.iter().skip(after).take(READ_ENTRIES);
        entries.map(|(entry, _)| entry.clone()).collect()
    }

    fn position(&self) -> u64 {
        self.entries.len() as u64
    }

    fn name_at(&self, position: u64) -> Name {
        let entry = position.checked_sub(1).and_then(|i| self.entries.get(i as usize));
        entry.map_or(Name::default(), |(_, name)| *name)
    }

    fn head(&self, now: Timestamp) -> Head {
        let position = self.position();
        Head {
            space: self.space,
            shard: self.shard,
            level: LEVEL,
            position,
            name: self.name_at(position),
            at: self.entries.last().map_or(now, |(last, _)| last.at),
            epoch: self.epoch,
            first: 1,
            now,
        }
    }

    fn check_term(&self, ours: u64) -> Result<(), Failure> {
        if ours < self.term {
            return Err(Failure::OldTerm { ours, theirs: self.term });
        }
        Ok(())
    }
}
