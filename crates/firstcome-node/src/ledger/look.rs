//! Reading a ledger beside whoever writes it, for somebody who may block.

use super::{LedgerError, Reader, Row};
use crate::ledger::choice::LedgerChoice;
use firstcome_core::SpaceId;
use firstcome_journal::folder;
use std::path::Path;

/// A ledger for reading only. All of it blocks, so that it is not for asynchronous code.
#[derive(Debug)]
pub enum Look {
    /// In a SQLite file.
    Sqlite(Reader),
    /// In a PostgreSQL database.
    Postgres {
        /// What its connections run on.
        runtime: tokio::runtime::Runtime,
        ledger: super::PostgresLedger,
    },
    /// In a MariaDB.
    MySql {
        /// What its connections run on.
        runtime: tokio::runtime::Runtime,
        ledger: super::MySqlLedger,
    },
}

impl Look {
    /// Opens the ledger that is named, if it is there. Makes nothing.
    ///
    /// `data` is the folder in which a ledger of no other place is, `name` the space's name in the configuration.
    ///
    /// # Errors
    ///
    /// It is of another space, of a layout above this build's, or cannot be read.
    pub fn open(
        kind: &LedgerChoice,
        data: Option<&Path>,
        name: &str,
        space: SpaceId,
    ) -> Result<Option<Self>, LedgerError> {
        match kind {
            LedgerChoice::None => Ok(None),
            LedgerChoice::Sqlite => match data {
                Some(data) => Self::open_file(&folder::ledger_file(data), space),
                None => Ok(None),
            },
            LedgerChoice::SqliteFile(file) => Self::open_file(file, space),
            LedgerChoice::Postgres(url) => {
                let runtime = runtime()?;
                let looked = runtime.block_on(async {
                    let ledger = super::PostgresLedger::new(url.reveal(), name, space)?;
                    Ok::<_, LedgerError>(ledger.through().await?.map(|_| ledger))
                });
                Ok(looked?.map(|ledger| Self::Postgres { runtime, ledger }))
            }
            LedgerChoice::MySql(url) => {
                let runtime = runtime()?;
                let looked = runtime.block_on(async {
                    let ledger = super::MySqlLedger::new(url.reveal(), name, space)?;
                    Ok::<_, LedgerError>(ledger.through().await?.map(|_| ledger))
                });
                Ok(looked?.map(|ledger| Self::MySql { runtime, ledger }))
            }
        }
    }

    /// Returns which space the ledger is of, if it is there. Makes nothing.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is of a layout above this build's.
    pub fn space(
        kind: &LedgerChoice,
        data: Option<&Path>,
        name: &str,
    ) -> Result<Option<SpaceId>, LedgerError> {
        // Of which space it is, it says where another one is asked for: this one is nobody's.
        match Self::open(kind, data, name, SpaceId::default()) {
            Err(LedgerError::OtherSpace { found, .. }) => Ok(Some(found)),
            looked => looked.map(|_| None),
        }
    }

    fn open_file(file: &Path, space: SpaceId) -> Result<Option<Self>, LedgerError> {
        if !file.exists() {
            return Ok(None);
        }
        Reader::open(file, space).map(|reader| Some(Self::Sqlite(reader)))
    }

    /// Returns the number up to which the ledger has results.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn through(&self) -> Result<u64, LedgerError> {
        match self {
            Self::Sqlite(reader) => reader.through(),
            Self::Postgres { runtime, ledger } => {
                runtime.block_on(ledger.through())?.ok_or_else(gone)
            }
            Self::MySql { runtime, ledger } => runtime.block_on(ledger.through())?.ok_or_else(gone),
        }
    }

    /// Returns up to `limit` results beyond a number, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn results(&self, after: u64, limit: usize) -> Result<Vec<Row>, LedgerError> {
        match self {
            Self::Sqlite(reader) => reader.results(after, limit),
            Self::Postgres { runtime, ledger } => {
                runtime.block_on(ledger.results(after, limit, None))
            }
            Self::MySql { runtime, ledger } => runtime.block_on(ledger.results(after, limit, None)),
        }
    }

    /// Returns how many claims of a pool there are, and how many of them are cancelled.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn claim_counts(&self, campaign: &str, pool: &str) -> Result<(u64, u64), LedgerError> {
        match self {
            Self::Sqlite(reader) => reader.claim_counts(campaign, pool),
            Self::Postgres { runtime, ledger } => {
                runtime.block_on(ledger.claim_counts(campaign, pool))
            }
            Self::MySql { runtime, ledger } => {
                runtime.block_on(ledger.claim_counts(campaign, pool))
            }
        }
    }
}

/// Makes what the connections of a ledger run on.
fn runtime() -> Result<tokio::runtime::Runtime, LedgerError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|why| LedgerError::Unavailable(why.to_string()))
}

fn gone() -> LedgerError {
    LedgerError::Unavailable("its tables are gone".to_owned())
}
