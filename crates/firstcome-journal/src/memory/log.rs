//! The messages of a journal in memory that takes each append without a condition: see `ancestry`.

use crate::ancestry::{Cursor, Message, Place, Raw, Stuck, TakenMessage};
use crate::entry::Entry;
use crate::error::JournalError;
use crate::name::{Name, Tip};
use firstcome_core::Timestamp;
use firstcome_inject::{Mistake, inject};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The log, beside the entries that count.
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// The sequence of the first message that is kept.
    pub(super) first: u64,
    /// Shared with what was kept of it, until the next one comes.
    pub(super) messages: Arc<Vec<LogEntry>>,
    /// The message of what stands before the first entry, and of each entry.
    pub(super) places: Arc<Vec<Place>>,
    /// The epoch of what stands before the first entry.
    pub(super) base_epoch: u32,
    /// Behind the last message.
    pub(super) end: Cursor,
}

#[derive(Clone, Debug)]
pub(super) struct LogEntry {
    at: Timestamp,
    pub(super) mark: u64,
    bytes: Arc<[u8]>,
}

impl Log {
    /// Makes an empty log. In it an ancestor lies at most so many messages before its entry.
    pub(super) fn new(reach: u64) -> Self {
        let tip = Tip { position: 0, name: Name::default(), at: Timestamp::from_micros(0) };
        let end = Cursor::bare(Place::default(), tip, 0, Place::default()).reaching(reach);
        let (messages, places) = (Arc::default(), Arc::new(vec![end.place]));
        Self { first: 1, messages, places, base_epoch: 0, end }
    }

    /// Makes an empty one like this.
    pub(super) fn anew(&self) -> Self {
        Self::new(self.end.reach())
    }

    pub(super) fn epoch(&self) -> u32 {
        self.end.epoch
    }

    /// Stores a message at the end; gives the entry, if it is one that counts.
    pub(super) fn store(
        &mut self,
        message: &Message<'_>,
        at: Timestamp,
    ) -> Result<Option<Entry>, JournalError> {
        let bytes = message.write(nonce());
        let raw = Raw { sequence: self.end.sequence + 1, at, bytes: &bytes };
        let place = raw.place();
        let taken = take(&mut self.end, &raw)?;
        let mark = place.mark;
        Arc::make_mut(&mut self.messages).push(LogEntry { at, mark, bytes: bytes.into() });
        if let TakenMessage::Entry { entry, .. } = taken {
            Arc::make_mut(&mut self.places).push(place);
            return Ok(Some(entry));
        }
        Ok(None)
    }

    /// Returns a message, if it is kept.
    pub(super) fn at(&self, sequence: u64) -> Option<Raw<'_>> {
        let stored = self.messages.get(index(sequence.checked_sub(self.first)?))?;
        Some(Raw { sequence, at: stored.at, bytes: &stored.bytes })
    }

    /// Returns where a reader stands behind an entry that is kept, or before the first one.
    pub(super) fn behind(&self, tip: Tip, number: usize, epoch: u32) -> Cursor {
        let (place, origin, reach) = (self.places[number], self.end.origin(), self.end.reach());
        if place.sequence < self.first {
            return Cursor::bare(place, tip, epoch, origin).reaching(reach);
        }
        let mut cursor = Cursor::at(place, tip, epoch, origin).reaching(reach);
        let before = index(place.sequence - self.first);
        let unknown = index(reach - 1).min(before);
        cursor.know_before(self.messages[before - unknown..before].iter().map(|it| it.mark));
        cursor
    }

    /// Reads on behind a cursor, up to so many entries; `None` where what was read last is not there any more.
    pub(super) fn read_on(
        &self,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<Option<Vec<Entry>>, JournalError> {
        let there = self.at(cursor.sequence).map(|raw| raw.place().mark);
        let same = there
            .map_or(cursor.bare && cursor.sequence + 1 == self.first, |mark| cursor.has_mark(mark));
        if !same || cursor.origin() != self.end.origin() {
            return Ok(None);
        }
        let mut entries = Vec::new();
        while entries.len() < most
            && let Some(raw) = self.at(cursor.sequence + 1)
        {
            if let TakenMessage::Entry { entry, .. } = take(cursor, &raw)? {
                entries.push(entry);
            }
        }
        Ok(Some(entries))
    }
}

/// Takes a message in, of which all is known that matters.
fn take(cursor: &mut Cursor, raw: &Raw<'_>) -> Result<TakenMessage, JournalError> {
    match cursor.take(raw, inject(Mistake::PredecessorIgnored)) {
        Ok(taken) => Ok(taken),
        Err(Stuck::Failed(failure)) => Err(failure),
        Err(Stuck::FurtherBack) => panic!("a reader knows the messages before its place"),
    }
}

/// Returns a number that no other message has, in whichever log.
fn nonce() -> u64 {
    static NONCES: AtomicU64 = AtomicU64::new(0);
    NONCES.fetch_add(1, Ordering::Relaxed)
}

pub(super) fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
