//! Appends and reads of a journal in memory that takes each append without a condition: they are judged by the messages.

use super::log::{Log, index};
use super::state::State;
use super::{Confirm, Memory};
use crate::ancestry::{Content, Cursor, Message, Place};
use crate::cluster::News;
use crate::entry::{Append, AppendAnswer, EntriesRead, Entry, Looked};
use crate::error::JournalError;
use crate::name::{Name, Tip};
use firstcome_core::Timestamp;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_inject::{Mistake, inject};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What whoever appends and reads remembers of the log.
#[derive(Clone, Debug, Default)]
pub struct Stand {
    /// Behind what the caller applied last, if that was read in this log.
    pub cursor: Option<Cursor>,
    /// The epoch of the head that was seen last.
    pub epoch: u32,
}

/// What became of an entry that was sent.
#[derive(Debug)]
pub enum Appended {
    /// It counts. With where the caller stands behind it, in a log without conditions.
    Counts(AppendAnswer, Option<Cursor>),
    /// It does not count, since its ancestor lies too far back. With the entries that were read.
    Ignored(Vec<Entry>, Cursor),
    /// What the caller read last is not there any more. Whether the entry counts was not read.
    Lost,
}

impl State {
    /// Has an entry come whose sender stood behind the last one.
    pub(super) fn push_at_end(&mut self, name: Name, body: &[u8], now: Timestamp) {
        let Some(log) = &self.log else { return };
        let message = message(&log.end, self.head(now).epoch, name, body);
        self.store(&message, now).expect("what stands behind the last entry counts");
    }

    /// Stores a message in the log; gives whether it is an entry that counts.
    fn store(&mut self, message: &Message<'_>, now: Timestamp) -> Result<bool, JournalError> {
        let Some(log) = &mut self.log else { return Ok(false) };
        let Some(entry) = log.store(message, now)? else { return Ok(false) };
        let name = log.end.tip.name;
        Arc::make_mut(&mut self.entries).push((entry, name));
        Ok(true)
    }

    /// Puts an entry into the log whole.
    pub(super) fn store_again(
        &mut self,
        entry: &Entry,
        name: Name,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        let Entry { position, at, epoch, before, ref body } = *entry;
        let content = Content { name, part: 0, body };
        self.store(&Message::Exact { position, at, epoch, before, content }, now).map(drop)
    }

    /// Has the log go on after a state.
    pub(super) fn restart_log(&mut self, tip: Tip, epoch: u32, now: Timestamp) {
        let Some(log) = &mut self.log else { return };
        log.store(&Message::Restart(&[]), now).expect("a restart can be stored behind anything");
        let sequence = log.end.sequence;
        let mark = log.messages.last().map_or(0, |stored| stored.mark);
        let place = Place { sequence, mark };
        log.end = Cursor::at(place, tip, epoch, place).reaching(log.end.reach());
        let messages = Arc::make_mut(&mut log.messages);
        messages.drain(..messages.len() - 1);
        log.first = sequence;
        (log.places, log.base_epoch) = (Arc::new(vec![place]), epoch);
    }

    /// Forgets what comes behind the last entry that is left.
    pub(super) fn cut_log(&mut self) {
        let Some(mut log) = self.log.take() else { return };
        let left = self.entries.len();
        Arc::make_mut(&mut log.places).truncate(left + 1);
        let end = self.cursor_at(&log, left);
        let count = index((end.place.sequence + 1).saturating_sub(log.first));
        Arc::make_mut(&mut log.messages).truncate(count);
        self.log = Some(Log { end, ..log });
    }

    /// Forgets the messages that the first entries need which are left; `gone` were trimmed, the last one of an epoch.
    pub(super) fn trim_log(&mut self, gone: usize, epoch: u32) {
        let Some(log) = &mut self.log else { return };
        Arc::make_mut(&mut log.places).drain(..gone);
        log.base_epoch = epoch;
        // So many before it are needed to see which entries behind it count.
        let first = log.places[0].sequence.saturating_sub(log.end.reach()).max(log.first);
        Arc::make_mut(&mut log.messages).drain(..index(first - log.first));
        log.first = first;
    }

    /// Returns where a reader stands behind the entry of a number, counted from what stands before the first one.
    fn cursor_at(&self, log: &Log, number: usize) -> Cursor {
        let (position, name, at) = self.base;
        let at = at.unwrap_or(Timestamp::from_micros(0));
        let (tip, epoch) = match number.checked_sub(1).and_then(|last| self.entries.get(last)) {
            Some((entry, name)) => {
                (Tip { position: entry.position, name: *name, at: entry.at }, entry.epoch)
            }
            None => (Tip { position, name, at }, log.base_epoch),
        };
        log.behind(tip, number, epoch)
    }

