//! An entry, its name, and the chain that entries form.

use crate::error::JournalError;
use crate::name::Name;
use firstcome_core::Timestamp;
use firstcome_core::command::{BadBody, Body};
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::SpaceId;
use firstcome_core::state::Stamp;
use firstcome_core::wire::MOVED_LEVEL;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::Instant;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// One stored entry.
///
/// The *store part* is minted in the atomic step that stores it; the *body* is written and
/// checksummed by the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place: one more than that of the entry before it.
    pub position: u64,
    /// The store's time, never before that of the entry before it.
    pub at: Timestamp,
    /// How many forks were resolved before it.
    pub epoch: u32,
    /// The name of the entry before it.
    pub before: Name,
    pub body: Arc<[u8]>,
}

impl Entry {
    /// Reads the head of the body and gives what the rules need to know beside the commands.
    ///
    /// # Errors
    ///
    /// The body is torn, altered or of a level above this build's, or [ends the space](BadBody::Moved).
    pub fn open(&self) -> Result<(Stamp, Body<'_>), BadBody> {
        let body = Body::open(&self.body)?;
        if body.head.level == MOVED_LEVEL {
            return Err(BadBody::Moved);
        }
        let stamp = Stamp {
            position: self.position,
            at: self.at,
            epoch: self.epoch,
            node: body.head.node,
            number: body.head.number,
            again_of: body.head.again_of,
            level: body.head.level,
        };
        Ok((stamp, body))
    }

    /// Says whether it ends the space, which was moved to another store: no replica goes beyond it.
    pub fn is_end(&self) -> bool {
        self.open().is_err_and(|bad| bad == BadBody::Moved)
    }

    /// Returns the entry's name.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] with the position, or [`JournalError::TooNew`].
    pub fn name(&self) -> Result<Name, JournalError> {
        match Body::open(&self.body) {
            Ok(body) => Ok(body.head.name()),
            Err(BadBody::TooNew(level)) => Err(JournalError::TooNew(level)),
            Err(bad) => Err(JournalError::Damaged {
                position: self.position,
                why: format!("its body {bad}"),
            }),
        }
    }
}

/// Entries that follow each other, and why the next one cannot be read.
#[derive(Debug, Default)]
pub(crate) struct EntryRun {
    pub(crate) good: VecDeque<(Entry, Name)>,
    pub(crate) bad: Option<JournalError>,
}

/// What is to be appended, and what the caller rests on.
#[derive(Clone, Debug)]
pub struct Append {
    pub body: Arc<[u8]>,
    /// The body's name.
    pub name: Name,
    /// The position the caller applied last.
    pub applied: u64,
    /// The name of the entry at that position.
    pub applied_name: Name,
}

/// Entries beyond a position, as a store gave them.
#[derive(Clone, Debug)]
pub struct EntriesRead {
    /// The entries, in order, at most 64.
    pub entries: Vec<Entry>,
    /// How far the store had looked.
    pub looked: Looked,
}

impl EntriesRead {
    /// Entries read beyond `after` from a journal whose last entry had the position `end`, at `as_of` or later.
    ///
    /// `end` is `u64::MAX` where the store gave as many entries as it was asked for and does not say whether it has more.
    pub(crate) fn of(after: u64, entries: Vec<Entry>, end: u64, as_of: Instant) -> Self {
        let last = entries.last().map_or(after, |last| last.position);
        let looked = match last.cmp(&end) {
            Ordering::Less => Looked::More,
            Ordering::Equal => Looked::ToEnd { position: end, as_of },
            // It has less than the caller: it lags, or lost its end.
            Ordering::Greater => Looked::Partly,
        };
        Self { entries, looked }
    }
}

/// How far a store had looked through a journal when it answered.
///
/// Only [`Looked::ToEnd`] says that the caller knows everything that was acknowledged before a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    ToEnd {
        /// The position of the last entry there was.
        position: u64,
        /// When that was, or before: not before the call.
        as_of: Instant,
    },
    /// There are entries beyond those that were given: the next read gives them, or says why it cannot.
    More,
    /// At a copy that may lag, or at what was delivered so far: there may be more, and the next read may not give it yet.
    Partly,
}

/// What an append brings back.
#[derive(Debug)]
pub struct AppendAnswer {
    /// Entries beyond what the caller applied, in order, at most 64.
    pub entries: Vec<Entry>,
    /// How far the store had looked.
    pub looked: Looked,
    /// When the appended entry is durable.
    pub confirm: Confirm,
}

