//! Redis and Valkey.

mod address;
mod cluster;
mod command;
mod dial;
mod error_code;
mod exchange;
mod known;
mod link;
mod link_state;
mod options;
mod pinned;
mod pubsub;
mod reply;
mod sentinel;
mod shards;
mod slot;
mod subscriptions;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use self::address::{Address, Place};
use self::shards::{Shard, Shards};
use self::slot::Slot;
use crate::error::StoreError;

pub use self::command::{Command, Script};
pub use self::options::RedisOptions;
pub use self::pinned::{Answer, Pinned};
pub use self::pubsub::PubSub;
pub use self::reply::RedisReply;
pub use self::subscriptions::{Event, Subscription};
pub use self::wire::Wire;

/// One connection for commands and one for subscriptions, to one Redis or Valkey; in a Redis Cluster, to each server whose keys
/// are used.
///
/// In a cluster a command goes to the server that has the slot of its first key; where another one has it now, it is sent
/// there, up to its deadline.
///
/// Cheap to clone; all clones share both connections. A lost connection is dialled again in the background for as
/// long as a clone is alive; commands wait for it, up to their deadline.
#[derive(Debug, Clone)]
pub struct Redis {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    servers: Servers,
    options: Arc<RedisOptions>,
}

#[derive(Debug)]
enum Servers {
    One(Shard),
    Cluster(Shards),
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
        let servers = if let Place::In { .. } = address.place {
            Servers::Cluster(Shards::connect(Arc::clone(&options), address).await?)
        } else {
            let dialler = dial::Dialler::new(Arc::clone(&options), address)?;
            Servers::One(Shard::connect(dialler).await?)
        };
        Ok(Self { inner: Arc::new(Inner { servers, options }) })
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
        let deadline = self.deadline();
        match &self.inner.servers {
            Servers::One(shard) => shard.link.send(command, deadline).await,
            Servers::Cluster(shards) => shards.send(command, deadline).await,
        }
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
        let deadline = self.deadline();
        let reply = match &self.inner.servers {
            Servers::One(shard) => shard.link.send_together(commands, deadline).await?,
            Servers::Cluster(shards) => shards.send_together(commands, deadline).await?,
        };
        match reply {
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
        match &self.inner.servers {
            Servers::One(shard) => shard.link.denied(commands, self.deadline()).await,
            Servers::Cluster(shards) => shards.denied(commands, self.deadline()).await,
        }
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
        match &self.inner.servers {
            Servers::One(shard) => shard.link.up(self.deadline()).await.map(drop),
            Servers::Cluster(shards) => shards.ready(self.deadline()).await,
        }
    }

    /// Subscribes to a channel and waits until the server has confirmed it.
    ///
    /// Every subscriber of one channel shares one subscription at the server, given up with the last of them. In a cluster a
    /// subscription to a sharded channel goes where its slot goes.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreachable`] if it is not confirmed within [`RedisOptions::answer_within`], [`StoreError::Denied`] where
    /// the user may not use the channel.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn subscribe(
        &self,
        channel: &str,
        pubsub: PubSub,
    ) -> Result<Subscription, StoreError> {
        let deadline = self.deadline();
        match &self.inner.servers {
            Servers::One(shard) => shard.subscriptions.join(channel, pubsub, deadline).await,
            Servers::Cluster(shards) => {
                let joined = shards.subscribe(channel, pubsub, deadline).await?;
                Ok(joined.following(self))
            }
        }
    }

    /// Returns what the URL of a cluster says of how messages are published; `None` for a server by itself.
    fn pubsub_mode(&self) -> Option<pubsub::Mode> {
        match &self.inner.servers {
            Servers::One(_) => None,
            Servers::Cluster(shards) => Some(shards.pubsub_mode()),
        }
    }

    /// Returns a handle to the connection that leads to the server which has a key, or to the next one, waiting for it until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreachable`] with the reason of the last try to connect, or [`StoreError::Closed`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn pin(&self, key: &str, deadline: Instant) -> Result<Pinned, StoreError> {
        match &self.inner.servers {
            Servers::One(shard) => shard.link.pin(deadline).await,
            Servers::Cluster(shards) => shards.pin(Slot::of(key), deadline).await,
        }
    }

    /// Counts the connections made so far; it changes whenever commands go over a new connection.
    ///
    /// The server behind a new connection may have lost what the one before it knew.
    #[must_use]
    pub fn generations(&self) -> tokio::sync::watch::Receiver<u64> {
        match &self.inner.servers {
            Servers::One(shard) => shard.link.generations(),
            Servers::Cluster(shards) => shards.generations(),
        }
    }

    /// Returns which server has a key, as a number: another one for another server of a cluster. What is known of the clock of
    /// one says nothing of another.
    #[must_use]
    pub fn server_of(&self, key: &str) -> u64 {
        match &self.inner.servers {
            Servers::One(_) => 0,
            Servers::Cluster(shards) => shards.server(Slot::of(key)),
        }
    }

    /// Returns the slot of a key in a cluster, 0 elsewhere: one command may have keys of one slot only.
    #[must_use]
    pub fn slot_of(&self, key: &str) -> u16 {
        match &self.inner.servers {
            Servers::One(_) => 0,
            Servers::Cluster(_) => Slot::of(key).0,
        }
    }

    /// Returns options that lead to each server which has keys: what asks about no key, as SCAN, is answered by one of them.
    ///
    /// # Errors
    ///
    /// Those of a cluster that does not say which servers it has.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn each_server(&self) -> Result<Vec<RedisOptions>, StoreError> {
        let options = &*self.inner.options;
        match &self.inner.servers {
            Servers::One(_) => Ok(vec![options.clone()]),
            Servers::Cluster(shards) => {
                let slots = shards.slots().await?.into_iter();
                Ok(slots.map(|slot| RedisOptions { slot, ..options.clone() }).collect())
            }
        }
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.inner.options.answer_within
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
        match &self.inner.servers {
            Servers::One(shard) => shard.close().await,
            Servers::Cluster(shards) => shards.close().await,
        }
    }
}