    /// Takes an entry whatever it rests on, and reads back what it became.
    pub(super) fn append_behind(
        &mut self,
        append: &Append,
        stand: Stand,
        now: Timestamp,
    ) -> Result<Appended, JournalError> {
        let mut epoch = stand.epoch;
        let mut cursor = match stand.cursor {
            // What was read last is good enough: if it is not in the log any more, the entry counts for nobody.
            Some(cursor) => {
                self.check_room()?;
                cursor
            }
            None => {
                self.check_append(append, !inject(Mistake::PredecessorIgnored))?;
                epoch = epoch.max(self.head(now).epoch);
                let log = self.log.as_ref().expect("it takes each append");
                self.cursor_at(log, index(append.applied - self.base.0))
            }
        };
        let counts = self.store(&message(&cursor, epoch, append.name, &append.body), now)?;
        let Some(entries) = self.read_log(&mut cursor, usize::MAX)? else {
            return Ok(Appended::Lost);
        };
        if !counts {
            return Ok(Appended::Ignored(entries, cursor));
        }
        let read = EntriesRead::of(append.applied, entries, self.position(), Instant::now());
        Ok(Appended::Counts(AppendAnswer::of(read, Confirm::AtOnce), Some(cursor)))
    }

    /// Reads on behind a cursor; `None` where what was read last is not there any more.
    fn read_log(
        &self,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<Option<Vec<Entry>>, JournalError> {
        let Some(log) = &self.log else { return Ok(None) };
        let read = log.read_on(cursor, most)?;
        for entry in read.iter().flatten() {
            let number = entry.position.checked_sub(self.base.0 + 1).map(index);
            let judged = number.map(|number| self.entries.get(number).map(|(entry, _)| entry));
            // Of those that were trimmed messages are still there.
            let same = judged.is_none_or(|judged| judged == Some(entry));
            assert!(same, "every reader takes the same for entries");
        }
        Ok(read)
    }
}

/// Returns the message of an entry whose sender stands there.
fn message<'a>(stands: &Cursor, epoch: u32, name: Name, body: &'a [u8]) -> Message<'a> {
    let content = Content { name, part: 0, body };
    Message::Entry { ancestor: stands.ancestor(), epoch, clock: None, content }
}

impl Memory {
    /// Appends an entry; where the log takes each one, it rests on where the caller stands.
    ///
    /// # Errors
    ///
    /// Those of [`Journal::append`](crate::Journal::append).
    pub async fn append_behind(
        &self,
        append: &Append,
        stand: Stand,
    ) -> Result<Appended, JournalError> {
        let appended = self.with(|state| {
            if state.log.is_none() {
                let exchange = self.append_on_condition(state, append)?;
                return Ok(Appended::Counts(exchange, None));
            }
            let appended = state.append_behind(append, stand, self.clock.now());
            self.head.send_replace(state.position());
            appended
        })?;
        Ok(match appended {
            Appended::Counts(exchange, cursor) => {
                Appended::Counts(AppendAnswer { confirm: self.confirmation(), ..exchange }, cursor)
            }
            other @ (Appended::Ignored(..) | Appended::Lost) => other,
        })
    }

    /// Reads entries, without the newest `lag` of the journal; gives where the caller stands behind them, in a log without
    /// conditions.
    ///
    /// # Errors
    ///
    /// Those of [`Journal::read`](crate::Journal::read), and [`JournalError::Changed`] where the cursor does not stand any more.
    pub async fn read_behind(
        &self,
        after: u64,
        stand: Option<Cursor>,
        lag: usize,
    ) -> Result<(EntriesRead, Option<Cursor>), JournalError> {
        self.with(|state| {
            let asked = Instant::now();
            let visible = state.position().saturating_sub(lag as u64).saturating_sub(after);
            let most = READ_ENTRIES.min(index(visible));
            // Where nothing is, the log is shorter: it lags, or lost its end.
            let log = state.log.as_ref();
            let there = |cursor: &Cursor| log.is_some_and(|log| log.at(cursor.sequence).is_some());
            let (mut read, cursor) = match stand.filter(there) {
                Some(mut cursor) => {
                    let entries =
                        state.read_log(&mut cursor, most)?.ok_or(JournalError::Changed)?;
                    (EntriesRead::of(after, entries, state.position(), asked), Some(cursor))
                }
                None => {
                    let mut read = state.read(after, asked)?;
                    read.entries.truncate(most);
                    let last = read.entries.last().map(|last| index(last.position - state.base.0));
                    let cursor = state.log.as_ref().zip(last);
                    (read, cursor.map(|(log, last)| state.cursor_at(log, last)))
                }
            };
            if lag > 0 {
                read.looked = Looked::Partly;
            }
            Ok((read, cursor))
        })
    }

    /// The same, and waits for the first entry.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::read_behind`].
    pub async fn follow_behind(
        &self,
        after: u64,
        timeout: Duration,
        stand: Option<Cursor>,
        lag: usize,
    ) -> Result<(News, Option<Cursor>), JournalError> {
        self.wait_beyond(after, timeout).await;
        let (read, cursor) = self.read_behind(after, stand, lag).await?;
        Ok((News { read, now: self.clock.now() }, cursor))
    }
}
