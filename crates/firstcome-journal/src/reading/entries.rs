//! Iterates over entries in order: from the archive, then from the store.

use crate::archive::Frames;
use crate::entry::{Chain, Entry, EntryRun, Sealer};
use crate::error::JournalError;
use crate::name::Name;
use crate::space_file::SpaceFile;
use crate::sqlite;
use std::collections::VecDeque;
use std::path::PathBuf;

use crate::database;
use crate::redis;

/// How often the store and the archive are looked into for one entry: a trim may move it meanwhile.
const LOOKS: u32 = 4;

/// The store of a journal that is read.
#[derive(Clone, Copy, Debug)]
enum Store<'a> {
    Sqlite(&'a sqlite::ReadOnly),
    File(&'a SpaceFile),
    Redis(&'a redis::ReadOnly),
    Database(&'a database::ReadOnly),
}

macro_rules! each {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            Self::Sqlite($store) => $call,
            Self::File($store) => $call,
            Self::Redis($store) => $call,
            Self::Database($store) => $call,
        }
    };
}

impl<'a> Store<'a> {
    fn sealer(self) -> Sealer {
        each!(self, store => store.sealer())
    }

    fn archives(self) -> &'a [PathBuf] {
        each!(self, store => store.archives())
    }

    fn stored(self, next: u64) -> Result<EntryRun, JournalError> {
        each!(self, store => store.stored(next))
    }

    fn first(self) -> Result<u64, JournalError> {
        each!(self, store => store.first())
    }

    fn last_position(self) -> Result<u64, JournalError> {
        each!(self, store => store.last_position())
    }
}

/// Entries in order, out of the archive and then out of the store.
#[derive(Debug)]
pub struct Entries<'a> {
    store: Store<'a>,
    next: u64,
    chain: Chain,
    /// Files of the archive that may hold the next entry.
    frames: VecDeque<Frames>,
    read: EntryRun,
    ended: bool,
}

impl<'a> Entries<'a> {
    fn new(store: Store<'a>, from: u64) -> Self {
        Self {
            store,
            next: from.max(1),
            chain: Chain::default(),
            frames: VecDeque::new(),
            read: EntryRun::default(),
            ended: false,
        }
    }

    /// Finds the next entry, wherever it is by now.
    fn find(&mut self) -> Result<Option<(Entry, Name)>, JournalError> {
        let mut damaged = None;
        for _ in 0..LOOKS {
            match self.out_of_the_archive() {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                // A trim that was cut short leaves a torn end there, and the entry in the store.
                Err(failure @ JournalError::Damaged { .. }) => {
                    self.frames.pop_front();
                    damaged = Some(failure);
                }
                Err(other) => return Err(other),
            }
            if let Some(found) = self.out_of_the_store()? {
                return Ok(Some(found));
            }
            if self.next > self.store.last_position()? {
                return Ok(None);
            }
            if !self.frames.is_empty() {
                continue;
            }
            if let Some(failure) = damaged.take() {
                return Err(failure);
            }
            for folder in self.store.archives() {
                self.frames.extend(Frames::holding(folder, self.next, self.store.sealer())?);
            }
        }
        let first = self.store.first()?;
        if self.next < first {
            return Err(JournalError::Trimmed { wanted: self.next, first });
        }
        let why = "it is neither in the journal nor in the archive".into();
        Err(JournalError::Damaged { position: self.next, why })
    }

    fn out_of_the_archive(&mut self) -> Result<Option<(Entry, Name)>, JournalError> {
        while let Some(frames) = self.frames.front_mut() {
            match frames.next_entry()? {
                Some(found) if found.0.position == self.next => return Ok(Some(found)),
                Some((later, _)) if later.position > self.next => {
                    self.frames.pop_front();
                }
                Some(_) => {}
                None => {
                    self.frames.pop_front();
                }
            }
        }
        Ok(None)
    }

    fn out_of_the_store(&mut self) -> Result<Option<(Entry, Name)>, JournalError> {
        if self.read.good.is_empty() && self.read.bad.is_none() {
            self.read = self.store.stored(self.next)?;
        }
        match self.read.good.pop_front() {
            Some(found) => Ok(Some(found)),
            None => self.read.bad.take().map_or(Ok(None), Err),
        }
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<(Entry, Name), JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.find().and_then(|found| match found {
            Some((entry, name)) => self.chain.follow(&entry, name).map(|()| Some((entry, name))),
            None => Ok(None),
        });
        self.next += 1;
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

impl sqlite::ReadOnly {
    /// Returns the entries from a position on, those in the archive first, each checked.
    ///
    /// It ends at the head of the moment it gets there, or after the first failure.
    pub fn entries(&self, from: u64) -> Entries<'_> {
        Entries::new(Store::Sqlite(self), from)
    }
}

impl SpaceFile {
    /// Returns the entries from a position on.
    pub fn entries(&self, from: u64) -> Entries<'_> {
        Entries::new(Store::File(self), from)
    }
}

impl redis::ReadOnly {
    /// Returns the entries from a position on, those in the archives first, each checked.
    ///
    /// It ends at the head of the moment it gets there, or after the first failure.
    pub fn entries(&self, from: u64) -> Entries<'_> {
        Entries::new(Store::Redis(self), from)
    }
}

impl database::ReadOnly {
    /// Returns the entries from a position on, those in the archives first, each checked.
    ///
    /// It ends at the head of the moment it gets there, or after the first failure.
    pub fn entries(&self, from: u64) -> Entries<'_> {
        Entries::new(Store::Database(self), from)
    }
}
