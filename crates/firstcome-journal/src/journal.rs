//! A journal, whichever store it is in: what each store gives.
//!
//! What is made of it is the same for every store: see `snapshots`, `skips`, `trimming`, and for several
//! nodes `membership`, `healing` and `reports`.

pub(crate) mod healing;
pub(crate) mod marks;
pub(crate) mod promise;
pub(crate) mod skips;
pub(crate) mod warning;
pub(crate) mod wrapped;

use crate::cluster::{EndedDeliveries, News};
use crate::entry::{Append, AppendAnswer, EntriesRead, Head};
use crate::error::JournalError;
use crate::journal::promise::Promise;
use crate::journal::wrapped::WrappedJournal;
use crate::mysql;
use crate::nats;
use crate::postgres;
use crate::redis;
use crate::transaction::call::JournalCall;
use crate::transaction::{Check, Seen, Transaction};
use crate::{memory, sqlite};
use firstcome_core::state::Skip;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A journal in one of the stores.
///
/// Cheap to clone: clones are the same journal.
///
/// # Cancel safety
///
/// A future dropped before it is done leaves the step that is under way to finish on its own: whether it happened is
/// then unknown, as after [`JournalError::Unknown`]. Of a call of several steps (`install`, `skip`, `trim`, `reseed`) no
/// further one is begun; each leaves the journal whole.
#[derive(Clone, Debug)]
pub enum Journal {
    Memory(memory::Memory),
    /// In a SQLite file.
    Sqlite(sqlite::Sqlite),
    /// In Redis or Valkey.
    Redis(redis::Redis),
    /// In PostgreSQL.
    Postgres(postgres::Postgres),
    /// In MariaDB.
    MySql(mysql::MySql),
    /// In NATS JetStream.
    Nats(nats::Nats),
    /// One that code outside this crate reaches or disturbs.
    Wrapped(Arc<dyn WrappedJournal>),
}

macro_rules! each {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            Self::Memory($store) => $call.await,
            Self::Sqlite($store) => $call.await,
            Self::Redis($store) => Box::pin($call).await,
            Self::Postgres($store) => Box::pin($call).await,
            Self::MySql($store) => Box::pin($call).await,
            Self::Nats($store) => Box::pin($call).await,
            Self::Wrapped($store) => $call.await,
        }
    };
}

