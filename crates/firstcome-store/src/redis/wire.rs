//! One connection for commands alone.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::address::Address;
use super::command::Command;
use super::dial::Dialler;
use super::link::Link;
use super::options::RedisOptions;
use super::pinned::Pinned;
use super::reply::RedisReply;
use crate::error::StoreError;

/// One connection for commands alone, to one Redis or Valkey.
///
/// For callers that need several, because a command that waits in the server delays those behind it on its connection.
/// Cheap to clone; clones share the connection. A lost one is dialled again in the background for as long as a clone
/// is alive.
///
/// A command that waits in the server for longer than [`RedisOptions::heartbeat`], or than 2 s, has its connection taken
/// for dead.
#[derive(Debug, Clone)]
pub struct Wire {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    link: Link,
    dialler: Arc<Dialler>,
}

impl Wire {
    /// Connects to the store that `options` name.
    ///
    /// # Errors
    ///
    /// Those of [`Redis::connect`](super::Redis::connect).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: what was dialled is closed.
    pub async fn connect(options: RedisOptions) -> Result<Self, StoreError> {
        let options = Arc::new(options);
        let address = Arc::new(Address::read(&options.url)?);
        Self::dial(Arc::new(Dialler::new(options, address)?)).await
    }

    /// Makes another connection to the same store.
    ///
    /// # Errors
    ///
    /// Those of [`Wire::connect`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: what was dialled is closed.
    pub async fn another(&self) -> Result<Self, StoreError> {
        Self::dial(Arc::clone(&self.inner.dialler)).await
    }

    async fn dial(dialler: Arc<Dialler>) -> Result<Self, StoreError> {
        let link = Link::connect(Arc::clone(&dialler)).await?;
        Ok(Self { inner: Arc::new(Inner { link, dialler }) })
    }

    /// Sends a command once and gives the answer, as [`Redis::send`](super::Redis::send) does.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; [`StoreError::effect`] says whether the command may have been executed.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: a dropped command may or may not have been sent.
    pub async fn send(&self, command: &Command) -> Result<RedisReply, StoreError> {
        self.inner.link.send(command, Instant::now() + self.answer_within()).await
    }

    /// Returns a handle to the connection there is, or to the next one, waiting for it until `deadline`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreachable`] with the reason of the last try to connect, or [`StoreError::Closed`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn pin(&self, deadline: Instant) -> Result<Pinned, StoreError> {
        self.inner.link.pin(deadline).await
    }

    /// Returns how long a command may take: [`RedisOptions::answer_within`].
    #[must_use]
    pub fn answer_within(&self) -> Duration {
        self.inner.dialler.options.answer_within
    }

    /// Closes the connection, for all clones, and waits for the task behind it.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the task ends all the same.
    pub async fn close(&self) {
        self.inner.link.close().await;
    }
}
