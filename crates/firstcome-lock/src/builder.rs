//! Settings of a client, and connecting it to a store.

use std::time::Duration;

use firstcome_store::Store;
#[cfg(feature = "mysql")]
use firstcome_store::mysql::MySqlOptions;
#[cfg(feature = "nats")]
use firstcome_store::nats::NatsOptions;
#[cfg(feature = "postgres")]
use firstcome_store::postgres::PostgresOptions;
#[cfg(feature = "sqlite")]
use firstcome_store::sqlite::SqliteOptions;
#[cfg(feature = "redis")]
use firstcome_store::{Redis, RedisOptions};

use crate::backend::LockStore;
use crate::durations::{LEAST_LEASE, LONGEST, within};
use crate::error::Error;
use crate::inject::Mistakes;
use crate::locks::Locks;
use crate::memory::Memory;
#[cfg(feature = "redis")]
use crate::redis::{Messages, RedisBackend, ReplicaCheck, Replicas, check_rights};
use crate::shared::Shared;
#[cfg(feature = "mysql")]
use crate::sql::MySqlTable;
#[cfg(feature = "nats")]
use crate::sql::NatsTable;
#[cfg(feature = "postgres")]
use crate::sql::PostgresTable;
#[cfg(feature = "sqlite")]
use crate::sql::SqliteTable;
#[cfg(feature = "sql")]
use crate::sql::{LockTable, SqlBackend};

/// The default lease of a renewed lock; the same as Redisson's.
const WATCHDOG_LEASE: Duration = Duration::from_secs(30);

/// The default time for which a waiter retries if the store does not answer.
const RIDE_OUT: Duration = Duration::from_secs(10);

/// The default number of times in a row that a lock is passed on within one client.
const PASSES: u32 = 8;

/// The shortest time between two searches for rows that were not used for a day.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// The default time for an answer of a database; the same as for Redis.
#[cfg(feature = "postgres")]
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// Settings for a client.
#[derive(Debug, Clone)]
pub struct Builder {
    watchdog_lease: Duration,
    ride_out: Duration,
    passes: u32,
    #[cfg(feature = "redis")]
    replicas: Option<Replicas>,
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only databases have tables"))]
    make_tables: bool,
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only tables have old rows"))]
    sweep_every: Duration,
    mistakes: Mistakes,
}

impl Locks {
    /// Connects with the default settings to the store that a URL names.
    ///
    /// | URL | store | feature |
    /// |---|---|---|
    /// | `redis://[user:password@]host[:port][/database]` | Redis, Valkey | `redis` |
    /// | `redis+cluster://host[:port],host[:port]…` | Redis Cluster | `redis` |
    /// | `redis+sentinel://host[:port],host[:port]…/master[/database]` | Redis, Valkey behind Sentinel | `redis` |
    /// | `postgres://user[:password]@host[:port]/database` | PostgreSQL | `postgres` |
    /// | `mysql://user[:password]@host[:port]/database`, `mariadb://…` | MariaDB (MySQL untested) | `mysql` |
    /// | `nats://[user:password@]host[:port][,host…]` | NATS with JetStream | `nats` |
    /// | `sqlite://FILE` | a SQLite file that processes on one machine share | `sqlite` |
    ///
    /// For TLS use `rediss://…`, `rediss+sentinel://…`, `rediss+cluster://…`, `tls://…` for NATS, and `?sslmode=require` for databases, which is the default for another
    /// machine. TLS needs the feature `tls`.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with the reason of the first attempt; [`NotBuilt`](crate::StoreError::NotBuilt) in it if the feature of
    /// the store is off.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::builder().connect_to(url).await
    }

    /// Begins with the default settings.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Creates a client with its own store in the memory of this process.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    #[must_use]
    pub fn memory() -> Self {
        Self::with_memory(&Memory::new())
    }

    /// Creates a client on a store in the memory of this process that other clients share.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    #[must_use]
    pub fn with_memory(memory: &Memory) -> Self {
        Builder::default().with_memory(memory)
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            watchdog_lease: WATCHDOG_LEASE,
            ride_out: RIDE_OUT,
            passes: PASSES,
            #[cfg(feature = "redis")]
            replicas: None,
            make_tables: true,
            sweep_every: SWEEP_EVERY,
            mistakes: Mistakes::default(),
        }
    }
}

