//! The table of locks, in whichever database it is.

use std::time::Duration;

#[cfg(feature = "mysql")]
use super::mysql::MySqlTable;
#[cfg(feature = "nats")]
use super::nats::NatsTable;
#[cfg(feature = "permits")]
use super::permit_row::{PermitStep, Permits};
#[cfg(feature = "postgres")]
use super::postgres::PostgresTable;
use super::row::{Row, Rows, Seen, Step};
#[cfg(feature = "sqlite")]
use super::sqlite::SqliteTable;
use super::subscriber::SqlSubscriber;
use crate::error::Error;

/// The table of locks in a database of one kind.
#[derive(Debug)]
pub(crate) enum LockTable {
    #[cfg(feature = "postgres")]
    Postgres(PostgresTable),
    #[cfg(feature = "mysql")]
    MySql(Box<MySqlTable>),
    #[cfg(feature = "nats")]
    Nats(NatsTable),
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteTable),
}

/// Calls the same function on whichever database it is.
macro_rules! on_each {
    ($self:ident, $table:ident => $call:expr) => {
        match $self {
            #[cfg(feature = "postgres")]
            LockTable::Postgres($table) => $call,
            #[cfg(feature = "mysql")]
            LockTable::MySql($table) => $call,
            #[cfg(feature = "nats")]
            LockTable::Nats($table) => $call,
            #[cfg(feature = "sqlite")]
            LockTable::Sqlite($table) => $call,
        }
    };
}

impl LockTable {
    /// Carries out a step, and gives the row as it stands after it.
    pub(super) async fn step(
        &self,
        name: &str,
        request: i64,
        step: &Step<'_>,
    ) -> Result<Seen, Error> {
        on_each!(self, table => table.step(name, request, step).await)
    }

    /// Renews, or with a lease of 0 only looks; gives 2 for renewed, 1 for held, 0 for gone.
    pub(super) async fn renew(
        &self,
        names: Vec<std::borrow::Cow<'_, str>>,
        owners: Vec<String>,
        lease: i64,
    ) -> Result<Vec<i32>, Error> {
        let names = names.into_iter().map(std::borrow::Cow::into_owned).collect();
        on_each!(self, table => table.renew(names, owners, lease).await)
    }

    /// Writes a guarded value; gives the fence in the row, and whether it was written.
    pub(super) async fn guard(
        &self,
        name: &str,
        fence: i64,
        owner: &str,
        value: &[u8],
    ) -> Result<Option<(i64, bool)>, Error> {
        on_each!(self, table => table.guard(name, fence, owner, value).await)
    }

    /// Executes a step on permits for `owner`, and gives the owners after it.
    #[cfg(feature = "permits")]
    pub(super) async fn permit(
        &self,
        name: &str,
        owner: &str,
        request: i64,
        step: PermitStep,
    ) -> Result<Permits, Error> {
        on_each!(self, table => table.permit(name, owner, request, step).await)
    }

    /// Renews permits of one name, or with a lease of 0 only looks; gives the owners that have theirs.
    #[cfg(feature = "permits")]
    pub(super) async fn renew_permits(
        &self,
        name: String,
        owners: Vec<String>,
        lease: i64,
    ) -> Result<Vec<String>, Error> {
        on_each!(self, table => table.renew_permits(name, owners, lease).await)
    }

    /// Removes old rows among the next `count`; gives the last name looked at.
    pub(super) async fn sweep(
        &self,
        rows: Rows,
        after: String,
        count: i64,
    ) -> Result<Option<String>, Error> {
        on_each!(self, table => table.sweep(rows, after, count).await)
    }

    /// Lists the next `count` locks that are held.
    pub(super) async fn held(
        &self,
        after: String,
        count: i64,
    ) -> Result<Vec<(String, Row, i64)>, Error> {
        on_each!(self, table => table.held(after, count).await)
    }

    /// Subscribes to what is said about `topic`, where anything is said.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_variables, reason = "nobody else says anything")
    )]
    pub(super) async fn listen(&self, topic: String) -> Result<SqlSubscriber, Error> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(table) => Ok(match table.listen(topic).await? {
                Some(subscriber) => SqlSubscriber::Postgres(subscriber),
                None => SqlSubscriber::Silent,
            }),
            #[cfg(feature = "mysql")]
            Self::MySql(_) => Ok(SqlSubscriber::Silent),
            #[cfg(feature = "nats")]
            Self::Nats(_) => Ok(SqlSubscriber::Silent),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => Ok(SqlSubscriber::Silent),
        }
    }

    /// Tells whether nobody says anything.
    pub(super) fn polls(&self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(table) => table.is_pooled(),
            #[cfg(feature = "mysql")]
            Self::MySql(_) => true,
            #[cfg(feature = "nats")]
            Self::Nats(_) => true,
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => true,
        }
    }

    /// Tells whether there are semaphores and read/write locks.
    #[cfg(feature = "permits")]
    pub(super) fn has_permits(&self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => true,
            #[cfg(feature = "mysql")]
            Self::MySql(_) => true,
            #[cfg(feature = "nats")]
            Self::Nats(_) => false,
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => true,
        }
    }

    pub(super) fn answer_within(&self) -> Duration {
        on_each!(self, table => table.answer_within())
    }

    pub(super) async fn close(&self) {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(table) => table.close().await,
            #[cfg(feature = "mysql")]
            Self::MySql(table) => table.close().await,
            #[cfg(feature = "nats")]
            Self::Nats(table) => table.close().await,
            // Its thread ends with it.
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => {}
        }
    }
}
