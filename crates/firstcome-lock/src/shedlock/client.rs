use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use firstcome_store::Options;
use tokio::time::{Instant, sleep};

#[cfg(feature = "mysql")]
use super::MySqlOptions;
#[cfg(feature = "postgres")]
use super::PostgresOptions;
#[cfg(any(feature = "postgres", feature = "mysql"))]
use super::Table;
use super::ask::Ask;
use super::held::SimpleLock;
#[cfg(feature = "mysql")]
use super::mysql::MySqlTable;
#[cfg(feature = "postgres")]
use super::postgres::PostgresTable;
use super::redis::RedisKeys;
use super::settings::KeySpace;
use super::store::Store;
use crate::backend::later;
use crate::clerk::Clerk;
use crate::{Backoff, Failure};
use firstcome_store::Effect;

/// The base of the pauses between looks for what a request whose answer was lost may have taken.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Locks kept where ShedLock keeps them: its `LockProvider`.
///
/// Cheap to clone; all clones are the same. Must be made inside a tokio runtime, whose tasks it uses. See the
/// [module](super) for what these locks are worth.
#[derive(Debug, Clone)]
pub struct ShedLock {
    inner: Arc<Inner>,
}

/// What every handle of one client shares.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) store: Store,
    pub(super) clerk: Clerk,
    closed: AtomicBool,
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
        let inner = Inner { store, clerk: Clerk::start(None), closed: AtomicBool::new(false) };
        Self { inner: Arc::new(inner) }
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
        match &self.inner.store {
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
        if self.inner.closed.load(Ordering::Acquire) {
            return Err(Failure::Closed);
        }
        let ask = self.inner.store.ask(name, lock_at_most_for, lock_at_least_for)?;
        let inner = Arc::clone(&self.inner);
        self.inner.clerk.own(move |wanted| inner.take(ask, wanted)).await
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
        self.inner.closed.store(true, Ordering::Release);
        let patience = 2 * self.inner.store.answer_within();
        // What is not answered in this time is not waited for: the locks end by themselves.
        drop(tokio::time::timeout(patience, self.inner.clerk.finish()).await);
        self.inner.store.close().await;
    }
}

impl Inner {
    async fn take(
        self: Arc<Self>,
        ask: Ask,
        wanted: Arc<AtomicBool>,
    ) -> Result<Option<SimpleLock>, Failure> {
        let taken = self.store.take(&ask).await;
        let late = Instant::now() >= ask.trusted_until();
        match taken {
            Ok(false) => return Ok(None),
            Ok(true) if wanted.load(Ordering::Acquire) && !late => {
                return Ok(Some(SimpleLock::new(&self, ask)));
            }
            Err(failure) if failure.effect() == Effect::None => return Err(failure),
            Ok(true) | Err(_) => {}
        }
        let undone = Arc::clone(&self).undo(ask, taken.is_ok());
        self.clerk.run(undone);
        match taken {
            Err(failure) => Err(failure),
            Ok(_) if late => Err(Failure::Late),
            Ok(_) => Ok(None),
        }
    }

    /// Frees what a request may have taken for nobody, until it was found or can hardly arrive any more.
    async fn undo(self: Arc<Self>, ask: Ask, arrived: bool) {
        let hardly_after = later(ask.at, 2 * self.store.answer_within());
        let over_at = ask.over_at();
        for pause in Backoff::new(LOOK_AGAIN).pauses() {
            let looked_at = Instant::now();
            match self.store.undo(&ask).await {
                Ok(found) if found || arrived || looked_at >= hardly_after => return,
                Err(failure) if !failure.passes_by_itself() => return,
                Ok(_) | Err(_) => {}
            }
            if Instant::now() >= over_at {
                // It has ended by itself.
                return;
            }
            sleep(pause).await;
        }
    }
}
