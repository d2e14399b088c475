//! The stores that ShedLock's locks are kept in, behind one set of functions.

use std::time::Duration;

use crate::ask::Ask;
use crate::error::Error;
#[cfg(feature = "mysql")]
use crate::mysql::MySqlTable;
#[cfg(feature = "postgres")]
use crate::postgres::PostgresTable;
#[cfg(feature = "redis")]
use crate::redis::RedisKeys;

/// Where locks are kept.
#[derive(Debug)]
pub(crate) enum Store {
    #[cfg(feature = "redis")]
    Redis(RedisKeys),
    #[cfg(feature = "postgres")]
    Postgres(PostgresTable),
    #[cfg(feature = "mysql")]
    MySql(MySqlTable),
}

/// Calls the same function on whichever store it is.
macro_rules! on_either {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            #[cfg(feature = "redis")]
            Store::Redis($store) => $call,
            #[cfg(feature = "postgres")]
            Store::Postgres($store) => $call,
            #[cfg(feature = "mysql")]
            Store::MySql($store) => $call,
        }
    };
}

impl Store {
    /// Asks for what a holder not seen before needs.
    pub(crate) fn ask(
        &self,
        name: &str,
        at_most: Duration,
        at_least: Duration,
    ) -> Result<Ask, Error> {
        on_either!(self, store => store.ask(name, at_most, at_least))
    }

    /// Takes a free lock; gives whether it was free.
    pub(crate) async fn take(&self, ask: &Ask) -> Result<bool, Error> {
        on_either!(self, store => store.take(ask).await)
    }

    /// Holds a lock for a time from now on; gives whether it was this holder's, and not over. May be repeated.
    pub(crate) async fn extend(&self, ask: &Ask) -> Result<bool, Error> {
        on_either!(self, store => store.extend(ask).await)
    }

    /// Frees a lock, or ends it when it was taken for long enough; gives whether it was this holder's. May be asked
    /// again.
    pub(crate) async fn unlock(&self, ask: &Ask) -> Result<bool, Error> {
        on_either!(self, store => store.unlock(ask).await)
    }

    /// Frees a lock at once; gives whether it was this holder's. May be repeated.
    pub(crate) async fn undo(&self, ask: &Ask) -> Result<bool, Error> {
        on_either!(self, store => store.undo(ask).await)
    }

    /// Returns how long one request may take.
    pub(crate) fn answer_within(&self) -> Duration {
        on_either!(self, store => store.answer_within())
    }

    pub(crate) async fn close(&self) {
        on_either!(self, store => store.close().await);
    }
}
