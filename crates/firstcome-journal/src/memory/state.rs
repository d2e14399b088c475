//! The state of a journal in memory, and the steps that change it.

use super::log::Log;
use crate::entry::{Append, EntriesRead, Entry, Head};
use crate::error::JournalError;
use crate::name::Name;
use crate::snapshots::manifest::Manifest;
use crate::transaction::cell::Kind;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::{PieceName, SpaceId};
use firstcome_core::{LEVEL, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::time::Instant;

/// A piece of a snapshot.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    /// Since when no kept manifest names it; `None` while one does.
    pub(super) idle: Option<Timestamp>,
}

/// All that a journal in memory has.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) space: SpaceId,
    pub(super) epoch: u32,
    pub(super) level: u32,
    /// What stands before the first entry kept: position, name and time of the one before it.
    pub(super) base: (u64, Name, Option<Timestamp>),
    /// Shared with what was kept of it, until the next one comes.
    pub(super) entries: Arc<Vec<(Entry, Name)>>,
    /// The messages of which those are the ones that count, where it takes each append without a condition.
    pub(super) log: Option<Log>,
    /// Whether it lost everything, its space's identity included.
    pub(super) gone: bool,
    /// What it is marked with then.
    pub(super) mark: Option<Vec<u8>>,
    /// Whether there is no room for more entries.
    pub(super) full: bool,
    pub(super) cells: BTreeMap<(Kind, Vec<u8>), Arc<[u8]>>,
    pub(super) term: u64,
    pub(super) pieces: Arc<BTreeMap<PieceName, Piece>>,
    /// The two that are furthest on, the newest first.
    pub(super) manifests: Vec<Manifest>,
}

impl State {
    pub(super) fn new(space: SpaceId) -> Self {
        Self {
            space,
            epoch: 0,
            level: LEVEL,
            base: (0, Name::default(), None),
            entries: Arc::default(),
            log: None,
            gone: false,
            mark: None,
            full: false,
            cells: BTreeMap::new(),
            term: 0,
            pieces: Arc::default(),
            manifests: Vec::new(),
        }
    }

    pub(super) fn check_there(&self) -> Result<(), JournalError> {
        if self.gone { Err(JournalError::Gone(self.space)) } else { Ok(()) }
    }

    /// Refuses an append of somebody who applied something else than what is stored.
    pub(super) fn check_append(&self, append: &Append, names: bool) -> Result<(), JournalError> {
        self.check_there()?;
        let (head, applied, applied_name) = (self.position(), append.applied, append.applied_name);
        if applied > head {
            return Err(JournalError::Behind { head, applied });
        }
        let Some(found) = self.name_at(applied) else {
            return Err(JournalError::Trimmed { wanted: applied + 1, first: self.base.0 + 1 });
        };
        if names && found != applied_name {
            return Err(JournalError::Forked { position: applied, found, applied: applied_name });
        }
        self.check_room()
    }

    /// Refuses an append where there is nothing of the space, or no room.
    pub(super) fn check_room(&self) -> Result<(), JournalError> {
        self.check_there()?;
        if self.full {
            return Err(JournalError::Full("there is no room for entries".into()));
        }
        Ok(())
    }

    pub(super) fn push(&mut self, name: Name, body: Arc<[u8]>, now: Timestamp) {
        if self.log.is_some() {
            return self.push_at_end(name, &body, now);
        }
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
    pub(super) fn keep(&mut self, position: u64) {
        let keep = position.saturating_sub(self.base.0);
        Arc::make_mut(&mut self.entries).truncate(usize::try_from(keep).unwrap_or(usize::MAX));
        self.cut_log();
    }

    pub(super) fn read(&self, after: u64, asked: Instant) -> Result<EntriesRead, JournalError> {
        let Some(skip) = after.checked_sub(self.base.0) else {
            return Err(JournalError::Trimmed { wanted: after + 1, first: self.base.0 + 1 });
        };
        let entries = self.entries.iter().skip(usize::try_from(skip).unwrap_or(usize::MAX));
        let entries = entries.take(READ_ENTRIES).map(|(entry, _)| entry.clone()).collect();
        Ok(EntriesRead::of(after, entries, self.position(), asked))
    }

    pub(super) fn position(&self) -> u64 {
        self.base.0 + self.entries.len() as u64
    }

    pub(super) fn name_at(&self, position: u64) -> Option<Name> {
        let at = usize::try_from(position.checked_sub(self.base.0)?).ok()?;
        match at.checked_sub(1) {
            None => Some(self.base.1),
            Some(at) => self.entries.get(at).map(|(_, name)| *name),
        }
    }

    pub(super) fn head(&self, now: Timestamp) -> Head {
        let last = self.entries.last();
        Head {
            space: self.space,
            level: self.level,
            position: self.position(),
            name: last.map_or(self.base.1, |(_, name)| *name),
            at: last.map(|(last, _)| last.at).or(self.base.2).unwrap_or(now),
            epoch: self.log.as_ref().map_or(0, Log::epoch).max(self.epoch),
            first: self.base.0 + 1,
            skips: self.cells.keys().filter(|(kind, _)| *kind == Kind::Skip).count() as u32,
            now,
        }
    }

    /// Returns the last entry another time: see `Mistake::StoreTimeGoesBack`.
    pub(super) fn set_back(&mut self, now: Timestamp) {
        if let Some((last, _)) = Arc::make_mut(&mut self.entries).last_mut() {
            last.at = now;
        }
    }
}
