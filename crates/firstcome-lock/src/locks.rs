use std::sync::Arc;
use std::time::Duration;

use firstcome_store::{Options, Redis};

use crate::backend::Backend;
use crate::failure::within;
use crate::keys::{Keys, Kind};
use crate::lock::{LEAST_LEASE, LONGEST};
use crate::memory::Memory;
use crate::protection::Protections;
use crate::redis::RedisBackend;
use crate::shared::Shared;
#[cfg(feature = "mysql")]
use crate::sql::MySqlTable;
#[cfg(feature = "postgres")]
use crate::sql::PostgresTable;
#[cfg(feature = "sqlite")]
use crate::sql::SqliteTable;
#[cfg(feature = "sql")]
use crate::sql::{SqlBackend, Table};
use crate::{Failure, Guard, Lock, Owner};

/// The lease of a lock that is renewed, where nothing else is said; that of Redisson.
const WATCHDOG_LEASE: Duration = Duration::from_secs(30);

/// How long a waiter rides out a store that does not answer, where nothing else is said.
const RIDE_OUT: Duration = Duration::from_secs(10);

/// How often rows are looked for that nobody has used for a day, at most.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// How long a database may take to answer, where nothing else is said; as long as Redis may.
#[cfg(feature = "postgres")]
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// A client: one identity, one connection for requests, one for messages, one timer that renews.
///
/// Cheap to clone; all clones are the same client. Must be made inside a tokio runtime, whose tasks it uses.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), firstcome_lock::Failure> {
/// use firstcome_lock::Locks;
///
/// let locks = Locks::connect("redis://127.0.0.1:6379").await?;
/// let lease = locks.lock("invoice:17")?.lock().await?;
/// // … only one process in the world is here …
/// lease.release().await?;
/// locks.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Locks {
    shared: Arc<Shared>,
}

/// Who holds a lock, as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The owner: a client's id, a colon, and a number; for a token lock the token.
    pub owner: String,
    /// How many times it is held.
    pub holds: u64,
    /// How long the lease still runs if it is not renewed; `None` where it has no end.
    pub remaining: Option<Duration>,
    /// The last fence minted for this name, if any is on record.
    pub last_fence: Option<u64>,
}

/// Settings for a client.
#[derive(Debug, Clone)]
pub struct Builder {
    watchdog_lease: Duration,
    ride_out: Duration,
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only databases have tables"))]
    make_tables: bool,
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only tables have old rows"))]
    sweep_every: Duration,
    protections: Protections,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            watchdog_lease: WATCHDOG_LEASE,
            ride_out: RIDE_OUT,
            make_tables: true,
            sweep_every: SWEEP_EVERY,
            protections: Protections::default(),
        }
    }
}

impl Builder {
    /// Sets the lease of locks that are renewed, 50 ms to 100 years, default 30 s; renewed each third of it.
    #[must_use]
    pub fn watchdog(mut self, lease: Duration) -> Self {
        self.watchdog_lease = lease;
        self
    }

    /// Sets how long a waiter rides out a store that does not answer, default 10 s.
    #[must_use]
    pub fn ride_out(mut self, time: Duration) -> Self {
        self.ride_out = time;
        self
    }

