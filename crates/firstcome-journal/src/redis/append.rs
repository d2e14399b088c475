//! Appends an entry, and reads what the caller has not applied yet.

use super::Redis;
use super::confirm::Waiting;
use super::connection::AppendConnection;
use super::follow::{end_of, range};
use super::info::replicas;
use super::options::WAIT;
use super::scripts::{done, name_bytes};
use super::trouble::{looked, trouble, unexpected};
use super::value::StreamEntries;
use crate::entry::{Append, AppendAnswer, Confirm, EntriesRead, Entry};
use crate::error::JournalError;
use firstcome_inject::{Mistake, inject};
use firstcome_store::{Answer, Command, Pinned, StoreError};
use std::sync::atomic::Ordering;
use tokio::time::Instant;

impl Redis {
    pub(crate) async fn append(&self, append: Append) -> Result<AppendAnswer, JournalError> {
        self.inner.headroom.check(&self.inner.rest).await?;
        self.check_settings().await?;
        let connection = self.connection();
        let asked = Instant::now();
        let deadline = asked + connection.wire.answer_within();
        let pinned = self.inner.incarnation.pin(&connection.wire, deadline).await?;
        let mut sent = self.send(&pinned, &append, deadline);
        let mut reply = sent.stored.await;
        if let Err(StoreError::UnknownScript) = reply {
            // It certainly did not run; what was sent after it means nothing then.
            let script = &self.inner.scripts.append.script;
            pinned.load(script, deadline).await.map_err(looked)?;
            sent = self.send(&pinned, &append, deadline);
            reply = sent.stored.await;
        }
        let rested_on = (append.applied, append.applied_name);
        done(reply.map_err(trouble)?, self.inner.space, rested_on, 0)?;

        // From here on it is stored: nothing that goes wrong may say otherwise.
        let confirm = match (sent.wait, &connection.confirmer) {
            (Some(answer), Some(confirmer)) => {
                confirmer.add(|confirmed| Waiting { pinned, answer, confirmed })
            }
            _ => Confirm::AtOnce,
        };
        let confirm = if inject(Mistake::WaitOnOtherConnection) {
            self.confirmed_by_another_connection(confirm).await
        } else {
            confirm
        };
        let missed = sent.read.await.map_err(|lost| JournalError::Unknown(lost.to_string()))?;
        let rows = missed.list().map_err(|_| unexpected(&missed, "entries"))?;
        let entries = StreamEntries::of(rows).good.into_iter().map(|(entry, _)| entry);
        let entries: Vec<Entry> = entries.collect();
        if entries.first().is_some_and(|first| first.position != append.applied + 1) {
            return Err(JournalError::Unknown(
                "what it brought back was trimmed meanwhile".to_owned(),
            ));
        }
        let end = end_of(append.applied, rows.len());
        Ok(AppendAnswer::of(EntriesRead::of(append.applied, entries, end, asked), confirm))
    }

    /// Believes what a WAIT answers on a connection that sent nothing before it: how many replicas are connected.
    ///
    /// See [`Mistake::WaitOnOtherConnection`].
    async fn confirmed_by_another_connection(&self, confirm: Confirm) -> Confirm {
        let info = self.inner.rest.send(&Command::new("INFO").arg("replication")).await;
        let text = info.and_then(|reply| reply.text()).unwrap_or_default();
        if replicas(&text) > 0 { Confirm::AtOnce } else { confirm }
    }

    /// Picks the connection whose turn it is, or another one where nobody waits on that.
    fn connection(&self) -> &AppendConnection {
        let connections = &self.inner.append_connections;
        let next = self.inner.next_connection.fetch_add(1, Ordering::Relaxed);
        let next = &connections[next % connections.len()];
        let free = || connections.iter().find(|one| !one.is_waiting());
        if next.is_waiting() { free().unwrap_or(next) } else { next }
    }

    fn send(&self, pinned: &Pinned, append: &Append, deadline: Instant) -> Sent {
        let step = &self.inner.scripts.append;
        let keys = &self.inner.keys;
        let command = self
            .call(step, &[&keys.journal, &keys.head])
            .arg(append.applied)
            .arg(&name_bytes(append.applied_name)[..])
            .arg(&name_bytes(append.name)[..])
            .arg(&append.body[..])
            .arg(append.applied % 32);
        let stored = pinned.send(self.ready(step, command), deadline);
        let read = pinned.send(range(&keys.journal, append.applied), deadline);
        let wait = self.inner.waits.command().map(|wait| pinned.send(wait, deadline + WAIT));
        Sent { stored, read, wait }
    }
}

/// What was sent for an append, back to back.
struct Sent {
    stored: Answer,
    read: Answer,
    wait: Option<Answer>,
}
