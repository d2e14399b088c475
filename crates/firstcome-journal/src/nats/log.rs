//! Reads the log: messages behind a cursor, and cursors at positions.

use super::tail::Tail;
use super::{COPY_PAUSE, COPY_WITHIN};
use crate::ancestry::{Cursor, Message, REACH, Raw, Stuck, TakenMessage, begin_among, mark};
use crate::database::DatabaseError;
use crate::entry::Entry;
use crate::error::JournalError;
use crate::name::Name;
use firstcome_core::Timestamp;
use firstcome_store::nats::{Stored, Stream};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Bytes of messages after which no more are read at once.
const READ_BYTES: usize = 8 << 20;
/// Messages that are read at once at most.
const READ_MESSAGES: u64 = 256;
/// Messages that are read first, to find where a reader can begin.
const BACK: u64 = 32;
/// How many cursors are remembered: of a node that follows, of one that archives, and some.
const CURSORS: usize = 4;
/// How long a message that was stored is waited for before a server is asked for it.
const DELIVERED_WITHIN: Duration = Duration::from_millis(20);

/// The log of a journal.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) stream: Stream,
    /// All messages of the log.
    subject: String,
    /// Whether each entry counts, whatever it rests on: see `Mistake::PredecessorIgnored`.
    everything: bool,
    /// What was delivered without being asked for.
    pub(super) tail: Tail,
    /// Where readers stood last, the newest last, and how often the connection had been made then.
    cursors: Mutex<(u64, VecDeque<Cursor>)>,
}

/// What was read behind a cursor, which stands behind it now.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// Entries that count.
    pub(super) entries: Vec<Entry>,
    /// The last message with an entry that was ignored.
    pub(super) ignored: u64,
    pub(super) ended: Ended,
}

/// Why no more was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ended {
    /// There was no more, or it was enough.
    #[default]
    There,
    /// Where the cursor stood is another message now, or none: the log is not the one that was read.
    Lost,
    /// The journal goes on after another state.
    Restarted,
}

impl Log {
    pub(super) fn new(stream: Stream, subject: String, everything: bool) -> Self {
        let tail = Tail::new(stream.clone());
        Self { stream, subject, everything, tail, cursors: Mutex::default() }
    }

    /// Returns where a reader stood behind an entry, unless the connection was made anew since.
    pub(super) fn known(&self, position: u64, name: Option<Name>) -> Option<Cursor> {
        let cursors = self.cursors.lock();
        let (connections, cursors) = &*cursors;
        let fits = |cursor: &&Cursor| {
            cursor.tip.position == position && name.is_none_or(|name| name == cursor.tip.name)
        };
        let same = *connections == self.stream.nats().connections();
        cursors.iter().rev().find(fits).filter(|_| same).cloned()
    }

    /// Returns the furthest place where a reader stood, unless the connection was made anew since.
    fn furthest(&self) -> Option<Cursor> {
        let cursors = self.cursors.lock();
        let same = cursors.0 == self.stream.nats().connections();
        cursors.1.iter().max_by_key(|cursor| cursor.sequence).filter(|_| same).cloned()
    }

    /// Remembers where a reader stands.
    pub(super) fn remember(&self, cursor: &Cursor) {
        let connections = self.stream.nats().connections();
        let mut cursors = self.cursors.lock();
        if cursors.0 != connections {
            *cursors = (connections, VecDeque::new());
        }
        // One that stood at the same place, or that has been read on from, is of no more use.
        cursors.1.retain(|other| other.tip.position != cursor.tip.position);
        if cursors.1.len() == CURSORS {
            cursors.1.pop_front();
        }
        cursors.1.push_back(cursor.clone());
    }

    /// Forgets where readers stood, and what was delivered.
    pub(super) fn forget(&self) {
        self.cursors.lock().1.clear();
        self.tail.forget();
    }

    /// Reads on behind a cursor up to a message that is stored, or until there are so many entries: first what was delivered.
    pub(super) async fn read_delivered_to(
        &self,
        cursor: &mut Cursor,
        to: u64,
        most: usize,
    ) -> Result<Read, DatabaseError> {
        let mut all = Read::default();
        if self.tail.wait_for(to, DELIVERED_WITHIN).await {
            all = self.read_delivered(cursor, to, most).await?;
        }
        if cursor.sequence < to && all.entries.len() < most && all.ended == Ended::There {
            let read = self.read_to(cursor, to, most - all.entries.len()).await?;
            all.entries.extend(read.entries);
            (all.ignored, all.ended) = (all.ignored.max(read.ignored), read.ended);
            // Whoever delivers lags too much, or is gone, or stopped.
            self.tail.give_up();
            self.tail.begin(cursor);
        }
        Ok(all)
    }