    /// Does without something that keeps locks right; for this crate's own tests.
    #[cfg(feature = "twins")]
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, protection: crate::Protection) -> Self {
        self.protections = self.protections.without(protection);
        self
    }

    /// Looks for old rows after each release and not once a minute; for this crate's own tests.
    #[cfg(all(feature = "sql", feature = "twins"))]
    #[doc(hidden)]
    #[must_use]
    pub fn sweep_at_once(mut self) -> Self {
        self.sweep_every = Duration::ZERO;
        self
    }

    /// Connects to the Redis or Valkey that `options` name.
    ///
    /// # Errors
    ///
    /// [`Failure::Store`] with the reason of the first try, [`Failure::OutOfRange`] for the watchdog's lease.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn connect(self, options: Options) -> Result<Locks, Failure> {
        within("the watchdog's lease", self.watchdog_lease, LEAST_LEASE, LONGEST)?;
        let redis = Redis::connect(options).await?;
        Ok(self.start(Backend::Redis(RedisBackend::new(redis, self.protections))))
    }

    /// Connects to the store that a URL names, with the defaults for everything else: see [`Locks::connect`].
    ///
    /// # Errors
    ///
    /// As [`Locks::connect`], and [`Failure::OutOfRange`] for the watchdog's lease.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn connect_to(self, url: &str) -> Result<Locks, Failure> {
        match url.split_once("://").map(|(scheme, _)| scheme) {
            #[cfg(feature = "postgres")]
            Some("postgres" | "postgresql") => self.postgres(postgres_options(url)).await,
            #[cfg(feature = "mysql")]
            Some("mysql" | "mariadb") => {
                self.mysql(firstcome_store::mysql::Options::new(url)).await
            }
            #[cfg(feature = "sqlite")]
            Some("sqlite") => self.sqlite(firstcome_store::sqlite::Options::from_url(url)?).await,
            _ => self.connect(Options::new(url)).await,
        }
    }

    /// Connects to a PostgreSQL, version 12 or later, and makes the tables `firstcome_locks` and `firstcome_guards`
    /// where they are missing: see [`Builder::make_tables`].
    ///
    /// Up to [`connections`](firstcome_store::postgres::Options::connections) are used to ask for locks, two more to
    /// renew them and to give them back, and one to hear of releases. Behind a pooler (PgBouncer in transaction mode)
    /// nothing can be heard, and whoever waits asks again after pauses; [`Locks::polls`] tells.
    ///
    /// # Errors
    ///
    /// [`Failure::Store`] with the reason of the first try, [`Failure::OutOfRange`] for the watchdog's lease.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "postgres")]
    pub async fn postgres(
        self,
        options: firstcome_store::postgres::Options,
    ) -> Result<Locks, Failure> {
        within("the watchdog's lease", self.watchdog_lease, LEAST_LEASE, LONGEST)?;
        let table = PostgresTable::connect(options, self.make_tables).await?;
        Ok(self.start_sql(Table::Postgres(table)))
    }

    /// Connects to a MariaDB, version 10.6 or later, or a MySQL, and makes the tables `firstcome_locks` and
    /// `firstcome_guards` where they are missing: see [`Builder::make_tables`].
    ///
    /// Tested with MariaDB; no test has run with MySQL, whose documentation the statements follow, too. Up to
    /// [`connections`](firstcome_store::mysql::Options::connections) are used to ask for locks, and two more to renew
    /// them and to give them back. Nobody says when a lock is free, so whoever waits asks again after pauses.
    ///
    /// # Errors
    ///
    /// [`Failure::Store`] with the reason of the first try, [`Failure::OutOfRange`] for the watchdog's lease.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "mysql")]
    pub async fn mysql(self, options: firstcome_store::mysql::Options) -> Result<Locks, Failure> {
        within("the watchdog's lease", self.watchdog_lease, LEAST_LEASE, LONGEST)?;
        let table = MySqlTable::connect(options, self.make_tables).await?;
        Ok(self.start_sql(Table::MySql(Box::new(table))))
    }

    /// Opens a SQLite file that other processes on this machine may use, too, and makes it, with the tables, where it is
    /// missing: see [`Builder::make_tables`].
    ///
    /// The clock is this machine's, in milliseconds; nobody says when a lock is free, so whoever waits asks again after
    /// pauses. A file on a network file system must not be used: its locks are not reliable.
    ///
    /// # Errors
    ///
    /// [`Failure::Store`] where it cannot be opened, [`Failure::OutOfRange`] for the watchdog's lease.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "sqlite")]
    pub async fn sqlite(self, options: firstcome_store::sqlite::Options) -> Result<Locks, Failure> {
        within("the watchdog's lease", self.watchdog_lease, LEAST_LEASE, LONGEST)?;
        let table = SqliteTable::open(options, self.make_tables).await?;
        Ok(self.start_sql(Table::Sqlite(table)))
    }

    /// Sets whether tables that are missing in a database are made, default yes.
    ///
    /// Where they are not, [`Database::create_tables`](crate::Database::create_tables) gives the statements to run by hand.
    #[cfg(feature = "sql")]
    #[must_use]
    pub fn make_tables(mut self, yes: bool) -> Self {
        self.make_tables = yes;
        self
    }

    /// Uses a store in this process's memory.
    ///
    /// # Errors
    ///
    /// [`Failure::OutOfRange`] for the watchdog's lease.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn memory(self, memory: &Memory) -> Result<Locks, Failure> {
        within("the watchdog's lease", self.watchdog_lease, LEAST_LEASE, LONGEST)?;
        Ok(self.start(Backend::Memory(memory.clone())))
    }

    #[cfg(feature = "sql")]
    fn start_sql(&self, table: Table) -> Locks {
        self.start(Backend::Sql(Box::new(SqlBackend::new(
            table,
            self.sweep_every,
            self.protections,
        ))))
    }

    fn start(&self, backend: Backend) -> Locks {
        let shared = Shared::start(backend, self.watchdog_lease, self.ride_out, self.protections);
        Locks { shared }
    }
}

