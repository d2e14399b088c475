//! Settings of a client, and connecting it to a store.

use std::time::Duration;

use firstcome_store::{Options, Redis};

use crate::backend::Backend;
use crate::durations::{LEAST_LEASE, LONGEST, within};
use crate::failure::Failure;
use crate::inject::Mistakes;
use crate::locks::Locks;
use crate::memory::Memory;
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

/// The lease of a lock that is renewed, where nothing else is said; that of Redisson.
const WATCHDOG_LEASE: Duration = Duration::from_secs(30);

/// How long a waiter rides out a store that does not answer, where nothing else is said.
const RIDE_OUT: Duration = Duration::from_secs(10);

/// How many times in a row a lock is passed on within one client, where nothing else is said.
const PASSES: u32 = 8;

/// How often rows are looked for that nobody has used for a day, at most.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// How long a database may take to answer, where nothing else is said; as long as Redis may.
#[cfg(feature = "postgres")]
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// Settings for a client.
#[derive(Debug, Clone)]
pub struct Builder {
    watchdog_lease: Duration,
    ride_out: Duration,
    passes: u32,
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
    /// | see [`Options::new`](crate::Options::new) | Redis, Valkey | |
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
        Builder::default().with_memory(memory)
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            watchdog_lease: WATCHDOG_LEASE,
            ride_out: RIDE_OUT,
            passes: PASSES,
            make_tables: true,
            sweep_every: SWEEP_EVERY,
            mistakes: Mistakes::default(),
        }
    }
}

impl Builder {
    /// Sets the lease of locks that are renewed, 50 ms to 100 years, default 30 s; renewed each
    /// sixth of it, each tenth where it is 3 s or shorter.
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

    /// Sets how many times in a row a lock may be passed from task to task within this client before everybody may try,
    /// default 8; with 0 each release frees the lock.
    ///
    /// Fewer are fairer to other processes, more cost the store less.
    #[must_use]
    pub fn passes(mut self, times: u32) -> Self {
        self.passes = times;
        self
    }

    /// Makes the client make a mistake; for this crate's own tests.
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
        Ok(self.start(Backend::Redis(RedisBackend::new(redis, self.mistakes))))
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
        Ok(self.with_memory(memory))
    }

    pub(crate) fn with_memory(&self, memory: &Memory) -> Locks {
        self.start(Backend::Memory(memory.clone()))
    }

    #[cfg(feature = "sql")]
    fn start_sql(&self, table: Table) -> Locks {
        self.start(Backend::Sql(Box::new(SqlBackend::new(table, self.sweep_every, self.mistakes))))
    }

    fn start(&self, backend: Backend) -> Locks {
        let (lease, ride_out) = (self.watchdog_lease, self.ride_out);
        let shared = Shared::start(backend, lease, ride_out, self.passes, self.mistakes);
        Locks::of(shared)
    }
}

/// What is asked of a PostgreSQL for locks: answers come soon, or not at all.
#[cfg(feature = "postgres")]
fn postgres_options(url: &str) -> firstcome_store::postgres::Options {
    firstcome_store::postgres::Options::new(url)
        .answer_within(ANSWER_WITHIN)
        .lock_within(ANSWER_WITHIN / 2)
}
