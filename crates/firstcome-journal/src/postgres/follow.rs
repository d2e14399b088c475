//! Reads entries, and waits for new ones.

use super::Postgres;
use super::append::{TELL_EVERY, cell, entry};
use crate::cluster::News;
use crate::database::{Durability, end_of, follow_on, front, looked, space_of, unchanged};
use crate::entry::EntriesRead;
use crate::error::JournalError;
use firstcome_core::Timestamp;
use firstcome_store::postgres::{Heard, Row, ToSql, Type};
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// What lies beyond a position, and who answers: one row at least.
const READ: &str = "SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, \
    e.position, e.at, e.epoch, e.before, e.body, h.space, h.base_position, \
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, \
    EXISTS (SELECT 1 FROM entries WHERE entries.position = $1) \
    FROM (SELECT 1) AS one LEFT JOIN head h ON true LEFT JOIN LATERAL \
    (SELECT * FROM entries WHERE entries.position > $1 ORDER BY entries.position LIMIT 64) e ON true \
    ORDER BY e.position";

/// The longest time without a look where notifications come: one may be left out.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long is waited for the connection that listens before the first look.
const LISTENS_WITHIN: Duration = Duration::from_millis(100);
/// After a notification others may be left out for [`TELL_EVERY`]; what was stored meanwhile is there then.
const LOOK_AGAIN: Duration = TELL_EVERY.saturating_add(Duration::from_millis(5));

impl Postgres {
    pub(crate) async fn read(&self, after: u64) -> Result<EntriesRead, JournalError> {
        Ok(self.look(after).await?.read)
    }

    pub(crate) async fn follow(&self, after: u64, within: Duration) -> Result<News, JournalError> {
        let end = Instant::now() + within;
        // Before the first look, so that nothing is missed in between.
        let mut ear = self.ear().await;
        let mut heard_at = None;
        loop {
            let news = self.look(after).await?;
            if !news.read.entries.is_empty() {
                self.inner.pace.note_entries();
                return Ok(news);
            }
            let now = Instant::now();
            let next_look = match (&ear, heard_at.take()) {
                (None, _) => now + self.inner.pace.pause(),
                (Some(_), Some(heard)) => heard + LOOK_AGAIN,
                (Some(_), None) => now + LOOK_EVERY,
            };
            let heard = self.hear(&mut ear, next_look.min(end)).await;
            // The next call looks first of all: a look now would be one too many.
            if Instant::now() >= end {
                return Ok(news);
            }
            heard_at = heard.then(Instant::now);
        }
    }

    /// Subscribes to notifications; `None` where there are none.
    async fn ear(&self) -> Option<Receiver<Heard>> {
        let inner = &self.inner;
        if inner.pooled {
            return None;
        }
        let names = &inner.names;
        let listener = inner
            .listener
            .get_or_init(|| inner.pool.listener_with_lock(&names.schema, names.listening_lock));
        // One that cannot listen now looks instead.
        timeout(LISTENS_WITHIN, listener.subscribe()).await.ok()?.ok()
    }

    /// Waits for a notification of somebody else, or until a time; says whether there was one.
    async fn hear(&self, ear: &mut Option<Receiver<Heard>>, until: Instant) -> bool {
        let Some(receiver) = ear else {
            sleep_until(until).await;
            return false;
        };
        while let Ok(heard) = timeout_at(until, receiver.recv()).await {
            match heard {
                Ok(Heard::Note(note)) if *note == *self.inner.note => {}
                // Something may have been missed.
                Ok(Heard::Note(_) | Heard::Cut) | Err(RecvError::Lagged(_)) => return true,
                Err(RecvError::Closed) => {
                    *ear = None;
                    return false;
                }
            }
        }
        false
    }

    async fn look(&self, after: u64) -> Result<News, JournalError> {
        let (inner, asked) = (&self.inner, Instant::now());
        let values: [(&(dyn ToSql + Sync), Type); 1] = [(&after.cast_signed(), Type::INT8)];
        let rows = match inner.options.durability {
            // Entries may have been committed without waiting for the disk.
            Durability::Fsync => inner.pool.read_and_sync(READ, &values, has_entries).await,
            Durability::Memory => inner.pool.step(READ, &values).await,
        };
        let rows = rows.map_err(|failure| looked(inner.space, failure))?;
        let Some(first) = rows.first() else { return Err(JournalError::Gone(inner.space)) };
        inner.run.note(cell(first, 0).map_err(unchanged)?)?;
        let Some(space) = cell::<Option<&[u8]>>(first, 6).map_err(unchanged)? else {
            return Err(JournalError::Gone(inner.space));
        };
        let found = space_of(space)?;
        if found != inner.space {
            return Err(JournalError::OtherSpace { found, wanted: inner.space });
        }
        let base = cell::<i64>(first, 7).map_err(unchanged)?.cast_unsigned();
        if after < base {
            return Err(JournalError::Trimmed { wanted: after + 1, first: base + 1 });
        }
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(body) = cell::<Option<&[u8]>>(row, 5).map_err(unchanged)? {
                entries.push(entry(row, body.into()).map_err(unchanged)?);
            }
        }
        // Where it does not have what the caller has, it says nothing about where the journal ends.
        let has_applied = after == base || cell(first, 9).map_err(unchanged)?;
        let end = if has_applied { end_of(after, &entries) } else { 0 };
        let entries = front(follow_on(after, entries))?;
        let now = Timestamp::from_micros(cell(first, 8).map_err(unchanged)?);
        let read = EntriesRead::of(after, entries, end, asked);
        Ok(News { read, now: self.clock().unwrap_or(now) })
    }
}

/// Says whether there is an entry in what was read.
fn has_entries(rows: &[Row]) -> bool {
    rows.iter().any(|row| matches!(cell::<Option<i64>>(row, 1), Ok(Some(_))))
}
