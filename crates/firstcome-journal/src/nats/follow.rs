//! Reads entries, and waits for new ones.

use super::stored::{read_entry, whole};
use super::subjects::Subjects;
use super::{COPY_WITHIN, Nats};
use crate::cluster::News;
use crate::database::{Broken, follow_on, front};
use crate::entry::Entry;
use crate::failure::Failure;
use firstcome_core::Timestamp;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_store::Failure as Store;
use firstcome_store::nats::Stream;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Bytes of entries after which no more are read at once.
const READ_BYTES: usize = 8 << 20;
/// How often a node looks by itself that hears of every entry: a word may be lost.
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl Nats {
    pub(crate) async fn read(&self, after: u64) -> Result<Vec<Entry>, Failure> {
        let read = self.try_read(after).await;
        read.map_err(|broken| self.unchanged(broken))
    }

    pub(crate) async fn follow(&self, after: u64, within: Duration) -> Result<News, Failure> {
        let end = Instant::now() + within;
        let mut told = self.inner.told.clone();
        loop {
            told.mark_unchanged();
            let news = self.news(after).await.map_err(|broken| self.unchanged(broken))?;
            if !news.entries.is_empty() || Instant::now() >= end {
                return Ok(news);
            }
            let next = (Instant::now() + LOOK_EVERY).min(end);
            let heard = timeout_at(next, told.changed()).await;
            // Whoever is told of nothing any more looks at its pace.
            if let Ok(Err(_closed)) = heard {
                tokio::time::sleep_until(next).await;
            }
            if Instant::now() >= end {
                return Ok(news);
            }
        }
    }

    async fn news(&self, after: u64) -> Result<News, Broken> {
        let before = self.last_seen();
        let info = self.inner.stream.info().await?;
        self.note_run(&info, before)?;
        let now = self.clock().unwrap_or(Timestamp::from_micros(info.now));
        if self.nothing_new(info.last, after) {
            return Ok(News { entries: Vec::new(), now });
        }
        let entries = self.try_read(after).await?;
        if entries.is_empty() {
            self.note_nothing(info.last, after);
        }
        Ok(News { entries, now })
    }

    async fn try_read(&self, after: u64) -> Result<Vec<Entry>, Broken> {
        match self.from(after + 1, READ_ENTRIES).await {
            Ok(Some(entries)) => return Ok(front(follow_on(after, entries))?),
            // Nobody takes it: a look says whether the stream is gone.
            Ok(None) | Err(Broken::Store(Store::Unreachable { .. })) => {}
            Err(broken) => return Err(broken),
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
        match row.last {
            Some(last) if last.position > after => {
                let entries = self.all_of(after + 1, last.position).await?;
                Ok(front(follow_on(after, entries))?)
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// Reads entries from a position on that are known to be there, at least the first one; from one to the last, or as
    /// many as are read at once. A server that lags is asked again.
    pub(super) async fn all_of(&self, first: u64, last: u64) -> Result<Vec<Entry>, Broken> {
        let end = Instant::now() + COPY_WITHIN;
        loop {
            // One more than are given: the first one may be there to be compared only.
            let found = self.from(first, READ_ENTRIES + 1).await?.unwrap_or_default();
            let enough = found.len() > READ_ENTRIES
                || found.last().is_some_and(|entry| entry.position >= last)
                || found.iter().map(|entry| entry.body.len()).sum::<usize>() >= READ_BYTES;
            if enough {
                return Ok(found);
            }
            if Instant::now() >= end {
                let why = "it is missing in the stream".to_owned();
                let position = first + u64::try_from(found.len()).unwrap_or(0);
                return Err(Failure::Damaged { position, why }.into());
            }
            self.forget_sequences();
            self.pause().await;
        }
    }

    /// Reads entries from a position on; `None` where that one is not found.
    async fn from(&self, first: u64, count: usize) -> Result<Option<Vec<Entry>>, Broken> {
        let Some(sequence) = self.sequence_of(first).await? else { return Ok(None) };
        let found = next_entries(&self.inner.stream, &self.inner.subjects, sequence, count).await?;
        if found.first().is_none_or(|(entry, _)| entry.position != first) {
            return Ok(None);
        }
        Ok(Some(
            found
                .into_iter()
                .map(|(entry, sequence)| {
                    self.remember(entry.position, sequence);
                    entry
                })
                .collect(),
        ))
    }
}

/// Reads entries from a message of the stream on, each with its sequence.
pub(super) async fn next_entries(
    stream: &Stream,
    subjects: &Subjects,
    from: u64,
    count: usize,
) -> Result<Vec<(Entry, u64)>, Broken> {
    let found = stream.next(&subjects.entries(), from, count, READ_BYTES).await?;
    let mut entries = Vec::new();
    for stored in found {
        let broken = || Failure::Broken("an entry has no position".to_owned());
        let position = subjects.position(&stored.subject).ok_or_else(broken)?;
        let stored = whole(stream, stored).await?;
        entries.push((read_entry(position, &stored)?, stored.sequence));
    }
    Ok(entries)
}
