//! Reads entries, and waits for new ones.

use super::Nats;
use super::log::{Ended, Read};
use super::view::{Streams, View};
use crate::ancestry::Cursor;
use crate::cluster::News;
use crate::database::{Broken, follow_on, front};
use crate::entry::Entry;
use crate::failure::Failure;
use firstcome_core::Timestamp;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_store::Failure as Store;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How often a node looks by itself to which every entry is delivered: whoever delivers may be gone.
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl Nats {
    pub(crate) async fn read(&self, after: u64) -> Result<Vec<Entry>, Failure> {
        let read = self.try_read(after).await;
        read.map_err(|broken| self.unchanged(broken))
    }

    pub(crate) async fn follow(&self, after: u64, within: Duration) -> Result<News, Failure> {
        let end = Instant::now() + within;
        let mut told = self.inner.streams.log.tail.told();
        loop {
            told.mark_unchanged();
            let news = self.news(after).await.map_err(|broken| self.unchanged(broken))?;
            if !news.entries.is_empty() || Instant::now() >= end {
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

    async fn news(&self, after: u64) -> Result<News, Broken> {
        let before = self.last_seen();
        let log = match self.inner.streams.log.stream.info().await {
            // A look says what is gone.
            Err(Store::NoDatabase { .. }) => {
                let entries = self.try_read(after).await?;
                let now = self.look().await?.1.now;
                return Ok(News { entries, now: Timestamp::from_micros(now) });
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
            return Ok(News { entries: Vec::new(), now });
        }
        let mut entries = Vec::new();
        if let Some(mut cursor) = known.filter(|known| known.sequence < log.last) {
            entries = self.read_new(&mut cursor, log.last, after).await?;
        }
        if entries.is_empty() {
            entries = self.try_read(after).await?;
        }
        if entries.is_empty() {
            self.note_nothing(log.last, after);
        }
        Ok(News { entries, now })
    }

    /// Reads on behind a cursor up to a message that is there; nothing where it is another log than the one that was read.
    async fn read_new(
        &self,
        cursor: &mut Cursor,
        to: u64,
        after: u64,
    ) -> Result<Vec<Entry>, Broken> {
        let log = &self.inner.streams.log;
        let read = log.read_delivered_to(cursor, to, READ_ENTRIES).await?;
        if read.ended != Ended::There {
            log.forget();
            return Ok(Vec::new());
        }
        log.remember(cursor);
        Ok(front(follow_on(after, read.entries))?)
    }

    async fn try_read(&self, after: u64) -> Result<Vec<Entry>, Broken> {
        let log = &self.inner.streams.log;
        if let Some(mut cursor) = log.known(after, None) {
            match log.read_once(&mut cursor, READ_ENTRIES).await {
                Ok(Read { entries, ended: Ended::There, .. }) if !entries.is_empty() => {
                    log.remember(&cursor);
                    return Ok(front(follow_on(after, entries))?);
                }
                // Nobody takes it: a look says whether the streams are gone, or where the journal begins.
                Ok(_) | Err(Broken::Store(Store::Unreachable { .. })) => {}
                Err(broken) => return Err(broken),
            }
        }
        let (view, _) = self.look().await?;
        let row = view.row().ok_or(Failure::Gone(self.inner.space))?;
        if row.space != self.inner.space {
            let wanted = self.inner.space;
            return Err(Failure::OtherSpace { found: row.space, wanted }.into());
        }
        if after < row.base.0 {
            return Err(Failure::Trimmed { wanted: after + 1, first: row.base.0 + 1 }.into());
        }
        if after >= view.end.tip.position {
            return Ok(Vec::new());
        }
        self.inner.streams.entries(&view, after, READ_ENTRIES).await
    }
}

impl Streams {
    /// Reads entries that are there, from one behind a position on.
    pub(super) async fn entries(
        &self,
        view: &View,
        after: u64,
        most: usize,
    ) -> Result<Vec<Entry>, Broken> {
        let mut cursor = self.stand_at(view, after).await?;
        let read = self.log.read_to(&mut cursor, view.log_last(), most).await?;
        match read.ended {
            Ended::There => self.log.remember(&cursor),
            // Since it was looked.
            Ended::Lost | Ended::Restarted => return Err(Failure::Changed.into()),
        }
        Ok(front(follow_on(after, read.entries))?)
    }
}
