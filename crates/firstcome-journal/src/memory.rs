//! The journal in memory, for tests and for what need not outlive the process.

mod shared;
mod snapshots;

use crate::shared::Announcement;
use crate::{Append, Clock, Confirm, Entry, Exchange, Failure, Head, Name};
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::PieceName;
use firstcome_core::names::SpaceId;
use firstcome_core::{LEVEL, NodeId, Timestamp};
use firstcome_inject::{Mistake, inject};
use snapshots::{Manifest, Piece};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{oneshot, watch};

/// Who waits to hear that an entry is durable; `None` where every entry is at once.
type Unconfirmed = Arc<Mutex<Option<Vec<oneshot::Sender<()>>>>>;

/// A journal in memory.
#[derive(Clone, Debug)]
pub struct Memory {
    inside: Arc<Mutex<Inside>>,
    head: watch::Sender<u64>,
    /// Changes whenever it lost something.
    incarnation: watch::Sender<u64>,
    clock: Clock,
    unconfirmed: Unconfirmed,
    /// Whether several nodes use it.
    pub(crate) several: bool,
}

/// All that a journal in memory had at one moment: what a copy of it, or an older file, goes on with.
#[derive(Clone, Debug)]
pub struct Kept(Inside);

#[derive(Clone, Debug)]
struct Inside {
    space: SpaceId,
    shard: u32,
    epoch: u32,
    /// What stands before the first entry kept: position, name and time of the one before it.
    base: (u64, Name, Option<Timestamp>),
    /// Shared with what was kept of it, until the next one comes.
    entries: Arc<Vec<(Entry, Name)>>,
    /// Whether it lost everything, its space's identity included.
    gone: bool,
    /// Whether there is no room for more entries.
    full: bool,
    nodes: BTreeMap<NodeId, (Announcement, Timestamp)>,
    reports: BTreeMap<(u32, NodeId), String>,
    term: u64,
    pieces: Arc<BTreeMap<PieceName, Piece>>,
    /// The two that are furthest on, the newest first.
    manifests: Vec<Manifest>,
}

impl Memory {
    /// Makes an empty journal for one node.
    pub fn new(space: SpaceId, shard: u32, clock: Clock) -> Self {
        Self {
            inside: Arc::new(Mutex::new(Inside::new(space, shard))),
            head: watch::Sender::new(0),
            incarnation: watch::Sender::new(0),
            clock,
            unconfirmed: Arc::default(),
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

    /// Gives all it has now.
    pub fn kept(&self) -> Kept {
        self.with(|inside| Kept(inside.clone()))
    }

    /// Goes on with what was kept, of it or of another one, as a store does that fails over to a copy
    /// or restarts from an older file.
    pub fn restore(&self, kept: &Kept) {
        self.with(|inside| {
            *inside = kept.0.clone();
            self.head.send_replace(inside.position());
        });
        self.incarnation.send_modify(|times| *times += 1);
    }

    /// Says whether there is room for entries; snapshots are still taken where there is none.
    pub fn set_full(&self, full: bool) {
        self.with(|inside| inside.full = full);
    }

    /// Confirms entries from now on only when [`Memory::confirm`] says so.
    pub fn confirm_later(&self) {
        *self.unconfirmed() = Some(Vec::new());
    }

    /// Confirms every entry appended so far.
    pub fn confirm(&self) {
        for waiting in self.unconfirmed().iter_mut().flat_map(|waiting| waiting.drain(..)) {
            // Somebody who does not listen any more does not need to know.
            let _gone = waiting.send(());
        }
    }

    /// Makes it unknowable whether the entries appended so far are durable, as a lost connection does.
    pub fn lose_confirmations(&self) {
        if let Some(waiting) = &mut *self.unconfirmed() {
            waiting.clear();
        }
    }

    fn unconfirmed(&self) -> std::sync::MutexGuard<'_, Option<Vec<oneshot::Sender<()>>>> {
        self.unconfirmed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inside) -> T) -> T {
        work(&mut self.inside.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) async fn append(&self, append: Append) -> Result<Exchange, Failure> {
        let entries = self.with(|inside| {
            let applied = append.applied;
            inside.check_append(&append, !inject(Mistake::AppendAnywhere))?;
            inside.push(append.name, append.body, self.clock.now());
            if inject(Mistake::StoreTimeGoesBack) {
                inside.set_back(self.clock.now());
            }
            self.head.send_replace(inside.position());
            inside.read(applied)
        })?;
        let confirm = match &mut *self.unconfirmed() {
            None => Confirm::AtOnce,
            Some(unconfirmed) => {
                let (sender, receiver) = oneshot::channel();
                unconfirmed.push(sender);
                Confirm::Later(receiver)
            }
        };
        Ok(Exchange { entries, confirm })
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
}

impl Inside {
    fn new(space: SpaceId, shard: u32) -> Self {
        Self {
            space,
            shard,
            epoch: 0,
            base: (0, Name::default(), None),
            entries: Arc::default(),
            gone: false,
            full: false,
            nodes: BTreeMap::new(),
            reports: BTreeMap::new(),
            term: 0,
            pieces: Arc::default(),
            manifests: Vec::new(),
        }
    }

    fn check_there(&self) -> Result<(), Failure> {
        if self.gone { Err(Failure::Gone(self.space)) } else { Ok(()) }
    }

    /// Refuses an append of somebody who applied something else than what is stored.
    fn check_append(&self, append: &Append, names: bool) -> Result<(), Failure> {
        self.check_there()?;
        let (head, applied, applied_name) = (self.position(), append.applied, append.applied_name);
        if applied > head {
            return Err(Failure::Behind { head, applied });
        }
        let Some(found) = self.name_at(applied) else {
            return Err(Failure::Trimmed { wanted: applied + 1, first: self.base.0 + 1 });
        };
        if names && found != applied_name {
            return Err(Failure::Forked { position: applied, found, applied: applied_name });
        }
        if self.full {
            return Err(Failure::Full("there is no room for entries".into()));
        }
        Ok(())
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
        Arc::make_mut(&mut self.entries).push((entry, name));
    }

    /// Forgets all entries beyond a position.
    fn keep(&mut self, position: u64) {
        let keep = position.saturating_sub(self.base.0);
        Arc::make_mut(&mut self.entries).truncate(usize::try_from(keep).unwrap_or(usize::MAX));
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

    /// Gives the last entry another time: see [`Mistake::StoreTimeGoesBack`].
    fn set_back(&mut self, now: Timestamp) {
        if let Some((last, _)) = Arc::make_mut(&mut self.entries).last_mut() {
            last.at = now;
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