impl Locks {
    /// Connects with the default settings to the store that a URL names.
    ///
    /// | URL | store | feature |
    /// |---|---|---|
    /// | see [`Options::new`] | Redis, Valkey | |
    /// | `postgres://user[:password]@host[:port]/database` | PostgreSQL | `postgres` |
    /// | `mysql://user[:password]@host[:port]/database`, `mariadb://…` | MariaDB, MySQL | `mysql` |
    /// | `sqlite://FILE` | a SQLite file that processes on one machine share | `sqlite` |
    ///
    /// # Errors
    ///
    /// [`Failure::Store`] with the reason of the first try.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn connect(url: &str) -> Result<Self, Failure> {
        Self::builder().connect_to(url).await
    }

    /// Begins with the default settings.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Makes a client with a store of its own in this process's memory.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    #[must_use]
    pub fn memory() -> Self {
        Self::with_memory(&Memory::new())
    }

    /// Makes a client on a store in this process's memory that others use, too.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    #[must_use]
    pub fn with_memory(memory: &Memory) -> Self {
        Builder::default().start(Backend::Memory(memory.clone()))
    }

    /// Gives the id of this client, the first part of each of its owners.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.shared.client
    }

    /// Gives the lock of this name: the same one as Redisson's `getLock`.
    ///
    /// # Errors
    ///
    /// [`Failure::Name`] for a name that is empty, longer than 4,096 bytes, or whose braces would split its keys over
    /// the slots of a cluster.
    pub fn lock(&self, name: &str) -> Result<Lock, Failure> {
        Lock::new(&self.shared, Kind::Plain, name)
    }

    /// Gives the fenced lock of this name: the same one as Redisson's `getFencedLock`.
    ///
    /// # Errors
    ///
    /// As [`Locks::lock`].
    pub fn fenced(&self, name: &str) -> Result<Lock, Failure> {
        Lock::new(&self.shared, Kind::Fenced, name)
    }

    /// Gives the token lock of this name: a string key as set by `SET NX PX`, as many languages use it.
    ///
    /// Nobody says when it is free, so those who wait ask again, see [`Lock::backoff`].
    ///
    /// # Errors
    ///
    /// As [`Locks::lock`].
    pub fn token(&self, name: &str) -> Result<Lock, Failure> {
        Lock::new(&self.shared, Kind::Token, name)
    }

    /// Makes a new owner, who may hold the same lock several times.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner::new(&self.shared.client, self.shared.fresh_owner())
    }

    /// Gives a value in the store that only the newest owner of a lock can write.
    ///
    /// # Errors
    ///
    /// [`Failure::Name`] as for [`Locks::lock`].
    pub fn guard(&self, key: &str) -> Result<Guard, Failure> {
        Keys::new(Kind::Plain, key)?;
        Ok(Guard::new(&self.shared, key))
    }

    /// Tells who holds the lock of this name, of whichever kind; `None` where it is free.
    ///
    /// # Errors
    ///
    /// [`Failure::Name`], [`Failure::Store`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn inspect(&self, name: &str) -> Result<Option<Holder>, Failure> {
        self.shared.backend.inspect(&Keys::new(Kind::Plain, name)?).await
    }

    /// Frees the lock of this name whoever holds it, of whichever kind; tells whether anybody did.
    ///
    /// Its holder learns of it at its next renewal at the latest, with [`Loss::Taken`](crate::Loss::Taken); one with a
    /// fixed lease does not learn of it before that is used up. So this can make two of them: it is for operators
    /// who know that the holder is gone.
    ///
    /// # Errors
    ///
    /// [`Failure::Name`], [`Failure::Store`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: it may have happened.
    pub async fn force_release(&self, name: &str) -> Result<bool, Failure> {
        self.shared.backend.force(&Keys::new(Kind::Plain, name)?).await
    }

    /// Lists the locks that are held, with who holds them, by name; `None` where the store keeps no list.
    ///
    /// A database does. A name longer than 190 bytes is listed shortened, with its SHA-256.
    ///
    /// # Errors
    ///
    /// [`Failure::Store`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn held(&self) -> Result<Option<Vec<(String, Holder)>>, Failure> {
        self.shared.backend.held().await
    }

    /// Tells whether whoever waits here asks again and again, because nobody says when a lock is free.
    #[must_use]
    pub fn polls(&self) -> bool {
        self.shared.backend.polls()
    }

    /// Gives back everything this client holds and ends it, for all clones.
    ///
    /// Those who wait get [`Failure::Closed`], leases are lost with [`Loss::Closed`](crate::Loss::Closed) before their
    /// locks are given back, and what is under way or goes on in the background is waited for, but not longer than two
    /// requests may take: what a store that does not answer still has then ends with its lease. This is the only
    /// promise of a clean end: a client that is merely dropped finishes in the background, as long as the runtime
    /// lasts.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the end goes on, but nobody waits for it.
    pub async fn close(&self) {
        self.shared.close().await;
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

/// What is asked of a PostgreSQL for locks: answers come soon, or not at all.
#[cfg(feature = "postgres")]
fn postgres_options(url: &str) -> firstcome_store::postgres::Options {
    firstcome_store::postgres::Options::new(url)
        .answer_within(ANSWER_WITHIN)
        .lock_within(ANSWER_WITHIN / 2)
}