impl AppendAnswer {
    /// What an append read, which may be more entries than it gives: the next read gives the others.
    pub fn of(mut read: EntriesRead, confirm: Confirm) -> Self {
        if read.entries.len() > READ_ENTRIES {
            read.entries.truncate(READ_ENTRIES);
            read.looked = Looked::More;
        }
        let EntriesRead { entries, looked } = read;
        Self { entries, looked, confirm }
    }
}

/// When an appended entry, and every one before it, is durable as the store's setting has it.
#[derive(Debug)]
pub enum Confirm {
    /// It is already.
    AtOnce,
    /// When this receives. If it fails instead, only a later entry can confirm this one.
    Later(oneshot::Receiver<()>),
}

/// Where a journal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The space the journal is of.
    pub space: SpaceId,
    /// The level the space began at, or one that was applied since: its entries may be ahead of this by a second.
    pub level: u32,
    /// The position of the last entry; 0 before the first.
    pub position: u64,
    /// The name of the last entry.
    pub name: Name,
    /// The time of the last entry.
    pub at: Timestamp,
    /// How many forks were resolved.
    pub epoch: u32,
    /// The first position still kept; one more than `position` if none is.
    pub first: u64,
    /// How many entries are skipped.
    pub skips: u32,
    /// The store's clock when it was asked.
    pub now: Timestamp,
}

/// What the checksum over an entry covers beside the entry: whose journal it is.
///
/// A row copied from another journal is found out by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealer {
    pub space: SpaceId,
}

impl Sealer {
    /// Returns the checksum over the store part and the body of an entry.
    ///
    /// It is XXH3-64 of 60 bytes (space, position, time, epoch, and the name of the entry
    /// before, numbers little-endian), seeded with XXH3-64 of the body.
    pub fn seal(&self, entry: &Entry) -> u64 {
        let mut part = [0; 60];
        part[..16].copy_from_slice(&self.space.0);
        part[16..24].copy_from_slice(&entry.position.to_le_bytes());
        part[24..32].copy_from_slice(&entry.at.as_micros().to_le_bytes());
        part[32..36].copy_from_slice(&entry.epoch.to_le_bytes());
        part[36..52].copy_from_slice(&entry.before.node.0);
        part[52..].copy_from_slice(&entry.before.number.to_le_bytes());
        xxh3_64_with_seed(&part, xxh3_64(&entry.body))
    }

    /// Returns the entry's name after checking both its checksums.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] with the position, or [`JournalError::TooNew`].
    pub fn check(&self, entry: &Entry, seal: u64) -> Result<Name, JournalError> {
        let damaged = |why: String| JournalError::Damaged { position: entry.position, why };
        let body = Body::open(&entry.body);
        if let Err(bad @ BadBody::Checksum { .. }) = body {
            return Err(damaged(format!("its body {bad}")));
        }
        let computed = self.seal(entry);
        if seal != computed {
            return Err(damaged(format!(
                "its checksum is {seal:016x}, its time, epoch, predecessor and body give {computed:016x}"
            )));
        }
        match body {
            Ok(body) => Ok(body.head.name()),
            Err(BadBody::TooNew(level)) => Err(JournalError::TooNew(level)),
            Err(bad) => Err(damaged(format!("its body {bad}"))),
        }
    }
}

/// Follows entries one after the other and notices the one that does not follow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain {
    last: Option<(u64, Name, Timestamp, u32)>,
}

impl Chain {
    /// Takes in the next entry with its name.
    ///
    /// The first one taken in is believed, unless it is entry 1, whose predecessor is known.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] with the position of the entry that does not follow or is missing.
    pub fn follow(&mut self, entry: &Entry, name: Name) -> Result<(), JournalError> {
        let start = (entry.position == 1).then_some((0, Name::default(), entry.at, entry.epoch));
        if let Some((position, before, at, epoch)) = self.last.or(start) {
            let damaged = |position, why: String| Err(JournalError::Damaged { position, why });
            if entry.position != position + 1 {
                return damaged(
                    position + 1,
                    format!("it is missing, entry {} stands there", entry.position),
                );
            }
            if entry.before != before {
                let why = format!("it names {} before it, which is {before}", entry.before);
                return damaged(entry.position, why);
            }
            if entry.at < at || entry.epoch < epoch {
                return damaged(
                    entry.position,
                    "its time or epoch is before that of the entry before it".into(),
                );
            }
        }
        self.last = Some((entry.position, name, entry.at, entry.epoch));
        Ok(())
    }
}