impl Builder {
    /// Sets the lease of renewed locks, 50 ms to 100 years, default 30 s. It is renewed each sixth of its length; each tenth if
    /// it is 3 s or shorter.
    #[must_use]
    pub fn watchdog(mut self, lease: Duration) -> Self {
        self.watchdog_lease = lease;
        self
    }

    /// Sets for how long a waiter retries if the store does not answer, default 10 s.
    #[must_use]
    pub fn ride_out(mut self, time: Duration) -> Self {
        self.ride_out = time;
        self
    }

    /// Sets how many times in a row a lock may be passed from task to task within this client before others may try, default 8;
    /// with 0 each release frees the lock.
    ///
    /// A lower number makes the waits of other processes shorter; a higher number costs the store less. After that many passes,
    /// in Redis, if other clients wait, this client gives them as many turns as it had: it asks again when they had them, or
    /// when nobody had a turn for 3 ms.
    #[must_use]
    pub fn passes(mut self, times: u32) -> Self {
        self.passes = times;
        self
    }

    /// Requires that this number of Redis replicas, 1 to 100, acknowledge each acquired lock within a time of 1 ms to 1 s. The
    /// default is none.
    ///
    /// If too few acknowledge in time, the lock is released and the call fails with [`Error::TooFewReplicas`]; a waiting call
    /// tries again for the time of [`Builder::ride_out`]. This makes it less likely that a failover loses a lock, but does not
    /// exclude it: see `docs/locks.md` beside this crate. Renewals and releases do not wait for replicas.
    ///
    /// It costs a separate connection, in a Redis Cluster one to each server whose locks are used, one more command for each
    /// acquired lock, and one `WAIT` for each group of locks that are acquired at the same time. No lock is passed on within the process. The user needs the right to `WAIT`.
    #[cfg(feature = "redis")]
    #[must_use]
    pub fn replicas(mut self, count: u32, within: Duration) -> Self {
        self.replicas = Some(Replicas { count, within });
        self
    }

    /// Injects a bug into the client; for this crate's own tests.
    #[cfg(feature = "inject")]
    #[doc(hidden)]
    #[must_use]
    pub fn inject(mut self, mistake: crate::Mistake) -> Self {
        self.mistakes = self.mistakes.and(mistake);
        self
    }

    /// Looks for old rows after each release and not once a minute; for this crate's own tests.
    #[cfg(all(feature = "sql", feature = "inject"))]
    #[doc(hidden)]
    #[must_use]
    pub fn sweep_at_once(mut self) -> Self {
        self.sweep_every = Duration::ZERO;
        self
    }

    /// Connects to the Redis or Valkey that `options` name, and checks the rights of the user.
    ///
    /// In a Redis Cluster each lock is at the server that has the slot of its name. Several locks are taken in one step only if
    /// their names have the same part in braces. Messages about releases are published and heard as Redisson does by default,
    /// with `SPUBLISH` where the servers have it; `?pubsub=` in the URL says otherwise: see [`RedisOptions::new`].
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with the reason of the first attempt. If the user lacks a right that the README lists, it is
    /// [`Denied`](crate::StoreError::Denied) and names the right; rights to keys and channels are checked only if the user may
    /// use all of `fc:*`. [`Error::OutOfRange`] for the watchdog's lease.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "redis")]
    pub async fn connect(self, options: RedisOptions) -> Result<Locks, Error> {
        within("the watchdog's lease", self.watchdog_lease, LEAST_LEASE, LONGEST)?;
        let replicas = match self.replicas {
            Some(replicas) => Some(ReplicaCheck::connect(check(replicas)?, options.clone()).await?),
            None => None,
        };
        let redis = Redis::connect(options).await?;
        let messages = match usable(&redis).await {
            Ok(messages) => messages,
            Err(refused) => {
                redis.close().await;
                return Err(refused);
            }
        };
        let store = RedisBackend::new(redis, messages, replicas, self.mistakes);
        Ok(self.start(LockStore::Redis(Box::new(store))))
    }

