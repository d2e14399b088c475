//! The ledger: results in SQL tables that anybody may query, each exactly once.
//!
//! The leader hands over results in the order of their numbers, a batch at a time. One transaction
//! carries the rows and moves `through` from where the leader believes the ledger to be, under the
//! term the ledger minted for it. A leader that was replaced finds another term, a batch that comes a
//! second time finds another `through`, and neither writes anything: so each result is there once,
//! and none is left out. The tables are documented in `docs/reference/ledger.md`.

mod aside;
pub mod choice;
mod database_url;
mod details;
mod error;
mod look;
pub mod memory;
mod mysql;
mod postgres;
mod queue;
mod row;
mod share;
mod sqlite;
mod webhooks;

#[cfg(test)]
mod tests;

pub use aside::set_aside;
pub use database_url::DatabaseUrl;
pub use details::Details;
pub use error::LedgerError;
pub use look::Look;
pub use memory::MemoryLedger;
pub use mysql::MySqlLedger;
pub use postgres::PostgresLedger;
pub use row::Row;
pub use sqlite::{Reader, SqliteLedger};
pub use webhooks::StoredWebhook;

use crate::ledger::choice::LedgerChoice;
use firstcome_core::SpaceId;
use firstcome_journal::folder::DataFolder;
use std::path::Path;

/// The `layout` in `meta` of the tables that this build makes, and the highest one that it can use.
const LAYOUT: u32 = 1;

/// Results to be written together.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The number up to which the leader believes the ledger to have results.
    pub after: u64,
    /// The term the ledger minted for the leader.
    pub term: u64,
    /// The results that follow, in order. Those dropped on the operator's word are not among them.
    pub rows: Vec<Row>,
}

/// Where a ledger stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The number up to which it has results.
    pub through: u64,
    /// The last term it minted.
    pub term: u64,
}

impl Standing {
    /// Says why a batch does not go on from here.
    fn refusal(self, after: u64, term: u64) -> LedgerError {
        if self.term != term {
            return LedgerError::OldTerm { ours: term, theirs: self.term };
        }
        LedgerError::Moved { after, through: self.through }
    }
}

/// A ledger in one of the databases.
///
/// Cheap to clone: clones are the same ledger.
///
/// # Cancel safety
///
/// A future dropped before it is done leaves the call to finish on its own: whether it happened is
/// then unknown, as after [`LedgerError::Unknown`].
#[derive(Clone, Debug)]
pub enum Ledger {
    /// In a SQLite file.
    Sqlite(SqliteLedger),
    /// In a PostgreSQL database.
    Postgres(PostgresLedger),
    /// In a MariaDB.
    MySql(MySqlLedger),
    /// In memory, for tests and simulations.
    Memory(MemoryLedger),
}

/// Calls the same on each kind of ledger.
macro_rules! each {
    ($self:ident, $ledger:ident => $call:expr) => {
        match $self {
            Self::Sqlite($ledger) => $call,
            Self::Postgres($ledger) => $call,
            Self::MySql($ledger) => $call,
            Self::Memory($ledger) => $call,
        }
    };
}

impl Ledger {
    /// Opens the ledger of a space in a SQLite file, made if it is not there.
    ///
    /// Whoever opens it must hold the data folder. Blocks for as long as opening the file takes. A file that cannot be
    /// opened for a reason that [passes by itself](LedgerError::passes_by_itself), as a full disk, is opened by a
    /// later call; [`Ledger::ready`] says why it is not yet.
    ///
    /// # Errors
    ///
    /// [`LedgerError::OtherSpace`], [`LedgerError::TooNew`], [`LedgerError::ReadOnly`];
    /// [`LedgerError::Broken`] when the file is not a ledger or is damaged.
    pub async fn open_sqlite(path: &Path, space: SpaceId) -> Result<Self, LedgerError> {
        SqliteLedger::open(path, space).map(Self::Sqlite)
    }

    /// Returns the ledger that the configuration names, if it names one; `name` is the space's. Without a data folder
    /// there is no file.
    ///
    /// # Errors
    ///
    /// As [`Ledger::open_sqlite`], [`Ledger::postgres`] and [`Ledger::mysql`].
    pub async fn named(
        kind: &LedgerChoice,
        folder: Option<&DataFolder>,
        name: &str,
        space: SpaceId,
    ) -> Result<Option<Self>, LedgerError> {
        match kind {
            LedgerChoice::None => Ok(None),
            LedgerChoice::Sqlite => match folder {
                None => Ok(None),
                Some(folder) => Self::open_sqlite(&folder.ledger(), space).await.map(Some),
            },
            LedgerChoice::SqliteFile(file) => Self::open_sqlite(file, space).await.map(Some),
            LedgerChoice::Postgres(url) => Self::postgres(url.reveal(), name, space).map(Some),
            LedgerChoice::MySql(url) => Self::mysql(url.reveal(), name, space).map(Some),
        }
    }

