//! The ledger in MariaDB.
//!
//! The tables of a space are in a database of their own on the server that the URL names, `firstcome_` and the name of the
//! space: what PostgreSQL calls a schema. One task writes, in the order it is asked; readers have connections of their
//! own. Whose ledger it is, is looked at in each transaction.

mod opening;
mod reader;
mod rows;
mod writer;

use super::queue::Queue;
use super::{Batch, LedgerError, Standing};
use firstcome_core::SpaceId;
use firstcome_store::mysql::{MySqlOptions, MySqlPool};
use std::sync::Arc;
use std::time::Duration;
use writer::Writer;

/// Connections for readers; writing has one of its own beside them.
const READERS: usize = 3;
/// What the name of a space's database begins with.
const PREFIX: &str = "firstcome_";
/// Characters that a name may have in MariaDB.
const LONGEST: usize = 64;
/// How long a writer that stops inside its transaction delays the next one, and how long that one waits.
const TRANSACTION_WITHIN: Duration = Duration::from_secs(5);
/// How long a statement may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// A ledger in a MariaDB.
#[derive(Clone, Debug)]
pub struct MySqlLedger {
    queue: Queue,
    reader: Arc<MySqlPool>,
    identity: Arc<Identity>,
}

/// Whose ledger it is, and where.
#[derive(Debug)]
pub(super) struct Identity {
    space: SpaceId,
    database: String,
}

impl Identity {
    /// Puts the name of the database into statements, in which `~` stands before the names of tables.
    fn sql(&self, text: &str) -> String {
        text.replace('~', &format!("`{}`.", self.database))
    }
}

impl MySqlLedger {
    /// Begins; nothing is sent yet.
    pub(super) fn new(url: &str, name: &str, space: SpaceId) -> Result<Self, LedgerError> {
        let identity = Arc::new(Identity { space, database: database(name)? });
        let options = MySqlOptions::new(url)
            .answer_within(ANSWER_WITHIN)
            .lock_within(TRANSACTION_WITHIN)
            .idle_within(TRANSACTION_WITHIN);
        let reader = Arc::new(MySqlPool::new(options.clone().connections(READERS))?);
        let writer = Writer::new(MySqlPool::new(options.connections(1))?, Arc::clone(&identity));
        Ok(Self { queue: Queue::start(writer), reader, identity })
    }

    /// Looks whether it is there and ours, and makes it if it is not there.
    pub(super) async fn ready(&self) -> Result<(), LedgerError> {
        self.queue.standing().await.map(drop)
    }

    pub(super) async fn mint_term(&self) -> Result<Standing, LedgerError> {
        self.queue.mint_term().await
    }

    pub(super) async fn standing(&self) -> Result<Standing, LedgerError> {
        self.queue.standing().await
    }

    pub(super) async fn settle(&self, batch: Batch) -> Result<Standing, LedgerError> {
        self.queue.settle(batch).await
    }

    pub(super) async fn close(&self) {
        self.queue.close().await;
        self.reader.close().await;
    }
}

/// Returns the database of a space, by the name that the space has in the configuration.
fn database(name: &str) -> Result<String, LedgerError> {
    let database = format!("{PREFIX}{name}");
    if database.len() > LONGEST {
        let most = LONGEST - PREFIX.len();
        return Err(LedgerError::Broken(format!(
            "the name of a space whose ledger is in MariaDB may have {most} bytes, not {}",
            name.len()
        )));
    }
    Ok(database)
}

/// Moves the tables of a space to another database; gives its name, or nothing if there are none.
pub(super) async fn set_aside(url: &str, name: &str) -> Result<Option<String>, LedgerError> {
    let database = database(name)?;
    let pool = MySqlPool::new(MySqlOptions::new(url).connections(1))?;
    let moved = opening::set_aside(&pool, &database).await;
    pool.close().await;
    moved
}
