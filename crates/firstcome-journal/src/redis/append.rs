//! The step that stores an entry, and what comes back with it.

use super::confirm::{Confirmer, Waiting};
use super::follow::range;
use super::scripts::{done, name_bytes};
use super::trouble::{looked, trouble, unexpected};
use super::value::Entries;
use super::{Redis, Waits};
use crate::{Append, Confirm, Entry, Exchange, Failure};
use firstcome_inject::{Mistake, inject};
use firstcome_store::{Answer, Command, Failure as Store, Pinned, Wire};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// How long one WAIT waits in the server.
pub(super) const WAIT: Duration = Duration::from_millis(100);

/// One of the connections that take turns.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) wire: Wire,
    pub(super) confirmer: Option<Confirmer>,
}

impl Lane {
    pub(super) fn new(wire: Wire, waits: Waits) -> Self {
        let confirmer = (waits != Waits::No).then(|| Confirmer::start(waits, wire.answer_within()));
        Self { wire, confirmer }
    }

    /// Says whether a WAIT may hold up what is sent now.
    fn is_waiting(&self) -> bool {
        self.confirmer.as_ref().is_some_and(Confirmer::is_waiting)
    }

    pub(super) async fn close(&self) {
        self.wire.close().await;
        if let Some(confirmer) = &self.confirmer {
            confirmer.close().await;
        }
    }
}

impl Waits {
    /// The command that waits, for a connection on which something was just written.
    pub(super) fn command(self) -> Option<Command> {
        let millis = WAIT.as_millis() as u64;
        match self {
            Self::No => None,
            Self::Copies(copies) => Some(Command::new("WAIT").arg(copies).arg(millis)),
            Self::Aof => Some(Command::new("WAITAOF").arg(1).arg(0).arg(millis)),
        }
    }
}

impl Redis {
    pub(crate) async fn append(&self, append: Append) -> Result<Exchange, Failure> {
        self.check_room().await?;
        let lane = self.lane();
        let deadline = Instant::now() + lane.wire.answer_within();
        let pinned = self.pin(&lane.wire, deadline).await?;
        let mut sent = self.send(&pinned, &append, deadline);
        let mut reply = sent.stored.await;
        if let Err(Store::UnknownScript) = reply {
            // It certainly did not run; what was sent behind it means nothing then.
            let script = &self.inner.scripts.append.script;
            pinned.load(script, deadline).await.map_err(looked)?;
            sent = self.send(&pinned, &append, deadline);
            reply = sent.stored.await;
        }
        let rested_on = (append.applied, append.applied_name);
        done(reply.map_err(trouble)?, self.inner.space, rested_on, 0)?;

        // From here on it is stored: nothing that goes wrong may say otherwise.
        let confirm = match (sent.wait, &lane.confirmer) {
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
        let missed = sent.read.await.map_err(|lost| Failure::Unknown(lost.to_string()))?;
        let rows = missed.list().map_err(|_| unexpected(&missed, "entries"))?;
        let entries = Entries::of(rows).good.into_iter().map(|(entry, _)| entry);
        let entries: Vec<Entry> = entries.collect();
        if entries.first().is_some_and(|first| first.position != append.applied + 1) {
            return Err(Failure::Unknown("what it brought back was trimmed meanwhile".to_owned()));
        }
        Ok(Exchange { entries, confirm })
    }

    /// Believes what a WAIT answers on a connection that sent nothing before it: how many replicas are connected.
    ///
    /// See [`Mistake::WaitOnOtherConnection`].
    async fn confirmed_by_another_connection(&self, confirm: Confirm) -> Confirm {
        let info = self.inner.rest.send(&Command::new("INFO").arg("replication")).await;
        let text = info.and_then(|reply| reply.text()).unwrap_or_default();
        if super::opening::replicas(&text) > 0 { Confirm::AtOnce } else { confirm }
    }

    /// Picks the connection whose turn it is, or another one where nobody waits on that.
    fn lane(&self) -> &Lane {
        let lanes = &self.inner.lanes;
        let turn = self.inner.turn.fetch_add(1, Ordering::Relaxed);
        let next = &lanes[turn % lanes.len()];
        let free = || lanes.iter().find(|lane| !lane.is_waiting());
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
