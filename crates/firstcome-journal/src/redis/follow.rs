//! Reads entries, and waits for new ones.

use super::trouble::{looked, unexpected};
use super::value::Entries;
use super::{Inner, Redis};
use crate::cluster::News;
use crate::entry::Entry;
use crate::failure::Failure;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_store::{Command, Reply};
use std::time::Duration;
use tokio::time::Instant;

/// How long the server waits for news at most before it says that there are none.
const BLOCK: Duration = Duration::from_millis(300);

/// The command that reads what lies beyond a position.
pub(super) fn range(journal: &str, after: u64) -> Command {
    let from = format!("{}-0", after.saturating_add(1));
    Command::new("XRANGE").arg(journal).arg(from).arg("+").arg("COUNT").arg(READ_ENTRIES)
}

impl Redis {
    pub(crate) async fn read(&self, after: u64) -> Result<Vec<Entry>, Failure> {
        let command = range(&self.inner.keys.journal, after);
        let reply = self.inner.rest.send(&command).await.map_err(looked)?;
        let rows = reply.list().map_err(|_| unexpected(&reply, "entries"))?;
        if rows.is_empty() {
            self.inner.first_kept.check(&self.inner.rest, &self.inner.keys, after).await?;
        }
        Self::entries(after, rows)
    }

    pub(crate) async fn follow(&self, after: u64, timeout: Duration) -> Result<News, Failure> {
        let wire = &self.inner.subscriber;
        let end = Instant::now() + timeout;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            // A time of 0 would mean for ever.
            let block = left.min(BLOCK).max(Duration::from_millis(1));
            let deadline = Instant::now() + block + wire.answer_within();
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
                return Ok(News { entries: Self::entries(after, rows)?, now });
            }
            if Instant::now() >= end {
                let Inner { rest, keys, first_kept, .. } = &*self.inner;
                first_kept.check_if_known(rest, keys, after).await?;
                return Ok(News { entries: Vec::new(), now });
            }
        }
    }

    /// Reads entries that should go on after a position.
    fn entries(after: u64, rows: &[Reply]) -> Result<Vec<Entry>, Failure> {
        let entries = Entries::of(rows).front()?;
        if let Some((entry, _)) = entries.first().filter(|(entry, _)| entry.position > after + 1) {
            return Err(Failure::Trimmed { wanted: after + 1, first: entry.position });
        }
        Ok(entries.into_iter().map(|(entry, _)| entry).collect())
    }
}

/// Gives the rows of the one stream that was asked for; none where the time ran out.
fn rows(reply: &Reply) -> Result<Option<&[Reply]>, Failure> {
    let strange = || unexpected(reply, "a stream");
    let Reply::List(streams) = reply else {
        return if *reply == Reply::Nil { Ok(None) } else { Err(strange()) };
    };
    let [stream] = &streams[..] else { return Err(strange()) };
    let [_, Reply::List(rows)] = stream.list().map_err(|_| strange())? else {
        return Err(strange());
    };
    Ok(Some(rows))
}
