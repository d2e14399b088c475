//! Redis and Valkey.

mod address;
mod command;
mod dial;
mod error_code;
mod exchange;
mod link;
mod link_state;
mod options;
mod pinned;
mod reply;
mod sentinel;
mod subscriptions;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use self::address::Address;
use self::link::Link;
use self::subscriptions::Subscriptions;
use crate::error::StoreError;

pub use self::command::{Command, Script};
pub use self::options::RedisOptions;
pub use self::pinned::{Answer, Pinned};
pub use self::reply::RedisReply;
pub use self::subscriptions::{Event, Subscription};
pub use self::wire::Wire;

/// One connection for commands and one for subscriptions, to one Redis or Valkey.
///
/// Cheap to clone; all clones share both connections. A lost connection is dialled again in the background for as
/// long as a clone is alive; commands wait for it, up to their deadline.
#[derive(Debug, Clone)]
pub struct Redis {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    link: Link,
    subscriptions: Subscriptions,
    options: Arc<RedisOptions>,
}

impl Redis {
    /// Connects to the store that `options` name.
    ///
    /// # Errors
    ///
    /// Returns the reason of the first try: a time out of range, an address that cannot be read, a server that cannot be reached within
    /// [`RedisOptions::connect_within`], a password that is wrong, a server that is too old. Later losses of the
    /// connection are repaired in the background instead.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: what was dialled is closed.
    pub async fn connect(options: RedisOptions) -> Result<Self, StoreError> {
        options.check()?;
        let options = Arc::new(options);
        let address = Arc::new(Address::read(&options.url)?);
        let dialler = Arc::new(dial::Dialler::new(Arc::clone(&options), address)?);
        let link = Link::connect(Arc::clone(&dialler)).await?;
        let subscriptions = Subscriptions::start(dialler, link.place());
        Ok(Self { inner: Arc::new(Inner { link, subscriptions, options }) })
    }

    /// Sends a command once and gives the answer.
    ///
    /// The time-out is [`RedisOptions::answer_within`], the wait for a connection included.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; [`StoreError::effect`] says whether the command may have been executed.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: a dropped command may or may not have been sent.
    pub async fn send(&self, command: &Command) -> Result<RedisReply, StoreError> {
        self.inner.link.send(command, Instant::now() + self.inner.options.answer_within).await
    }

    /// Sends commands once, to be carried out together or not at all (MULTI and EXEC), and gives their answers.
    ///
    /// The time-out is that of [`Redis::send`]. Scripts are called by their hash only: one that the server does not
    /// know is an error.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]. An error of one of the commands is given instead of the answers; the others were carried out
    /// all the same, unless it was an error that the server found before it began.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: dropped commands may or may not have been sent; never only some of them.
    pub async fn send_together(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<RedisReply>, StoreError> {
        let deadline = Instant::now() + self.inner.options.answer_within;
        match self.inner.link.send_together(commands, deadline).await? {
            RedisReply::List(replies) => Ok(replies),
            other @ (RedisReply::Nil | RedisReply::Number(_) | RedisReply::Bytes(_)) => {
                Err(StoreError::Unexpected { detail: format!("{other:?} instead of a list") })
            }
        }
    }

    /// Asks of MULTI, EXEC and each of these commands whether the user may send it, and gives what the server says to each that
    /// it denies; nothing is carried out.
    ///
    /// Where MULTI or EXEC is denied, nothing is said of the others.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]: the server did not answer at all.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn denied(&self, commands: Vec<Command>) -> Result<Vec<Option<String>>, StoreError> {
        let deadline = Instant::now() + self.inner.options.answer_within;
        self.inner.link.denied(commands, deadline).await
    }

    /// Waits until there is a connection, up to [`RedisOptions::answer_within`].
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreachable`] with the reason of the last try to connect, or [`StoreError::Closed`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn ready(&self) -> Result<(), StoreError> {
        let deadline = Instant::now() + self.inner.options.answer_within;
        self.inner.link.up(deadline).await.map(drop)
    }

    /// Subscribes to a channel and waits until the server has confirmed it.
    ///
    /// Every subscriber of one channel shares one subscription at the server, given up with the last of them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreachable`] if it is not confirmed within [`RedisOptions::answer_within`], [`StoreError::Denied`] where
    /// the user may not use the channel.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn subscribe(&self, channel: &str) -> Result<Subscription, StoreError> {
        let deadline = Instant::now() + self.inner.options.answer_within;
        self.inner.subscriptions.join(channel, deadline).await
    }

    /// Counts the connections made so far; it changes whenever commands go over a new connection.
    ///
    /// The server behind a new connection may have lost what the one before it knew.
    #[must_use]
    pub fn generations(&self) -> tokio::sync::watch::Receiver<u64> {
        self.inner.link.generations()
    }

    /// Returns how long a command may take: [`RedisOptions::answer_within`].
    #[must_use]
    pub fn answer_within(&self) -> Duration {
        self.inner.options.answer_within
    }

    /// Closes both connections, for all clones, and waits for the tasks behind them.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the tasks end all the same.
    pub async fn close(&self) {
        self.inner.subscriptions.close().await;
        self.inner.link.close().await;
    }
}
