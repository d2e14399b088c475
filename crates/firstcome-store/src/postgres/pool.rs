//! A small pool of connections to one PostgreSQL.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::dial::{Dialler, Line};
use super::options::PostgresOptions;
use crate::error::StoreError;

/// How long a connection that was not used for a while may take to show that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);

/// A small pool of connections to one PostgreSQL.
///
/// Cheap to clone; all clones share the connections, which are made when they are needed.
#[derive(Debug, Clone)]
pub struct PostgresPool {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) dialler: Dialler,
    idle: Mutex<Vec<Line>>,
    permits: Arc<Semaphore>,
}

/// The use of one connection, which goes back into the pool on drop.
#[derive(Debug)]
pub struct Session {
    inner: Arc<Inner>,
    /// None after a connection was left.
    line: Option<Line>,
    _permit: OwnedSemaphorePermit,
}

impl PostgresPool {
    /// Makes a pool; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::Address`]: the URL cannot be read, or the authorities it names.
    pub fn new(options: PostgresOptions) -> Result<Self, StoreError> {
        let permits = Arc::new(Semaphore::new(options.connections));
        let dialler = Dialler::new(options)?;
        Ok(Self { inner: Arc::new(Inner { dialler, idle: Mutex::default(), permits }) })
    }

    /// Names the server, host and port, for messages.
    #[must_use]
    pub fn place(&self) -> String {
        self.inner.dialler.place()
    }

    /// Returns how long a statement may take: [`PostgresOptions::answer_within`].
    #[must_use]
    pub fn answer_within(&self) -> Duration {
        self.inner.dialler.options.answer_within
    }

    /// Waits for a connection that is free, and makes one if there may be more.
    ///
    /// # Errors
    ///
    /// Why there is none within [`PostgresOptions::connect_within`]: see [`StoreError`]. Nothing was carried out.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn session(&self) -> Result<Session, StoreError> {
        let inner = Arc::clone(&self.inner);
        let limit = inner.dialler.options.connect_within;
        let permit = match timeout(limit, Arc::clone(&inner.permits).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(StoreError::Closed),
            Err(_) => {
                let reason = format!("every connection of ours was in use for {limit:?}");
                return Err(StoreError::Unreachable { place: inner.dialler.place(), reason });
            }
        };
        let line = match inner.living().await {
            Some(line) => line,
            None => inner.dialler.line().await?,
        };
        Ok(Session { inner, line: Some(line), _permit: permit })
    }

    /// Closes the connections that are free, and those in use when they come back; nobody gets one any more.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: they close all the same.
    pub async fn close(&self) {
        self.inner.permits.close();
        for line in self.inner.take_idle() {
            line.close().await;
        }
    }
}

impl Inner {
    fn take_idle(&self) -> Vec<Line> {
        std::mem::take(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a free connection that lives, if there is one. One that stopped answering is left.
    async fn living(&self) -> Option<Line> {
        loop {
            let line = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if line.client.is_closed() {
                continue;
            }
            if line.used.elapsed() < self.dialler.options.heartbeat {
                return Some(line);
            }
            if let Ok(Ok(())) = timeout(SIGN_OF_LIFE, line.client.batch_execute("")).await {
                return Some(line);
            }
        }
    }
}

impl Session {
    /// Returns the number of its connection, as [`Work::connection`](super::Work::connection) does; none after it was left.
    #[must_use]
    pub fn connection(&self) -> Option<u64> {
        self.line.as_ref().map(|line| line.number)
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// Leaves a connection whose process of the server may wait for a standby for as long as that is away: the end of a
    /// connection does not end that. Not for a pooler: PgBouncer 1.18 was gone after it had been asked to cancel.
    pub(super) fn end_wait(&self, line: Line) {
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            let limit = inner.dialler.options.connect_within;
            let end = async {
                inner.dialler.cancel(&line).await;
                line.client.batch_execute("").await
            };
            // Without an answer it waits on: there is nothing else to do about it.
            drop(timeout(limit, end).await);
        });
    }

    pub(super) fn keep(&mut self, line: Line) {
        self.line = Some(line);
    }

    pub(super) fn take(&mut self) -> Option<Line> {
        self.line.take()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let closed = self.inner.permits.is_closed();
        if let Some(line) = self.line.take().filter(|line| !closed && !line.client.is_closed()) {
            self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    }
}
