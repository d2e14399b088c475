//! Reads entries, and waits for new ones.

use super::trouble::{looked, unexpected};
use super::value::{StreamEntries, position_of};
use super::{Inner, Redis};
use crate::cluster::News;
use crate::entry::{EntriesRead, Looked};
use crate::error::JournalError;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_store::{Command, RedisReply};
use std::time::Duration;
use tokio::time::Instant;

/// How long the server waits for news at most before it says that there are none.
const BLOCK: Duration = Duration::from_millis(300);

/// The command that reads what lies beyond a position.
pub(super) fn range(journal: &str, after: u64) -> Command {
    range_from(journal, after.saturating_add(1), READ_ENTRIES)
}

fn range_from(journal: &str, first: u64, most: usize) -> Command {
    Command::new("XRANGE").arg(journal).arg(format!("{first}-0")).arg("+").arg("COUNT").arg(most)
}

impl Redis {
    pub(crate) async fn read(&self, after: u64) -> Result<EntriesRead, JournalError> {
        let (asked, wire) = (Instant::now(), &self.inner.rest);
        let deadline = asked + wire.answer_within();
        // Another server, or another run of one, may have less than this node has applied.
        let pinned = self.inner.incarnation.pin(wire, deadline).await?;
        // With what the caller has: where that is not, the answer says nothing about where the journal ends.
        let command = range_from(&self.inner.keys.journal, after, READ_ENTRIES + 1);
        let reply = pinned.send(command, deadline).await.map_err(looked)?;
        let rows = reply.list().map_err(|_| unexpected(&reply, "entries"))?;
        let (applied, rows) = match rows.split_first() {
            Some((first, beyond)) if position_of(first) == Some(after) => (true, beyond),
            _ => (false, &rows[..rows.len().min(READ_ENTRIES)]),
        };
        let mut read = Self::entries(after, rows, asked)?;
        if !applied && rows.is_empty() {
            let first = self.inner.first_kept.check(wire, &self.inner.keys, after).await?;
            if first != Some(after + 1) {
                read.looked = Looked::Partly;
            }
        }
        Ok(read)
    }

    pub(crate) async fn follow(&self, after: u64, timeout: Duration) -> Result<News, JournalError> {
        let wire = &self.inner.subscriber;
        let end = Instant::now() + timeout;
        loop {
            let asked = Instant::now();
            let left = end.saturating_duration_since(asked);
            // A time of 0 would mean for ever.
            let block = left.min(BLOCK).max(Duration::from_millis(1));
            let deadline = asked + block + wire.answer_within();
            let pinned = self.inner.incarnation.pin(wire, deadline).await?;
            let command = Command::new("XREAD")
                .arg("BLOCK")
                .arg(block.as_millis() as u64)
                .arg("COUNT")
                .arg(READ_ENTRIES)
                .arg("STREAMS")
                .arg(&self.inner.keys.journal)
                .arg(format!("{after}-0"));
            let news = pinned.send(command, deadline);
            let time = pinned.send(Command::new("TIME"), deadline);
            let news = news.await.map_err(looked)?;
            let now = self.time(&time.await.map_err(looked)?)?;
            if let Some(rows) = rows(&news)? {
                return Ok(News { read: Self::entries(after, rows, asked)?, now });
            }
            if Instant::now() >= end {
                let Inner { rest, keys, first_kept, .. } = &*self.inner;
                first_kept.check_if_known(rest, keys, after).await?;
                return Ok(News { read: EntriesRead::of(after, Vec::new(), after, asked), now });
            }
        }
    }

    /// Reads entries that should go on after a position: all there are, where they are fewer than were asked for.
    pub(super) fn entries(
        after: u64,
        rows: &[RedisReply],
        asked: Instant,
    ) -> Result<EntriesRead, JournalError> {
        let entries = StreamEntries::of(rows).front()?;
        if let Some((entry, _)) = entries.first().filter(|(entry, _)| entry.position > after + 1) {
            return Err(JournalError::Trimmed { wanted: after + 1, first: entry.position });
        }
        let entries = entries.into_iter().map(|(entry, _)| entry).collect();
        Ok(EntriesRead::of(after, entries, end_of(after, rows.len()), asked))
    }
}

/// Returns where a journal ends of which so many entries were read behind a position; the largest number if there may be more.
pub(super) fn end_of(after: u64, entries: usize) -> u64 {
    if entries < READ_ENTRIES { after + entries as u64 } else { u64::MAX }
}

/// Returns the rows of the one stream that was asked for; none where the time ran out.
fn rows(reply: &RedisReply) -> Result<Option<&[RedisReply]>, JournalError> {
    let strange = || unexpected(reply, "a stream");
    let RedisReply::List(streams) = reply else {
        return if *reply == RedisReply::Nil { Ok(None) } else { Err(strange()) };
    };
    let [stream] = &streams[..] else { return Err(strange()) };
    let [_, RedisReply::List(rows)] = stream.list().map_err(|_| strange())? else {
        return Err(strange());
    };
    Ok(Some(rows))
}
