//! Where a Redis or Valkey is, and its time-outs.

use std::time::Duration;

use super::slot::Slot;
use crate::error::StoreError;

/// What one request may take at most, and a sign of life: beyond that nobody is there.
const LONGEST: Duration = Duration::from_secs(3600);

/// Where a Redis or Valkey is and how long to wait for it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// let options = firstcome_store::RedisOptions::new("redis://127.0.0.1:6379/2").answer_within(Duration::from_secs(2));
/// ```
#[derive(Clone)]
pub struct RedisOptions {
    pub(crate) url: String,
    pub(crate) connect_within: Duration,
    pub(crate) answer_within: Duration,
    pub(crate) heartbeat: Duration,
    pub(crate) trust: Option<String>,
    pub(crate) identity: Option<(String, String)>,
    pub(crate) sentinel_user: Option<(Option<String>, String)>,
    pub(crate) slot: Slot,
}

impl RedisOptions {
    /// Begins with a URL and the defaults.
    ///
    /// - `redis://[user:password@]host[:port][/database]`, port 6379 and database 0 where none is given
    /// - `rediss://…` the same over TLS
    /// - `redis+sentinel://[user:password@]host[:port],host[:port]…/master[/database]`, port 26379 where none is
    ///   given; `rediss+sentinel://…` with TLS to the sentinels and the servers
    /// - `redis+cluster://[user:password@]host[:port],host[:port]…`: some servers of a Redis Cluster, of which the one is used
    ///   that has the slot of [`RedisOptions::key`]; `rediss+cluster://…` with TLS. `?pubsub=` behind it says how
    ///   [messages](crate::PubSub) are published and heard: `auto` as Redisson does, `plain`, `sharded`, or `both`
    ///
    /// User and password are those of the server; `%` escapes in them are resolved.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            connect_within: Duration::from_secs(5),
            answer_within: Duration::from_secs(3),
            heartbeat: Duration::from_secs(5),
            trust: None,
            identity: None,
            sentinel_user: None,
            slot: Slot::of(""),
        }
    }

    /// Sets how long one try to connect may take, 1 ms to an hour, default 5 s: TCP, TLS and log-in together.
    #[must_use]
    pub fn connect_within(mut self, time: Duration) -> Self {
        self.connect_within = time;
        self
    }

    /// Sets how long a command may take, 1 ms to an hour, default 3 s, the wait for a connection included.
    #[must_use]
    pub fn answer_within(mut self, time: Duration) -> Self {
        self.answer_within = time;
        self
    }

    /// Sets how often both connections are asked for a sign of life, 10 ms to an hour, default 5 s.
    ///
    /// A connection that does not answer a ping within the same time, at most 2 s, is left and dialled again. One
    /// that let a command time out is asked at once.
    #[must_use]
    pub fn heartbeat(mut self, time: Duration) -> Self {
        self.heartbeat = time;
        self
    }

    /// Sets a key of those that are used: in a Redis Cluster, connections lead to the server that has its slot, and follow the
    /// slot to other servers. All keys of one connection must be in the slots of one server.
    ///
    /// [`Redis`](super::Redis) does so for each key by itself.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.slot = Slot::of(key);
        self
    }

    /// Tells whether the URL names a Redis Cluster.
    #[must_use]
    pub fn is_cluster(&self) -> bool {
        self.url.starts_with("redis+cluster:") || self.url.starts_with("rediss+cluster:")
    }

    /// Checks that every time is one that can be counted with.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let (short, beat) = (Duration::from_millis(1), Duration::from_millis(10));
        for (what, given, least) in [
            ("the time to connect", self.connect_within, short),
            ("the time for an answer", self.answer_within, short),
            ("the heartbeat", self.heartbeat, beat),
        ] {
            if !(least..=LONGEST).contains(&given) {
                return Err(StoreError::OutOfRange { what, given, least, most: LONGEST });
            }
        }
        Ok(())
    }

    /// Trusts these authorities, PEM text, for TLS, instead of those of the operating system.
    #[must_use]
    pub fn trust(mut self, authorities: impl Into<String>) -> Self {
        self.trust = Some(authorities.into());
        self
    }

    /// Shows this certificate chain and key, both PEM text, to servers that ask for one.
    #[must_use]
    pub fn identity(mut self, chain: impl Into<String>, key: impl Into<String>) -> Self {
        self.identity = Some((chain.into(), key.into()));
        self
    }

    /// Sets user and password for the sentinels themselves, by default none.
    #[must_use]
    pub fn sentinel_login(mut self, user: Option<&str>, password: &str) -> Self {
        self.sentinel_user = Some((user.map(str::to_owned), password.to_owned()));
        self
    }
}

impl std::fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL and the identity may hold secrets.
        f.debug_struct("RedisOptions")
            .field("connect_within", &self.connect_within)
            .field("answer_within", &self.answer_within)
            .field("heartbeat", &self.heartbeat)
            .finish_non_exhaustive()
    }
}