    /// Connects to the store that a URL names, with the defaults for everything else: see [`Locks::connect`].
    ///
    /// # Errors
    ///
    /// As [`Locks::connect`], and [`Error::OutOfRange`] for the watchdog's lease.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn connect_to(self, url: &str) -> Result<Locks, Error> {
        match Store::of_url(url)? {
            #[cfg(feature = "redis")]
            Store::Redis => self.connect(RedisOptions::new(url)).await,
            #[cfg(not(feature = "redis"))]
            Store::Redis => Err(Store::Redis.not_built().into()),
            #[cfg(feature = "postgres")]
            Store::PostgreSql => self.postgres(postgres_options(url)).await,
            #[cfg(not(feature = "postgres"))]
            Store::PostgreSql => Err(Store::PostgreSql.not_built().into()),
            #[cfg(feature = "mysql")]
            Store::MySql => self.mysql(MySqlOptions::new(url)).await,
            #[cfg(not(feature = "mysql"))]
            Store::MySql => Err(Store::MySql.not_built().into()),
            #[cfg(feature = "nats")]
            Store::Nats => self.nats(NatsOptions::new(url)).await,
            #[cfg(not(feature = "nats"))]
            Store::Nats => Err(Store::Nats.not_built().into()),
            #[cfg(feature = "sqlite")]
            Store::Sqlite => self.sqlite(SqliteOptions::from_url(url)?).await,
            #[cfg(not(feature = "sqlite"))]
            Store::Sqlite => Err(Store::Sqlite.not_built().into()),
        }
    }

    /// Connects to PostgreSQL 12 or later, and creates the tables `firstcome_locks` and `firstcome_guards` if they are missing:
    /// see [`Builder::make_tables`].
    ///
    /// It uses up to [`connections`](crate::PostgresOptions::connections) to ask for locks, two more to renew and release
    /// them, and one for messages about releases. Behind a pooler (PgBouncer in transaction mode) there are no messages, and
    /// waiters poll: see [`Locks::polls`].
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with the reason of the first attempt, [`Error::OutOfRange`] for the watchdog's lease.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "postgres")]
    pub async fn postgres(self, options: PostgresOptions) -> Result<Locks, Error> {
        within("the watchdog's lease", self.watchdog_lease, LEAST_LEASE, LONGEST)?;
        self.without_replicas()?;
        let table = PostgresTable::connect(options, self.make_tables).await?;
        Ok(self.start_sql(LockTable::Postgres(table)))
    }

    /// Connects to MariaDB 10.6 or later, and creates the tables `firstcome_locks` and `firstcome_guards` if they are missing:
    /// see [`Builder::make_tables`].
    ///
    /// The statements also follow the documentation of MySQL, but no test has run with MySQL. It uses up to
    /// [`connections`](crate::MySqlOptions::connections) to ask for locks, and two more to renew and release them. There are no
    /// messages about releases, so waiters poll.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with the reason of the first attempt, [`Error::OutOfRange`] for the watchdog's lease.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "mysql")]
    pub async fn mysql(self, options: MySqlOptions) -> Result<Locks, Error> {
        within("the watchdog's lease", self.watchdog_lease, LEAST_LEASE, LONGEST)?;
        self.without_replicas()?;
        let table = MySqlTable::connect(options, self.make_tables).await?;
        Ok(self.start_sql(LockTable::MySql(Box::new(table))))
    }

    /// Connects to NATS 2.12 or later with JetStream, and creates the stream `firstcome_locks` if it is missing, on three servers
    /// of a cluster or on one: see [`Builder::make_tables`].
    ///
    /// The clock is that of the server that leads the stream: the servers of a cluster must have the same time, within a small
    /// part of the leases. There are no messages about releases, so waiters poll. There are no semaphores and no read/write
    /// locks.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with the reason of the first attempt, [`Error::OutOfRange`] for the watchdog's lease.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "nats")]
    pub async fn nats(self, options: NatsOptions) -> Result<Locks, Error> {
        within("the watchdog's lease", self.watchdog_lease, LEAST_LEASE, LONGEST)?;
        self.without_replicas()?;
        let table = NatsTable::connect(options, self.make_tables).await?;
        Ok(self.start_sql(LockTable::Nats(table)))
    }

    /// Opens a SQLite file that processes on this machine may share. If it is missing, it is created with its tables: see
    /// [`Builder::make_tables`].
    ///
    /// The clock is that of this machine, in milliseconds. There are no messages about releases, so waiters poll. Do not use a
    /// file on a network file system: its file locks are not reliable.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if it cannot be opened, [`Error::OutOfRange`] for the watchdog's lease.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "sqlite")]
    pub async fn sqlite(self, options: SqliteOptions) -> Result<Locks, Error> {
        within("the watchdog's lease", self.watchdog_lease, LEAST_LEASE, LONGEST)?;
        self.without_replicas()?;
        let table = SqliteTable::open(options, self.make_tables).await?;
        Ok(self.start_sql(LockTable::Sqlite(table)))
    }

    /// Sets whether missing tables in a database are created, default yes.
    ///
    /// To create them by hand, use the statements of [`Database::create_tables`](crate::Database::create_tables).
    #[cfg(feature = "sql")]
    #[must_use]
    pub fn make_tables(mut self, yes: bool) -> Self {
        self.make_tables = yes;
        self
    }

    /// Uses a store in the memory of this process.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for the watchdog's lease.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn memory(self, memory: &Memory) -> Result<Locks, Error> {
        within("the watchdog's lease", self.watchdog_lease, LEAST_LEASE, LONGEST)?;
        self.without_replicas()?;
        Ok(self.with_memory(memory))
    }

    pub(crate) fn with_memory(&self, memory: &Memory) -> Locks {
        self.start(LockStore::Memory(memory.clone()))
    }

    #[cfg(feature = "sql")]
    fn start_sql(&self, table: LockTable) -> Locks {
        let store = SqlBackend::new(table, self.sweep_every, self.mistakes);
        self.start(LockStore::Sql(Box::new(store)))
    }

    fn start(&self, store: LockStore) -> Locks {
        let (lease, ride_out) = (self.watchdog_lease, self.ride_out);
        // One who is passed a lock would have to wait for replicas, too, with somebody else's release behind it.
        let passes = if self.waits_for_replicas() { 0 } else { self.passes };
        let shared = Shared::start(store, lease, ride_out, passes, self.mistakes);
        Locks::of(shared)
    }

    fn waits_for_replicas(&self) -> bool {
        #[cfg(feature = "redis")]
        return self.replicas.is_some();
        #[cfg(not(feature = "redis"))]
        false
    }

    /// Refuses to wait for replicas at a store that has none.
    fn without_replicas(&self) -> Result<(), Error> {
        if !self.waits_for_replicas() {
            return Ok(());
        }
        Err(Error::Unfit {
            what: "the setting `replicas`",
            reason: "this store cannot be asked for replicas".to_owned(),
            hint: "leave it out: a database waits for its replicas as its own settings say",
        })
    }
}

/// Returns how messages are published, if the user has the rights that locks need.
#[cfg(feature = "redis")]
async fn usable(redis: &Redis) -> Result<Messages, Error> {
    let messages = Messages(redis.pubsub().await?);
    check_rights(redis, messages).await?;
    Ok(messages)
}

#[cfg(feature = "redis")]
fn check(replicas: Replicas) -> Result<Replicas, Error> {
    within("replicas", replicas.within, Replicas::LEAST_WAIT, Replicas::LONGEST_WAIT)?;
    if (1..=Replicas::MOST).contains(&replicas.count) {
        return Ok(replicas);
    }
    Err(Error::Unfit {
        what: "the number of replicas",
        reason: format!("{} is not possible", replicas.count),
        hint: "ask for 1 to 100, or leave it out",
    })
}

/// What is asked of a PostgreSQL for locks: answers come soon, or not at all.
#[cfg(feature = "postgres")]
fn postgres_options(url: &str) -> PostgresOptions {
    PostgresOptions::new(url).answer_within(ANSWER_WITHIN).lock_within(ANSWER_WITHIN / 2)
}
