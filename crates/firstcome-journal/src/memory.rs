//! The journal in memory, for tests and for what need not outlive the process.

mod shared;

use crate::shared::Announcement;
use crate::{Append, Clock, Confirm, Entry, Exchange, Failure, Head, Name, Tip};
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::SpaceId;
use firstcome_core::snapshot::PieceName;
use firstcome_core::{LEVEL, NodeId, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{oneshot, watch};

/// A journal in memory.
#[derive(Clone, Debug)]
pub struct Memory {
    inside: Arc<Mutex<Inside>>,
    head: watch::Sender<u64>,
    /// Changes whenever it lost something.
    incarnation: watch::Sender<u64>,
    clock: Clock,
    /// Whether several nodes use it.
    pub(crate) several: bool,
}

#[derive(Debug)]
struct Inside {
    space: SpaceId,
    shard: u32,
    epoch: u32,
    /// What stands before the first entry kept: position, name and time of the one before it.
    base: (u64, Name, Option<Timestamp>),
    entries: Vec<(Entry, Name)>,
    /// Whether it lost everything, its space's identity included.
    gone: bool,
    /// Who waits to hear that an entry is durable; `None` where every entry is at once.
    unconfirmed: Option<Vec<oneshot::Sender<()>>>,
    nodes: BTreeMap<NodeId, (Announcement, Timestamp)>,
    reports: BTreeMap<(u32, NodeId), String>,
    term: u64,
    pieces: BTreeMap<PieceName, Vec<u8>>,
    newest: Option<(u64, Vec<u8>)>,
}

impl Memory {
    /// Makes an empty journal for one node.
    pub fn new(space: SpaceId, shard: u32, clock: Clock) -> Self {
        Self {
            inside: Arc::new(Mutex::new(Inside::new(space, shard))),
            head: watch::Sender::new(0),
            incarnation: watch::Sender::new(0),
            clock,
            several: false,
        }
    }

    /// Lets several nodes share it.
    #[must_use]
    pub fn for_several(self) -> Self {
        Self { several: true, ..self }
    }

    /// Forgets all entries beyond a position, as a store does that fails over to a copy which lags.
    pub fn lose_tail(&self, keep: u64) {
        self.with(|inside| {
            inside.keep(keep);
            self.head.send_replace(inside.position());
        });
        self.incarnation.send_modify(|times| *times += 1);
    }

    /// Puts other entries in the place of all beyond a position, as a store does whose copy was
    /// written to while it was cut off.
    pub fn fork(&self, keep: u64, others: impl IntoIterator<Item = (Name, Vec<u8>)>) {
        self.with(|inside| {
            inside.keep(keep);
            let now = self.clock.now();
            for (name, body) in others {
                inside.push(name, body.into(), now);
            }
            self.head.send_replace(inside.position());
        });
        self.incarnation.send_modify(|times| *times += 1);
    }

    /// Forgets everything, as a store does that was emptied.
    pub fn empty(&self) {
        self.with(|inside| {
            let (space, shard) = (inside.space, inside.shard);
            *inside = Inside { gone: true, ..Inside::new(space, shard) };
            self.head.send_replace(0);
        });
        self.incarnation.send_modify(|times| *times += 1);
    }

    /// Confirms entries from now on only when [`Memory::confirm`] says so.
    pub fn confirm_later(&self) {
        self.with(|inside| inside.unconfirmed = Some(Vec::new()));
    }

    /// Confirms every entry appended so far.
    pub fn confirm(&self) {
        self.with(|inside| {
            for waiting in inside.unconfirmed.iter_mut().flat_map(|waiting| waiting.drain(..)) {
                // Somebody who does not listen any more does not need to know.
                let _gone = waiting.send(());
            }
        });
    }

    /// Makes it unknowable whether the entries appended so far are durable, as a lost connection does.
    pub fn lose_confirmations(&self) {
        self.with(|inside| inside.unconfirmed.as_mut().map(Vec::clear));
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inside) -> T) -> T {
        work(&mut self.inside.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) async fn append(&self, append: Append) -> Result<Exchange, Failure> {
        self.with(|inside| {
            let exchange = inside.append(append, &self.clock)?;
            self.head.send_replace(inside.position());
            Ok(exchange)
        })
    }

    pub(crate) async fn read(&self, after: u64) -> Result<Vec<Entry>, Failure> {
        self.with(|inside| inside.read(after))
    }

    pub(crate) async fn head(&self) -> Result<Head, Failure> {
        let now = self.clock.now();
        self.with(|inside| {
            inside.check_there()?;
            Ok(inside.head(now))
        })
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
        tip: Tip,
        manifest: Vec<u8>,
        pieces: Vec<PieceName>,
        term: u64,
    ) -> Result<(), Failure> {
        self.with(|inside| {
            inside.check_term(term)?;
            let (head, position) = (inside.position(), tip.position);
            if position > head {
                return Err(Failure::Behind { head, applied: position });
            }
            let at = position.checked_sub(inside.base.0 + 1).and_then(|place| {
                inside.entries.get(usize::try_from(place).ok()?).map(|(entry, _)| entry.at)
            });
            let found = inside.name_at(position).unwrap_or_default();
            if found != tip.name || at.is_some_and(|at| at != tip.at) {
                return Err(Failure::Forked { position, found, applied: tip.name });
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
        self.with(|inside| inside.check_term(term).map(|()| inside.base.0 + 1))
    }
}

impl Inside {
    fn new(space: SpaceId, shard: u32) -> Self {
        Self {
            space,
            shard,
            epoch: 0,
            base: (0, Name::default(), None),
            entries: Vec::new(),
            gone: false,
            unconfirmed: None,
            nodes: BTreeMap::new(),
            reports: BTreeMap::new(),
            term: 0,
            pieces: BTreeMap::new(),
            newest: None,
        }
    }

    fn check_there(&self) -> Result<(), Failure> {
        if self.gone { Err(Failure::Gone(self.space)) } else { Ok(()) }
    }

    fn append(&mut self, append: Append, clock: &Clock) -> Result<Exchange, Failure> {
        self.check_there()?;
        let Append { body, name, applied, applied_name } = append;
        let head = self.position();
        if applied > head {
            return Err(Failure::Behind { head, applied });
        }
        let Some(found) = self.name_at(applied) else {
            return Err(Failure::Trimmed { wanted: applied + 1, first: self.base.0 + 1 });
        };
        if found != applied_name {
            return Err(Failure::Forked { position: applied, found, applied: applied_name });
        }
        self.push(name, body, clock.now());
        let confirm = match &mut self.unconfirmed {
            None => Confirm::AtOnce,
            Some(unconfirmed) => {
                let (sender, receiver) = oneshot::channel();
                unconfirmed.push(sender);
                Confirm::Later(receiver)
            }
        };
        Ok(Exchange { entries: self.read(applied)?, confirm })
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

    /// Forgets all entries beyond a position.
    fn keep(&mut self, position: u64) {
        let keep = position.saturating_sub(self.base.0);
        self.entries.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
    }

    fn read(&self, after: u64) -> Result<Vec<Entry>, Failure> {
        let Some(skip) = after.checked_sub(self.base.0) else {
            return Err(Failure::Trimmed { wanted: after + 1, first: self.base.0 + 1 });
        };
        let entries = self.entries.iter().skip(usize::try_from(skip).unwrap_or(usize::MAX));
        Ok(entries.take(READ_ENTRIES).map(|(entry, _)| entry.clone()).collect())
    }

    fn position(&self) -> u64 {
        self.base.0 + self.entries.len() as u64
    }

    fn name_at(&self, position: u64) -> Option<Name> {
        let at = usize::try_from(position.checked_sub(self.base.0)?).ok()?;
        match at.checked_sub(1) {
            None => Some(self.base.1),
            Some(at) => self.entries.get(at).map(|(_, name)| *name),
        }
    }

    fn head(&self, now: Timestamp) -> Head {
        let last = self.entries.last();
        Head {
            space: self.space,
            shard: self.shard,
            level: LEVEL,
            position: self.position(),
            name: last.map_or(self.base.1, |(_, name)| *name),
            at: last.map(|(last, _)| last.at).or(self.base.2).unwrap_or(now),
            epoch: self.epoch,
            first: self.base.0 + 1,
            now,
        }
    }

    fn check_term(&self, ours: u64) -> Result<(), Failure> {
        self.check_there()?;
        if ours < self.term {
            return Err(Failure::OldTerm { ours, theirs: self.term });
        }
        Ok(())
    }
}
