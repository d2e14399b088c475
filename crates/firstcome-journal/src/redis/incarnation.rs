//! Checks whether a connection leads to the same run of the same server as before.
//!
//! A copy that took over, or a server that was started again, may lack what its predecessor had. Each
//! connection is asked once which run of which server it leads to, before anything rests on it.

use super::info::run_of;
use super::trouble::looked;
use crate::error::JournalError;
use firstcome_store::{Command, Pinned, StoreError, Wire};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio::time::Instant;

/// Which run of a server was seen last, and on which connections.
#[derive(Debug)]
pub(super) struct Incarnation {
    seen: Mutex<Seen>,
    times: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Seen {
    /// None where the server does not say: then every connection may lead to another one.
    run: Option<String>,
    asked: Vec<Pinned>,
}

impl Incarnation {
    /// Begins with the run of the server that was looked at when the journal was opened.
    pub(super) fn new(run: Option<String>) -> Self {
        let seen = Seen { run, asked: Vec::new() };
        Self { seen: Mutex::new(seen), times: watch::Sender::new(0) }
    }

    pub(super) fn times(&self) -> watch::Receiver<u64> {
        self.times.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection there is, if it leads to the server that was there before.
    ///
    /// Fails with [`JournalError::Changed`] once for each time that it does not.
    pub(super) async fn pin(&self, wire: &Wire, deadline: Instant) -> Result<Pinned, JournalError> {
        let pinned = wire.pin(deadline).await.map_err(looked)?;
        if self.lock().asked.iter().any(|asked| asked.is_same(&pinned)) {
            return Ok(pinned);
        }
        let first = self.lock().asked.is_empty();
        let info = pinned.send(Command::new("INFO").arg("server"), deadline).await;
        let run = match info.and_then(|reply| reply.text()) {
            Ok(text) => run_of(&text),
            Err(StoreError::Denied { .. }) => None,
            // A connection that was lost meanwhile says nothing about the server.
            Err(failure) => return Err(looked(failure)),
        };
        let mut seen = self.lock();
        seen.asked.retain(Pinned::is_up);
        seen.asked.push(pinned.clone());
        let same = seen.run == run && (run.is_some() || first);
        seen.run = run;
        drop(seen);
        if same {
            return Ok(pinned);
        }
        self.times.send_modify(|times| *times += 1);
        Err(JournalError::Changed)
    }
}
