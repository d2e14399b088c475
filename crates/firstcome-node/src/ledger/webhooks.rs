//! What a ledger keeps of those who are sent its results: a document each, which its readers do not look into.
//!
//! A document is written only over the version that it was made from: of two who change it at once one reads it again.

use super::{Ledger, LedgerError};

/// A row of the table `webhooks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredWebhook {
    pub id: String,
    /// 1 at first, one more with each change.
    pub version: u64,
    /// JSON.
    pub document: String,
}

impl Ledger {
    /// Returns all rows, by their ids.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub async fn webhooks(&self) -> Result<Vec<StoredWebhook>, LedgerError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.webhooks().await,
            Self::Postgres(postgres) => postgres.webhooks().await,
            Self::MySql(mysql) => mysql.webhooks().await,
            Self::Memory(memory) => Ok(memory.webhooks()),
        }
    }

    /// Writes a row whose version is one above the one that is there, or 1 where there is none; says whether that was so.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub async fn put_webhook(&self, row: StoredWebhook) -> Result<bool, LedgerError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.put_webhook(row).await,
            Self::Postgres(postgres) => postgres.put_webhook(&row).await,
            Self::MySql(mysql) => mysql.put_webhook(&row).await,
            Self::Memory(memory) => Ok(memory.put_webhook(row)),
        }
    }

    /// Removes a row; says whether there was one.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub async fn remove_webhook(&self, id: &str) -> Result<bool, LedgerError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.remove_webhook(id).await,
            Self::Postgres(postgres) => postgres.remove_webhook(id).await,
            Self::MySql(mysql) => mysql.remove_webhook(id).await,
            Self::Memory(memory) => Ok(memory.remove_webhook(id)),
        }
    }
}