    /// Names the ledger of a space in a PostgreSQL database; see [`Ledger::ready`].
    ///
    /// `name` is the space's name in the configuration: its tables are in the schema `firstcome_NAME`.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Denied`] when the URL cannot be read, [`LedgerError::Broken`] when the name is too long.
    pub fn postgres(url: &str, name: &str, space: SpaceId) -> Result<Self, LedgerError> {
        PostgresLedger::new(url, name, space).map(Self::Postgres)
    }

    /// Names the ledger of a space in a MariaDB; see [`Ledger::ready`].
    ///
    /// `name` is the space's name in the configuration: its tables are in the database `firstcome_NAME`.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Denied`] when the URL cannot be read, [`LedgerError::Broken`] when the name is too long.
    pub fn mysql(url: &str, name: &str, space: SpaceId) -> Result<Self, LedgerError> {
        MySqlLedger::new(url, name, space).map(Self::MySql)
    }

    /// Looks whether the ledger is there and ours; makes its tables where there are none.
    ///
    /// Every later call looks again as long as this has not succeeded, and whenever the connection is a new one.
    ///
    /// # Errors
    ///
    /// [`LedgerError::OtherSpace`], [`LedgerError::TooNew`], [`LedgerError::ReadOnly`],
    /// [`LedgerError::Denied`]; [`LedgerError::Broken`] when its tables are something else's;
    /// [`LedgerError::Unavailable`] and others that [pass by themselves](LedgerError::passes_by_itself).
    pub async fn ready(&self) -> Result<(), LedgerError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.standing().await.map(drop),
            Self::Postgres(postgres) => postgres.ready().await,
            Self::MySql(mysql) => mysql.ready().await,
            Self::Memory(memory) => memory.standing().await.map(drop),
        }
    }

    /// Returns its id, drawn when its tables were made.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub async fn id(&self) -> Result<u128, LedgerError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.id().await,
            Self::Postgres(postgres) => postgres.id().await,
            Self::MySql(mysql) => mysql.id().await,
            Self::Memory(memory) => Ok(memory.id()),
        }
    }

    /// Says whether its id is the same for as long as it is open.
    pub(crate) fn keeps_its_id(&self) -> bool {
        matches!(self, Self::Memory(_))
    }

    /// Returns the word for the kind of database: `sqlite`, `postgres`, `mariadb` or `memory`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            Self::Postgres(_) => "postgres",
            Self::MySql(_) => "mariadb",
            Self::Memory(_) => "memory",
        }
    }

    /// Mints the next term, which makes those before it refused, and says where the ledger stands.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub async fn mint_term(&self) -> Result<Standing, LedgerError> {
        each!(self, ledger => ledger.mint_term().await)
    }

    /// Says where the ledger stands.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub async fn standing(&self) -> Result<Standing, LedgerError> {
        each!(self, ledger => ledger.standing().await)
    }

    /// Writes a batch, all of it or nothing, and answers when it is durable.
    ///
    /// After [`LedgerError::Unknown`] ask [`Ledger::standing`]: if `through` is the number of the
    /// last row, it was written.
    ///
    /// # Errors
    ///
    /// [`LedgerError::OldTerm`] and [`LedgerError::Moved`] when the ledger is not where the leader
    /// believes it to be; [`LedgerError::Differs`] when it has another past. Nothing was written then.
    ///
    /// # Panics
    ///
    /// The rows do not follow `after` in the order of their numbers.
    pub async fn settle(&self, batch: Batch) -> Result<Standing, LedgerError> {
        let mut before = batch.after;
        let ordered =
            batch.rows.iter().all(|row| std::mem::replace(&mut before, row.number) < row.number);
        assert!(ordered, "results are settled in order, after {}", batch.after);
        each!(self, ledger => ledger.settle(batch).await)
    }

    /// Returns up to `limit` results beyond a number in the order of their numbers, of one campaign if
    /// one is named.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub async fn results(
        &self,
        after: u64,
        limit: usize,
        campaign: Option<&str>,
    ) -> Result<Vec<Row>, LedgerError> {
        each!(self, ledger => ledger.results(after, limit, campaign).await)
    }

    /// Returns how many claims of a pool the ledger has, and how many of them are cancelled.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub async fn claim_counts(
        &self,
        campaign: &str,
        pool: &str,
    ) -> Result<(u64, u64), LedgerError> {
        each!(self, ledger => ledger.claim_counts(campaign, pool).await)
    }

    /// Lets go of the database after what is queued, and waits for that. Calls from now on answer
    /// unavailable.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it closes all the same.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(sqlite) => sqlite.close().await,
            Self::Postgres(postgres) => postgres.close().await,
            Self::MySql(mysql) => mysql.close().await,
            Self::Memory(memory) => memory.close(),
        }
    }
}
