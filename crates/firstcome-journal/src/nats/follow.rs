//! Reads entries, and waits for new ones.

use super::Nats;
use super::log::Ended;
use super::view::{Streams, View};
use crate::ancestry::Cursor;
use crate::cluster::News;
use crate::database::{DatabaseError, follow_on, front};
use crate::entry::{EntriesRead, Entry, Looked};
use crate::error::JournalError;
use firstcome_core::Timestamp;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_store::StoreError;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How often a node looks by itself to which every entry is delivered: whoever delivers may be gone.
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl Nats {
    pub(crate) async fn read(&self, after: u64) -> Result<EntriesRead, JournalError> {
        let news = self.news(after).await;
        Ok(news.map_err(|broken| self.unchanged(broken))?.read)
    }

    pub(crate) async fn follow(&self, after: u64, within: Duration) -> Result<News, JournalError> {
        let end = Instant::now() + within;
        let mut told = self.inner.streams.log.tail.told();
        loop {
            told.mark_unchanged();
            let news = self.news(after).await.map_err(|broken| self.unchanged(broken))?;
            if !news.read.entries.is_empty() || Instant::now() >= end {
                return Ok(news);
            }
            let next = (Instant::now() + LOOK_EVERY).min(end);
            // The sender is as long there as this journal.
            drop(timeout_at(next, told.changed()).await);
            if Instant::now() >= end {
                return Ok(news);
            }
        }
    }

    /// Reads up to where the server that leads the log says that it ends; what was delivered need not come from a server.
    async fn news(&self, after: u64) -> Result<News, DatabaseError> {
        let (asked, before) = (Instant::now(), self.last_seen());
        let log = match self.inner.streams.log.stream.info().await {
            // A look says what is gone.
            Err(StoreError::NoDatabase { .. }) => {
                let read = self.read_after_look(after).await?;
                let now = self.look().await?.1.now;
                return Ok(News { read, now: Timestamp::from_micros(now) });
            }
            log => log?,
        };
        self.note_run(&log, before, false)?;
        let now = self.clock().unwrap_or(Timestamp::from_micros(log.now));
        let known = self.inner.streams.log.known(after, None);
        if self.nothing_new(log.last, after) {
            if let Some(cursor) = known {
                self.inner.streams.log.tail.begin(&cursor);
            }
            return Ok(News { read: EntriesRead::of(after, Vec::new(), after, asked), now });
        }
        if let Some(cursor) = known.filter(|known| known.sequence < log.last)
            && let Some(read) = self.read_new(cursor, log.last, after, asked).await?
        {
            return Ok(News { read, now });
        }
        let read = self.read_after_look(after).await?;
        if read.entries.is_empty() && matches!(read.looked, Looked::ToEnd { .. }) {
            self.note_nothing(log.last, after);
        }
        Ok(News { read, now })
    }

    /// Reads on behind a cursor up to a message that was the last one when it was asked; nothing where it is another log than
    /// the one that was read.
    async fn read_new(
        &self,
        mut cursor: Cursor,
        to: u64,
        after: u64,
        asked: Instant,
    ) -> Result<Option<EntriesRead>, DatabaseError> {
        let log = &self.inner.streams.log;
        let read = log.read_delivered_to(&mut cursor, to, READ_ENTRIES).await?;
        if read.ended != Ended::There {
            log.forget();
            return Ok(None);
        }
        log.remember(&cursor);
        Ok(Some(read_to(&cursor, to, after, read.entries, asked)?))
    }

    async fn read_after_look(&self, after: u64) -> Result<EntriesRead, DatabaseError> {
        let asked = Instant::now();
        let (view, _) = self.look().await?;
        let row = view.row().ok_or(JournalError::Gone(self.inner.space))?;
        if row.space != self.inner.space {
            let wanted = self.inner.space;
            return Err(JournalError::OtherSpace { found: row.space, wanted }.into());
        }
        if after < row.base.0 {
            return Err(JournalError::Trimmed { wanted: after + 1, first: row.base.0 + 1 }.into());
        }
        let end = view.end.tip.position;
        if after >= end {
            return Ok(EntriesRead::of(after, Vec::new(), end, asked));
        }
        self.inner.streams.entries(&view, after, READ_ENTRIES, asked).await
    }
}

impl Streams {
    /// Reads entries that are there, from one behind a position on.
    pub(super) async fn entries(
        &self,
        view: &View,
        after: u64,
        most: usize,
        asked: Instant,
    ) -> Result<EntriesRead, DatabaseError> {
        let mut cursor = self.stand_at(view, after).await?;
        let to = view.log_last();
        let read = self.log.read_to(&mut cursor, to, most).await?;
        match read.ended {
            Ended::There => self.log.remember(&cursor),
            // Since it was looked.
            Ended::Lost | Ended::Restarted => return Err(JournalError::Changed.into()),
        }
        Ok(read_to(&cursor, to, after, read.entries, asked)?)
    }
}

/// Returns what was read behind a position, where a reader of a log which ended with message `to` stands behind it now.
fn read_to(
    cursor: &Cursor,
    to: u64,
    after: u64,
    entries: Vec<Entry>,
    asked: Instant,
) -> Result<EntriesRead, JournalError> {
    let end = if cursor.sequence >= to { cursor.tip.position } else { u64::MAX };
    Ok(EntriesRead::of(after, front(follow_on(after, entries))?, end, asked))
}