impl Journal {
    /// Says whether several nodes may share it. Some methods are for them: see `membership`, `healing` and `reports`.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::Memory(memory) => memory.several,
            Self::Sqlite(_) => false,
            Self::Redis(_) | Self::Postgres(_) | Self::MySql(_) | Self::Nats(_) => true,
            Self::Wrapped(wrapped) => wrapped.is_shared(),
        }
    }

    /// Appends a batch and reads everything stored since what the caller applied, the batch included.
    ///
    /// At most 64 entries come back: if more lie between, the batch's own entry is among those that
    /// a later [`Journal::read`] gives. [`AppendAnswer::confirm`] tells when the entry, and every one
    /// before it, is durable as the store's setting has it.
    ///
    /// # Errors
    ///
    /// [`JournalError::Behind`] and [`JournalError::Forked`] when the store does not have what the caller
    /// applied; nothing was appended then. [`JournalError::Unknown`] when the answer was lost: send the
    /// same body again until it comes back, since the first copy may still arrive.
    pub async fn append(&self, append: Append) -> Result<AppendAnswer, JournalError> {
        each!(self, store => store.append(append))
    }

    /// Reads up to 64 entries beyond a position, in order, and says how far the store had looked.
    ///
    /// # Errors
    ///
    /// [`JournalError::Trimmed`] when the next entry is no longer kept; [`JournalError::Damaged`] with the
    /// position of an entry that is torn, altered or not the one its successor names.
    pub async fn read(&self, after: u64) -> Result<EntriesRead, JournalError> {
        each!(self, store => store.read(after))
    }

    /// Returns how the write-ahead log of its file is, where it is in a SQLite file.
    pub fn write_ahead_log(&self) -> Option<sqlite::WriteAheadLog> {
        if let Self::Sqlite(sqlite) = self { Some(sqlite.write_ahead_log()) } else { None }
    }

    /// Returns where the journal stands.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn head(&self) -> Result<Head, JournalError> {
        self.commit(Transaction::new(JournalCall::Head).check(Check::There)).await?.head()
    }

    /// Reads up to 64 entries beyond a position, waiting for the first at most for `timeout`.
    ///
    /// # Errors
    ///
    /// Those of [`Journal::read`]. Where nothing at all is left after a position that was
    /// trimmed, [`JournalError::Trimmed`] may come up to two seconds late.
    pub async fn follow(&self, after: u64, timeout: Duration) -> Result<News, JournalError> {
        match self {
            Self::Memory(memory) => memory.follow(after, timeout).await,
            Self::Sqlite(sqlite) => {
                // Nobody waits: a SQLite file has one node, which knows of everything that is appended.
                let (read, head) = (sqlite.read(after).await?, self.head().await?);
                Ok(News { read, now: head.now })
            }
            Self::Redis(redis) => Box::pin(redis.follow(after, timeout)).await,
            Self::Postgres(postgres) => Box::pin(postgres.follow(after, timeout)).await,
            Self::MySql(mysql) => Box::pin(mysql.follow(after, timeout)).await,
            Self::Nats(nats) => Box::pin(nats.follow(after, timeout)).await,
            Self::Wrapped(wrapped) => wrapped.follow(after, timeout).await,
        }
    }

    /// Returns how often it ended that a server delivers what is appended; never, where none does.
    pub fn ended_deliveries(&self) -> EndedDeliveries {
        match self {
            Self::Nats(nats) => nats.ended_deliveries(),
            Self::Wrapped(wrapped) => wrapped.ended_deliveries(),
            Self::Memory(_)
            | Self::Sqlite(_)
            | Self::Redis(_)
            | Self::Postgres(_)
            | Self::MySql(_) => EndedDeliveries::default(),
        }
    }

    /// Asks the store what it promises by its settings as they are now; `None` where that cannot change, or is proven
    /// elsewhere. In Redis appends go by the last answer, so that somebody has to ask again and again.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach: it says nothing of its settings then.
    pub async fn look_at_promise(&self) -> Result<Option<Promise>, JournalError> {
        match self {
            Self::Memory(_) | Self::Sqlite(_) | Self::Nats(_) | Self::Wrapped(_) => Ok(None),
            Self::Redis(redis) => Box::pin(redis.look_at_promise()).await.map(Some),
            Self::Postgres(postgres) => Box::pin(postgres.look_at_promise()).await.map(Some),
            Self::MySql(mysql) => Box::pin(mysql.look_at_promise()).await.map(Some),
        }
    }

    /// Waits until an append is refused with [`JournalError::LessDurable`], or was since this was last called.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn less_durable(&self) {
        match self {
            Self::Memory(_) | Self::Sqlite(_) | Self::Nats(_) | Self::Wrapped(_) => {
                std::future::pending().await
            }
            Self::Redis(redis) => redis.refusals().notified().await,
            Self::Postgres(postgres) => postgres.refusals().notified().await,
            Self::MySql(mysql) => mysql.refusals().notified().await,
        }
    }

    /// Does one atomic step.
    ///
    /// # Errors
    ///
    /// The failure of the first condition that does not hold, and those of the store being out of reach.
    pub async fn commit(&self, transaction: Transaction) -> Result<Seen, JournalError> {
        each!(self, store => store.commit(transaction))
    }

    /// Closes what the journal is in: connections, or the file. Calls from now on answer unavailable.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn close(&self) {
        match self {
            Self::Memory(_) => {}
            Self::Sqlite(sqlite) => sqlite.close().await,
            Self::Redis(redis) => redis.close().await,
            Self::Postgres(postgres) => postgres.close().await,
            Self::MySql(mysql) => mysql.close().await,
            Self::Nats(nats) => nats.close().await,
            Self::Wrapped(wrapped) => wrapped.close().await,
        }
    }

    /// Removes the journal from its store, with all that belongs to it; nobody may be using it. Journals that no store
    /// shares are left as they are: they go with their memory or their folder.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach; [`JournalError::Unknown`] when the answer was lost. Part of it may have been
    /// removed; the next call removes the rest.
    pub async fn remove(&self) -> Result<(), JournalError> {
        match self {
            Self::Memory(_) | Self::Sqlite(_) | Self::Wrapped(_) => Ok(()),
            Self::Redis(redis) => Box::pin(redis.remove()).await,
            Self::Postgres(postgres) => Box::pin(postgres.remove()).await,
            Self::MySql(mysql) => Box::pin(mysql.remove()).await,
            Self::Nats(nats) => Box::pin(nats.remove()).await,
        }
    }

    /// Has the archive take in the entries from `first` to `last`, and which of them are skipped, durably.
    /// Does nothing where there is no archive.
    pub(crate) async fn archive(
        &self,
        first: u64,
        last: u64,
        skips: Vec<Skip>,
    ) -> Result<(), JournalError> {
        let read = {
            let journal = self.clone();
            move |after| {
                let journal = journal.clone();
                async move { Ok(journal.read(after).await?.entries) }
            }
        };
        match self {
            Self::Memory(_) | Self::Wrapped(_) => Ok(()),
            Self::Sqlite(sqlite) => sqlite.archive(first, last, skips).await,
            Self::Redis(redis) => {
                Box::pin(redis.archiving().take_in(first, last, skips, read)).await
            }
            Self::Postgres(postgres) => {
                Box::pin(postgres.archiving().take_in(first, last, skips, read)).await
            }
            Self::MySql(mysql) => {
                Box::pin(mysql.archiving().take_in(first, last, skips, read)).await
            }
            Self::Nats(nats) => Box::pin(nats.archiving().take_in(first, last, skips, read)).await,
        }
    }

    /// Returns how long entries and idle pieces are kept at least.
    pub(crate) fn keep_for(&self) -> Duration {
        match self {
            Self::Memory(_) | Self::Wrapped(_) => sqlite::KEEP_FOR,
            Self::Sqlite(sqlite) => sqlite.keep_for(),
            Self::Redis(redis) => redis.keep_for(),
            Self::Postgres(postgres) => postgres.keep_for(),
            Self::MySql(mysql) => mysql.keep_for(),
            Self::Nats(nats) => nats.keep_for(),
        }
    }

    /// Watches a number that changes whenever the store may have lost what it had: at a new
    /// connection, a failover, a restart.
    pub fn incarnations(&self) -> watch::Receiver<u64> {
        match self {
            Self::Memory(memory) => memory.incarnations(),
            // Of use to several nodes only, and a SQLite file has one.
            Self::Sqlite(_) => watch::channel(0).1,
            Self::Redis(redis) => redis.incarnations(),
            Self::Postgres(postgres) => postgres.incarnations(),
            Self::MySql(mysql) => mysql.incarnations(),
            Self::Nats(nats) => nats.incarnations(),
            Self::Wrapped(wrapped) => wrapped.incarnations(),
        }
    }

    /// Says whether every entry that can be read is as durable as the store's setting has it, so
    /// that there is nothing to wait for: [`Confirm::AtOnce`](crate::Confirm::AtOnce) each time.
    pub fn confirms_at_once(&self) -> bool {
        match self {
            Self::Memory(memory) => memory.confirms_at_once(),
            Self::Sqlite(_) => true,
            Self::Redis(redis) => redis.confirms_at_once(),
            // An append is answered when it is durable, and an entry is read when it is.
            Self::Postgres(_) => true,
            Self::MySql(_) => true,
            Self::Nats(_) => true,
            Self::Wrapped(wrapped) => wrapped.confirms_at_once(),
        }
    }
}
