//! Reads entries, and looks for new ones.

use super::MySql;
use super::load::{CLOCK, HEAD, RUN, begin, entry};
use crate::cluster::News;
use crate::database::{follow_on, front, looked, strange, unchanged};
use crate::entry::{EntriesRead, Entry};
use crate::error::JournalError;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_store::mysql::Row;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

impl MySql {
    pub(crate) async fn read(&self, after: u64) -> Result<EntriesRead, JournalError> {
        Ok(self.look(after).await?.read)
    }

    pub(crate) async fn follow(&self, after: u64, within: Duration) -> Result<News, JournalError> {
        let end = Instant::now() + within;
        loop {
            let news = self.look(after).await?;
            if !news.read.entries.is_empty() {
                self.inner.pace.note_entries();
                return Ok(news);
            }
            sleep_until((Instant::now() + self.inner.pace.pause()).min(end)).await;
            // The next call looks first of all: a look now would be one too many.
            if Instant::now() >= end {
                return Ok(news);
            }
        }
    }

    async fn look(&self, after: u64) -> Result<News, JournalError> {
        let (inner, asked) = (&self.inner, Instant::now());
        let text = inner.tables.sql(&format!(
            "{HEAD}; {RUN}; SELECT position, at, epoch, before_name, body FROM `~entries` \
             WHERE position > {after} ORDER BY position LIMIT {READ_ENTRIES}; {CLOCK}",
            after = after.min(i64::MAX.cast_unsigned()),
        ));
        let found = inner.pool.snapshot(&text).await;
        let found = found.map_err(|failure| looked(inner.space, failure))?;
        let seen = self.seen(after, &found, asked);
        if let Err(failure) = &seen {
            self.make_token(failure).await;
        }
        seen.map_err(unchanged)
    }

    fn seen(&self, after: u64, found: &[Vec<Row>], asked: Instant) -> Result<News, JournalError> {
        let [head, run, entries, clock] = found else { return Err(strange("other lists")) };
        self.note_run(run)?;
        let loaded = begin(self.inner.space, head.first(), clock)?;
        loaded.check_space()?;
        let row = loaded.row.ok_or(JournalError::Gone(self.inner.space))?;
        if after < row.base.0 {
            return Err(JournalError::Trimmed { wanted: after + 1, first: row.base.0 + 1 });
        }
        let entries: Vec<Entry> = entries.iter().map(entry).collect::<Result<_, _>>()?;
        let entries = front(follow_on(after, entries))?;
        let end = row.head(loaded.now).position;
        let read = EntriesRead::of(after, entries, end, asked);
        Ok(News { read, now: self.clock().unwrap_or(loaded.now) })
    }
}
