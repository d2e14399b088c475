//! Locks in a database, or in a stream of NATS: a row for each.

mod backend;
#[cfg(feature = "mysql")]
mod mysql;
mod name;
#[cfg(feature = "nats")]
mod nats;
mod numbers;
#[cfg(feature = "permits")]
mod permit_row;
#[cfg(feature = "permits")]
mod permits;
#[cfg(feature = "postgres")]
mod postgres;
mod retry;
mod row;
#[cfg(feature = "sqlite")]
mod sqlite;
mod subscriber;
mod table;

pub(crate) use self::backend::SqlBackend;
#[cfg(feature = "mysql")]
pub(crate) use self::mysql::MySqlTable;
#[cfg(feature = "nats")]
pub(crate) use self::nats::NatsTable;
#[cfg(feature = "postgres")]
pub(crate) use self::postgres::PostgresTable;
#[cfg(feature = "sqlite")]
pub(crate) use self::sqlite::SqliteTable;
pub(crate) use self::subscriber::SqlSubscriber;
pub(crate) use self::table::LockTable;

/// A database for locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Database {
    /// PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres,
    /// MariaDB (MySQL untested).
    #[cfg(feature = "mysql")]
    MySql,
    /// A SQLite file.
    #[cfg(feature = "sqlite")]
    Sqlite,
}

impl Database {
    /// Returns the statements that create the tables, to run them by hand; see
    /// [`Builder::make_tables`](crate::Builder::make_tables).
    #[must_use]
    pub fn create_tables(self) -> &'static str {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres => postgres::CREATE,
            #[cfg(feature = "mysql")]
            Self::MySql => mysql::CREATE,
            #[cfg(feature = "sqlite")]
            Self::Sqlite => sqlite::CREATE,
        }
    }
}
