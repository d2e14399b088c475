//! A client of locks as ShedLock keeps them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(feature = "mysql")]
use firstcome_store::mysql::Options as MySqlOptions;
#[cfg(feature = "postgres")]
use firstcome_store::postgres::Options as PostgresOptions;
use firstcome_store::{Effect, Options};
use tokio::time::Instant;

use super::ask::Ask;
use super::held::SimpleLock;
#[cfg(feature = "mysql")]
use super::mysql::MySqlTable;
#[cfg(feature = "postgres")]
use super::postgres::PostgresTable;
use super::redis::RedisKeys;
use super::settings::KeySpace;
#[cfg(any(feature = "postgres", feature = "mysql"))]
use super::settings::Table;
use super::shared::Shared;
use super::store::Store;
use crate::background_task::BackgroundTask;
use crate::failure::Failure;

/// Locks kept where ShedLock keeps them: its `LockProvider`.
///
/// Cheap to clone; all clones are the same. Must be made inside a tokio runtime, whose tasks it uses. See the
/// [module](super) for what these locks are worth.
#[derive(Debug, Clone)]
pub struct ShedLock {
    shared: Arc<Shared>,
}

impl ShedLock {
    /// Connects to the store at `url` with ShedLock's defaults: `redis://…` with the keys `job-lock:default:NAME`, or,
    /// with the features `postgres` and `mysql`, `postgres://…` and `mysql://…` with the table `shedlock` and the
    /// database's clock.
    ///
    /// # Errors
    ///
    /// [`Failure::Store`] with the reason of the first try.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn connect(url: &str) -> Result<Self, Failure> {
        #[cfg(feature = "postgres")]
        if ["postgres:", "postgresql:"].iter().any(|scheme| url.starts_with(scheme)) {
            return Self::postgres(PostgresOptions::new(url), Table::default()).await;
        }
        #[cfg(feature = "mysql")]
        if ["mysql:", "mariadb:"].iter().any(|scheme| url.starts_with(scheme)) {
            return Self::mysql(MySqlOptions::new(url), Table::default()).await;
        }
        Self::redis(Options::new(url), KeySpace::default()).await
    }

    /// Connects to a Redis or Valkey, for keys that are called as `keys` says.
    ///
    /// # Errors
    ///
    /// [`Failure::Store`] with the reason of the first try, [`Failure::Unfit`] for the settings.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn redis(options: Options, keys: KeySpace) -> Result<Self, Failure> {
        Ok(Self::start(Store::Redis(RedisKeys::connect(options, keys).await?)))
    }

    /// Connects to a PostgreSQL, for a table as `table` says; [`ShedLock::create_table`] makes it.
    ///
    /// # Errors
    ///
    /// As [`ShedLock::redis`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "postgres")]
    pub async fn postgres(options: PostgresOptions, table: Table) -> Result<Self, Failure> {
        Ok(Self::start(Store::Postgres(PostgresTable::connect(options, table).await?)))
    }

    /// Connects to a MariaDB or MySQL, for a table as `table` says; [`ShedLock::create_table`] makes it.
    ///
    /// The sessions keep the server's own time zone, as those of Java do: the columns are of a type that is read in it.
    ///
    /// # Errors
    ///
    /// As [`ShedLock::redis`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[cfg(feature = "mysql")]
    pub async fn mysql(options: MySqlOptions, table: Table) -> Result<Self, Failure> {
        Ok(Self::start(Store::MySql(MySqlTable::connect(options, table).await?)))
    }

    fn start(store: Store) -> Self {
        let shared = Shared {
            store,
            background: BackgroundTask::start(None),
            closed: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Makes the table where it is not there, with the columns that ShedLock documents; nothing to do on Redis.
    ///
    /// # Errors
    ///
    /// [`Failure::Store`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it may have happened, and may be asked again.
    pub async fn create_table(&self) -> Result<(), Failure> {
        match &self.shared.store {
            Store::Redis(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Store::Postgres(table) => table.create_table().await,
            #[cfg(feature = "mysql")]
            Store::MySql(table) => table.create_table().await,
        }
    }

    /// Takes the lock of this name if it is free; `None` where somebody has it. Never waits for it.
    ///
    /// It is free again after `lock_at_most_for`, 50 ms to 100 years, even if its holder still works; choose it much longer
    /// than the work can take. It stays taken for `lock_at_least_for`, nothing to `lock_at_most_for`, even if its holder
    /// gives it back before; choose it longer than clocks differ and shorter than the job's interval. Both are cut to
    /// whole milliseconds.
    ///
    /// # Errors
    ///
    /// [`Failure::Unfit`] for a name that is empty or too long (64 characters on SQL), [`Failure::OutOfRange`],
    /// [`Failure::NoTable`], [`Failure::Store`]. Where an answer was lost, what may have been taken is given back in the
    /// background. [`Failure::Late`] where the answer came when the lock was worth nothing any more.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: what was taken is given back in the background, at once.
    pub async fn lock(
        &self,
        name: &str,
        lock_at_most_for: Duration,
        lock_at_least_for: Duration,
    ) -> Result<Option<SimpleLock>, Failure> {
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(Failure::Closed);
        }
        let ask = self.shared.store.ask(name, lock_at_most_for, lock_at_least_for)?;
        let shared = Arc::clone(&self.shared);
        self.shared.background.run_to_end(move |wanted| take(shared, ask, wanted)).await
    }

    /// Waits for what goes on in the background, not longer than two requests may take, and closes the connections, for
    /// all clones.
    ///
    /// Locks that are still held stay taken until their *at most* is over: give them back before.
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
) -> Result<Option<SimpleLock>, Failure> {
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
        Ok(_) if late => Err(Failure::Late),
        Ok(_) => Ok(None),
    }
}