    /// Reads on behind a cursor, what there is: what was delivered, or else what a server has.
    pub(super) async fn read_once(
        &self,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<Read, DatabaseError> {
        let read = self.read_delivered(cursor, u64::MAX, most).await?;
        if read.entries.is_empty() && read.ended == Ended::There {
            return self.read(cursor, u64::MAX, most).await;
        }
        Ok(read)
    }

    /// Reads on behind a cursor until there is hardly any more.
    pub(super) async fn catch_up(&self, cursor: &mut Cursor) -> Result<Read, DatabaseError> {
        let mut all = Read::default();
        loop {
            let before = cursor.sequence;
            let read = self.read_once(cursor, usize::MAX).await?;
            all.entries.extend(read.entries);
            all.ended = read.ended;
            if cursor.sequence - before < REACH / 16 || all.ended != Ended::There {
                return Ok(all);
            }
        }
    }

    /// Reads on behind a cursor in what was delivered.
    async fn read_delivered(
        &self,
        cursor: &mut Cursor,
        to: u64,
        most: usize,
    ) -> Result<Read, DatabaseError> {
        let messages = self.tail.behind(cursor, to);
        self.take_all(cursor, messages.iter().map(|stored| &**stored), most).await
    }

    /// Reads on behind a cursor, from servers, up to a message, which is there, or until there are so many entries.
    pub(super) async fn read_to(
        &self,
        cursor: &mut Cursor,
        to: u64,
        most: usize,
    ) -> Result<Read, DatabaseError> {
        let end = Instant::now() + COPY_WITHIN;
        let mut all = Read::default();
        let mut pause = Duration::from_micros(200);
        while cursor.sequence < to && all.entries.len() < most {
            let before = cursor.sequence;
            let read = self.read(cursor, to, most - all.entries.len()).await?;
            all.entries.extend(read.entries);
            all.ignored = all.ignored.max(read.ignored);
            all.ended = read.ended;
            if all.ended != Ended::There {
                break;
            }
            if cursor.sequence > before {
                continue;
            }
            // The server that answered does not have it yet.
            if Instant::now() >= end {
                let why = format!("message {} of the log is missing", before + 1);
                return Err(JournalError::Damaged { position: cursor.tip.position + 1, why }.into());
            }
            sleep(pause).await;
            pause = (pause * 2).min(COPY_PAUSE);
        }
        Ok(all)
    }

    /// Reads on behind a cursor, from a server, once: at most up to a message, and so many entries.
    async fn read(&self, cursor: &mut Cursor, to: u64, most: usize) -> Result<Read, DatabaseError> {
        // The message that was read last comes again, from the server that answers: so it is seen that it is the same log.
        let first = cursor.sequence + u64::from(cursor.bare);
        let wanted = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        let count = (to - first.min(to)).saturating_add(1).min(wanted).min(READ_MESSAGES);
        let messages = self.messages(first, count).await?;
        let mut messages = messages.iter();
        if !cursor.bare {
            match messages.next() {
                // A server that lags has nothing.
                None => return Ok(Read::default()),
                Some(last)
                    if last.sequence != cursor.sequence || !cursor.has_mark(mark(&last.bytes)) =>
                {
                    return Ok(Read { ended: Ended::Lost, ..Read::default() });
                }
                Some(_) => {}
            }
        }
        self.take_all(cursor, messages, most).await
    }

    async fn take_all(
        &self,
        cursor: &mut Cursor,
        messages: impl Iterator<Item = &Stored>,
        most: usize,
    ) -> Result<Read, DatabaseError> {
        let mut read = Read::default();
        for stored in messages {
            if read.entries.len() == most {
                break;
            }
            match self.take(cursor, stored).await {
                Ok(TakenMessage::Entry { mut entry, part }) => {
                    self.complete(&mut entry, part).await?;
                    read.entries.push(entry);
                }
                Ok(TakenMessage::Ignored) => read.ignored = stored.sequence,
                Ok(TakenMessage::Part) => {}
                Ok(TakenMessage::Restart) => {
                    read.ended = Ended::Restarted;
                    break;
                }
                // What is good in front is given.
                Err(DatabaseError::Own(_)) if !read.entries.is_empty() => break,
                Err(broken) => return Err(broken),
            }
        }
        Ok(read)
    }

    /// Takes a message in, and reads what lies further back where that is needed.
    async fn take(
        &self,
        cursor: &mut Cursor,
        stored: &Stored,
    ) -> Result<TakenMessage, DatabaseError> {
        loop {
            match cursor.take(&raw(stored), self.everything) {
                Ok(taken) => return Ok(taken),
                Err(Stuck::Failed(failure)) => return Err(failure.into()),
                Err(Stuck::FurtherBack) => self.look_back(cursor).await?,
            }
        }
    }

    /// Has a cursor know the marks of as many messages as can matter.
    async fn look_back(&self, cursor: &mut Cursor) -> Result<(), DatabaseError> {
        let (first, known) = cursor.unknown();
        let mut marks = vec![0; usize::try_from(known - first).unwrap_or(0)];
        let mut next = first;
        while next < known {
            let found = self.messages(next, (known - next).min(READ_MESSAGES)).await?;
            let Some(last) = found.last() else { break };
            next = last.sequence + 1;
            for stored in &found {
                // Those that are no longer there are nobody's ancestors.
                let index =
                    stored.sequence.checked_sub(first).and_then(|i| usize::try_from(i).ok());
                if let Some(mark) = index.and_then(|index| marks.get_mut(index)) {
                    *mark = crate::ancestry::mark(&stored.bytes);
                }
            }
        }
        cursor.know_before(marks.into_iter());
        Ok(())
    }

    /// Adds the end of its body to an entry.
    async fn complete(&self, entry: &mut Entry, part: u64) -> Result<(), DatabaseError> {
        if part == 0 {
            return Ok(());
        }
        let damaged = || {
            let why = "a part of it is missing".to_owned();
            JournalError::Damaged { position: entry.position, why }
        };
        let stored = self.stream.at(part).await?.ok_or_else(damaged)?;
        let Message::Part(rest) = Message::read(&stored.bytes, entry.position - 1)? else {
            return Err(damaged().into());
        };
        entry.body = [&entry.body, rest].concat().into();
        Ok(())
    }

    /// Reads messages from one on.
    async fn messages(&self, from: u64, count: u64) -> Result<Vec<Stored>, DatabaseError> {
        let count = usize::try_from(count).unwrap_or(1);
        Ok(self.stream.next(&self.subject, from, count, READ_BYTES).await?)
    }

    /// Returns where a reader stands behind a message beyond `base`, which is there.
    pub(super) async fn stand_behind(
        &self,
        base: &Cursor,
        sequence: u64,
    ) -> Result<Cursor, DatabaseError> {
        let known = self.furthest().filter(|known| {
            (base.sequence..=sequence).contains(&known.sequence) && known.origin() == base.origin()
        });
        if let Some(mut cursor) = known.filter(|known| sequence - known.sequence <= BACK) {
            // That it is the same log is seen only if there is more to read.
            let same = cursor.sequence < sequence || self.still_has(&cursor).await?;
            let read = self.read_to(&mut cursor, sequence, usize::MAX).await?;
            if same && read.ended == Ended::There {
                return Ok(cursor);
            }
            self.forget();
        }
        let mut back = BACK;
        loop {
            let first = sequence.saturating_sub(back - 1);
            if first <= base.sequence + 1 {
                let mut cursor = base.clone();
                return match self.read_to(&mut cursor, sequence, usize::MAX).await?.ended {
                    Ended::There => Ok(cursor),
                    // Since it was looked where the journal begins.
                    Ended::Lost | Ended::Restarted => Err(JournalError::Changed.into()),
                };
            }
            let messages = self.all(first, sequence).await?;
            if let Some(cursor) = self.stand_among(&messages, base) {
                return Ok(cursor);
            }
            back *= 4;
        }
    }

    /// Says whether the message read last is still there, by the server that leads the stream.
    async fn still_has(&self, cursor: &Cursor) -> Result<bool, DatabaseError> {
        if cursor.bare {
            return Ok(true);
        }
        let there = self.stream.at(cursor.sequence).await?;
        Ok(there.is_some_and(|there| cursor.has_mark(mark(&there.bytes))))
    }

    /// Returns where a reader stands behind the last of messages, if they tell by themselves.
    fn stand_among(&self, messages: &[Stored], base: &Cursor) -> Option<Cursor> {
        let raws: Vec<Raw<'_>> = messages.iter().map(raw).collect();
        let mut cursor = begin_among(&raws, base.origin())?;
        let behind = cursor.sequence;
        for stored in messages.iter().filter(|stored| stored.sequence > behind) {
            cursor.take(&raw(stored), self.everything).ok()?;
        }
        Some(cursor)
    }

    /// Reads all messages from one to another, which are there.
    async fn all(&self, first: u64, last: u64) -> Result<Vec<Stored>, DatabaseError> {
        let end = Instant::now() + COPY_WITHIN;
        let mut all: Vec<Stored> = Vec::new();
        loop {
            let next = all.last().map_or(first, |last| last.sequence + 1);
            if next > last {
                return Ok(all);
            }
            let found = self.messages(next, (last - next + 1).min(READ_MESSAGES)).await?;
            if found.first().is_some_and(|found| found.sequence == next) {
                all.extend(found);
                continue;
            }
            if Instant::now() >= end {
                return Err(
                    JournalError::Broken(format!("message {next} of its log is missing")).into()
                );
            }
            sleep(COPY_PAUSE).await;
        }
    }

    /// Returns where a reader stands behind the entry of a position between `base` and the end.
    pub(super) async fn stand_at(
        &self,
        base: &Cursor,
        position: u64,
    ) -> Result<Cursor, DatabaseError> {
        // Entries that were ignored only move a position further back in the log.
        let mut sequence = base.sequence + (position - base.tip.position);
        loop {
            let cursor = self.stand_behind(base, sequence).await?;
            match position.checked_sub(cursor.tip.position) {
                Some(0) => return Ok(cursor),
                Some(more) => sequence += more,
                None => {
                    let why = format!("entry {} stands before it", cursor.tip.position);
                    return Err(JournalError::Damaged { position, why }.into());
                }
            }
        }
    }
}

/// Returns a stored message as a reader of the log sees it.
pub(super) fn raw(stored: &Stored) -> Raw<'_> {
    let Stored { sequence, at, bytes, .. } = stored;
    Raw { sequence: *sequence, at: Timestamp::from_micros(*at), bytes }
}
