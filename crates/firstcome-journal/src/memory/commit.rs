//! Atomic steps of a journal in memory: see [`Transaction`].

use super::Memory;
use super::log::Log;
use super::state::{Piece, State};
use crate::entry::{Entry, Head};
use crate::error::JournalError;
use crate::name::Name;
use crate::snapshots::manifest::Manifest;
use crate::transaction::cell::{Cell, Kind};
use crate::transaction::conditions::{self, Stored};
use crate::transaction::{IDLE_PIECES, Seen, Transaction, Write};
use firstcome_core::Timestamp;
use firstcome_core::names::PieceName;
use std::sync::Arc;
use tokio::time::Instant;

impl Memory {
    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Seen, JournalError> {
        let now = self.clock.now();
        let Transaction { checks, writes, reads, .. } = transaction;
        self.with(|state| {
            conditions::check(&Moment { state, now }, &checks)?;
            let mut dropped = 0;
            for write in writes {
                dropped += state.write(write, now)?;
            }
            // Who follows is woken where the end of the journal is another one.
            self.head.send_if_modified(|head| {
                std::mem::replace(head, state.position()) != state.position()
            });
            conditions::see(&Moment { state, now }, &reads, dropped)
        })
    }
}

impl State {
    /// Does one change; gives how many pieces it dropped.
    fn write(&mut self, write: Write, now: Timestamp) -> Result<usize, JournalError> {
        match write {
            Write::Term => self.term += 1,
            Write::Epoch => self.epoch = self.head(now).epoch + 1,
            Write::Level(level) => self.level = self.level.max(level),
            Write::Entries(entries) => self.put_back(entries, now)?,
            Write::Restart { tip, epoch, level } => {
                if self.gone {
                    // Terms were lost, and go on from the clock: nobody's was ever that high.
                    self.term = u64::try_from(now.as_micros() / 1_000_000).unwrap_or(0);
                }
                (self.gone, self.mark, self.entries) = (false, None, Arc::default());
                self.base = (tip.position, tip.name, Some(tip.at));
                (self.epoch, self.level) = (epoch, level);
                self.restart_log(tip, epoch, now);
            }
            Write::Trim(through) => self.trim(through),
            Write::Manifests(manifests) => self.manifests = manifests,
            Write::Piece(name, bytes) => {
                let pieces = Arc::make_mut(&mut self.pieces);
                let piece = pieces.entry(name).or_insert(Piece { bytes, idle: Some(now) });
                piece.idle = piece.idle.map(|_| now);
            }
            Write::Named(names) => self.set_idle(&names, None),
            Write::Unnamed(names) => self.set_idle(&names, Some(now)),
            Write::DropIdle(since) => return Ok(self.drop_idle(since)),
            Write::Put(cell) => {
                self.cells.insert((cell.kind, cell.key), cell.value.into());
            }
            Write::Stamped(cell) => {
                let stamped = [&now.as_micros().to_le_bytes()[..], &cell.value].concat();
                self.cells.insert((cell.kind, cell.key), stamped.into());
            }
            Write::Delete(kind, key) => {
                self.cells.remove(&(kind, key));
            }
            Write::Mark(mark) => self.mark = Some(mark),
            Write::Unmark => self.mark = None,
            Write::Vacate(mark) => {
                (self.gone, self.mark, self.entries) = (true, Some(mark), Arc::default());
                (self.base, self.epoch, self.term) = ((0, Name::default(), None), 0, 0);
                self.log = self.log.as_ref().map(Log::anew);
            }
        }
        Ok(0)
    }

    fn put_back(&mut self, entries: Vec<Entry>, now: Timestamp) -> Result<(), JournalError> {
        let named = entries.into_iter().map(|entry| entry.name().map(|name| (entry, name)));
        let named: Vec<_> = named.collect::<Result<_, _>>()?;
        for (entry, _) in &named {
            self.epoch = self.epoch.max(entry.epoch);
        }
        if self.log.is_some() {
            return named.iter().try_for_each(|(entry, name)| self.store_again(entry, *name, now));
        }
        Arc::make_mut(&mut self.entries).extend(named);
        Ok(())
    }

    fn trim(&mut self, through: u64) {
        let count = usize::try_from(through.saturating_sub(self.base.0)).unwrap_or(usize::MAX);
        let count = count.min(self.entries.len());
        let gone = Arc::make_mut(&mut self.entries).drain(..count).next_back();
        if let Some((last, name)) = gone {
            self.base = (last.position, name, Some(last.at));
            self.trim_log(count, last.epoch);
        }
    }

    fn set_idle(&mut self, names: &[PieceName], since: Option<Timestamp>) {
        if names.is_empty() {
            return;
        }
        let pieces = Arc::make_mut(&mut self.pieces);
        for name in names {
            if let Some(piece) = pieces.get_mut(name) {
                piece.idle = since;
            }
        }
    }

    fn drop_idle(&mut self, since: Timestamp) -> usize {
        let old = |piece: &Piece| piece.idle.is_some_and(|idle| idle <= since);
        let old = self.pieces.iter().filter(|(_, piece)| old(piece)).map(|(name, _)| *name);
        let old: Vec<PieceName> = old.take(IDLE_PIECES).collect();
        if !old.is_empty() {
            Arc::make_mut(&mut self.pieces).retain(|name, _| !old.contains(name));
        }
        old.len()
    }
}

/// What is stored at one moment.
struct Moment<'a> {
    state: &'a State,
    now: Timestamp,
}

impl Stored for Moment<'_> {
    fn head(&self) -> Result<Head, JournalError> {
        self.state.check_there()?;
        Ok(self.state.head(self.now))
    }

    fn mark(&self) -> Option<Vec<u8>> {
        self.state.mark.clone()
    }

    fn term(&self) -> u64 {
        self.state.term
    }

    fn now(&self) -> Timestamp {
        self.now
    }

    fn entries(&self, from: u64, limit: usize) -> Result<Vec<Entry>, JournalError> {
        let mut entries = self.state.read(from - 1, Instant::now())?.entries;
        entries.truncate(limit);
        Ok(entries)
    }

    fn manifests(&self) -> Result<Vec<Manifest>, JournalError> {
        Ok(self.state.manifests.clone())
    }

    fn has_piece(&self, name: PieceName) -> Result<bool, JournalError> {
        Ok(self.state.pieces.contains_key(&name))
    }

    fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(self.state.pieces.get(&name).map(|piece| piece.bytes.clone()))
    }

    fn cells(&self, kind: Kind) -> Result<Vec<Cell>, JournalError> {
        let of_kind = self.state.cells.iter().filter(|((other, _), _)| *other == kind);
        let cell = |key: &Vec<u8>, value: &[u8]| (key.clone(), value.to_vec());
        let pairs = of_kind.map(|((_, key), value)| cell(key, value));
        Ok(pairs.map(|(key, value)| Cell { kind, key, value }).collect())
    }
}
