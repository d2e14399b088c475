//! A client of ShedLock's locks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(feature = "redis")]
use firstcome_store::RedisOptions;
use firstcome_store::client::BackgroundTask;
#[cfg(feature = "mysql")]
use firstcome_store::mysql::MySqlOptions;
#[cfg(feature = "postgres")]
use firstcome_store::postgres::PostgresOptions;
use firstcome_store::{Effect, Store as Kind};
use tokio::time::Instant;

use crate::ask::Ask;
use crate::error::Error;
use crate::held::SimpleLock;
#[cfg(feature = "mysql")]
use crate::mysql::MySqlTable;
#[cfg(feature = "postgres")]
use crate::postgres::PostgresTable;
#[cfg(feature = "redis")]
use crate::redis::RedisKeys;
#[cfg(feature = "redis")]
use crate::settings::KeySpace;
#[cfg(any(feature = "postgres", feature = "mysql"))]
use crate::settings::Table;
use crate::shared::Shared;
use crate::store::Store;

/// Locks in ShedLock's table or key: its `LockProvider`.
///
/// Cheap to clone; all clones are the same client. Create it inside a tokio runtime: it uses tasks of this runtime. The
/// [page of the crate](crate) says what these locks guarantee.
#[derive(Debug, Clone)]
pub struct ShedLock {
    shared: Arc<Shared>,
}

impl ShedLock {
    /// Connects to the store at `url` with ShedLock's defaults.
    ///
    /// | URL | where the locks are | feature |
    /// |---|---|---|
    /// | `redis://…`, `rediss://…`, `redis+sentinel://…`, `redis+cluster://…` | the keys `job-lock:default:NAME` | `redis` |
    /// | `postgres://…` | the table `shedlock`, by the database's clock | `postgres` |
    /// | `mysql://…`, `mariadb://…` | the same | `mysql` |
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with the reason of the first attempt.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        match Kind::of_url(url)? {
            #[cfg(feature = "redis")]
            Kind::Redis => Self::redis(RedisOptions::new(url), KeySpace::default()).await,
            #[cfg(not(feature = "redis"))]
            Kind::Redis => Err(Kind::Redis.not_built().into()),
            #[cfg(feature = "postgres")]
            Kind::PostgreSql => Self::postgres(PostgresOptions::new(url), Table::default()).await,
            #[cfg(not(feature = "postgres"))]
            Kind::PostgreSql => Err(Kind::PostgreSql.not_built().into()),
            #[cfg(feature = "mysql")]
            Kind::MySql => Self::mysql(MySqlOptions::new(url), Table::default()).await,
            #[cfg(not(feature = "mysql"))]
            Kind::MySql => Err(Kind::MySql.not_built().into()),
            Kind::Nats | Kind::Sqlite => Err(Error::Unfit {
                what: "the store's address",
                reason: "ShedLock's locks are not kept in SQLite files, nor here in NATS"
                    .to_owned(),
                hint: "use redis://…, postgres://… or mysql://…",
            }),
        }
    }

    /// Connects to a Redis or Valkey, with the key names of `keys`.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with the reason of the first attempt, [`Error::Unfit`] for the settings.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "redis")]
    pub async fn redis(options: RedisOptions, keys: KeySpace) -> Result<Self, Error> {
        Ok(Self::start(Store::Redis(RedisKeys::connect(options, keys).await?)))
    }

    /// Connects to PostgreSQL, for the table of `table`; [`ShedLock::create_table`] creates it.
    ///
    /// # Errors
    ///
    /// As [`ShedLock::redis`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "postgres")]
    pub async fn postgres(options: PostgresOptions, table: Table) -> Result<Self, Error> {
        Ok(Self::start(Store::Postgres(PostgresTable::connect(options, table).await?)))
    }

    /// Connects to MariaDB, for the table of `table`; [`ShedLock::create_table`] creates it.
    ///
    /// The sessions keep the time zone of the server, as those of Java do: the type of the columns depends on it.
    ///
    /// # Errors
    ///
    /// As [`ShedLock::redis`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "mysql")]
    pub async fn mysql(options: MySqlOptions, table: Table) -> Result<Self, Error> {
        Ok(Self::start(Store::MySql(MySqlTable::connect(options, table).await?)))
    }

    fn start(store: Store) -> Self {
        let shared =
            Shared { store, background: BackgroundTask::start(), closed: AtomicBool::new(false) };
        Self { shared: Arc::new(shared) }
    }

    /// Creates the table if it is missing, with the columns that ShedLock documents. Does nothing on Redis.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it may have happened, and may be called again.
    pub async fn create_table(&self) -> Result<(), Error> {
        match &self.shared.store {
            #[cfg(feature = "redis")]
            Store::Redis(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Store::Postgres(table) => table.create_table().await,
            #[cfg(feature = "mysql")]
            Store::MySql(table) => table.create_table().await,
        }
    }

    /// Takes the lock of this name if it is free; `None` if another holder has it. Never waits for it.
    ///
    /// The lock is free again after `lock_at_most_for`, 50 ms to 100 years, even if its holder still works: choose a time that
    /// is much longer than the work. The lock stays taken for `lock_at_least_for`, zero to `lock_at_most_for`, even if its
    /// holder releases it earlier: choose a time that is longer than the differences between clocks and shorter than the
    /// interval of the job. Both are cut to whole milliseconds.
    ///
    /// # Errors
    ///
    /// [`Error::Unfit`] for a name that is empty or too long (64 characters on SQL), [`Error::OutOfRange`],
    /// [`Error::NoTable`], [`Error::Store`]. If an answer was lost, the lock is released in the background.
    /// [`Error::Late`] if the answer came too late to use the lock.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the lock is released in the background, at once.
    pub async fn lock(
        &self,
        name: &str,
        lock_at_most_for: Duration,
        lock_at_least_for: Duration,
    ) -> Result<Option<SimpleLock>, Error> {
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        let ask = self.shared.store.ask(name, lock_at_most_for, lock_at_least_for)?;
        let shared = Arc::clone(&self.shared);
        self.shared.background.run_to_end(move |wanted| take(shared, ask, wanted)).await
    }

    /// Waits for background work, not longer than the time of two requests, and closes the connections, for all clones.
    ///
    /// Held locks stay taken until their *at most* is over: release them before.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: connections may stay open until the last clone is dropped.
    pub async fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        let patience = 2 * self.shared.store.answer_within();
        // What is not answered in this time is not waited for: the locks end by themselves.
        drop(tokio::time::timeout(patience, self.shared.background.finish()).await);
        self.shared.store.close().await;
    }
}

async fn take(
    shared: Arc<Shared>,
    ask: Ask,
    wanted: Arc<AtomicBool>,
) -> Result<Option<SimpleLock>, Error> {
    let taken = shared.store.take(&ask).await;
    let late = Instant::now() >= ask.trusted_until();
    match taken {
        Ok(false) => return Ok(None),
        Ok(true) if wanted.load(Ordering::Acquire) && !late => {
            return Ok(Some(SimpleLock::new(&shared, ask)));
        }
        Err(failure) if failure.effect() == Effect::None => return Err(failure),
        Ok(true) | Err(_) => {}
    }
    let undone = Arc::clone(&shared).undo(ask, taken.is_ok());
    shared.background.run(undone);
    match taken {
        Err(failure) => Err(failure),
        Ok(_) if late => Err(Error::Late),
        Ok(_) => Ok(None),
    }
}
