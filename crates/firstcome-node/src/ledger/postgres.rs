//! The ledger in PostgreSQL.
//!
//! The tables of a space are in a schema of their own, `firstcome_` and the name of the space, so that several spaces
//! share a database. One task writes, in the order it is asked; readers have connections of their own. A connection
//! that is new is believed to lead to another server: whose ledger it is, is looked at again.

mod opening;
mod reader;
mod rows;
mod writer;

use super::queue::Queue;
use super::{Batch, LedgerError, Standing};
use firstcome_core::SpaceId;
use firstcome_store::postgres::{Access, PostgresOptions, PostgresPool, Type};
use std::sync::Arc;
use writer::Writer;

/// Connections for readers; writing has one of its own beside them.
const READERS: usize = 3;
/// What the name of a space's schema begins with.
const PREFIX: &str = "firstcome_";
/// Bytes a name may have in PostgreSQL.
const LONGEST: usize = 63;

/// A ledger in a PostgreSQL database.
#[derive(Clone, Debug)]
pub struct PostgresLedger {
    queue: Queue,
    reader: PostgresPool,
    identity: Arc<Identity>,
}

/// Whose ledger it is, and where.
#[derive(Debug)]
pub(super) struct Identity {
    space: SpaceId,
    schema: String,
    #[cfg(test)]
    careless: std::sync::atomic::AtomicBool,
}

impl Identity {
    /// Returns the statement that compares where the ledger stands and moves it on.
    fn compare(&self) -> String {
        let sql = include_str!("postgres/settle.sql");
        #[cfg(test)]
        if self.careless.load(std::sync::atomic::Ordering::SeqCst) {
            return sql.replace("through = $2 AND term = $3", "$2 = $2 AND $3 = $3");
        }
        sql.to_owned()
    }
}

impl PostgresLedger {
    /// Begins; nothing is sent yet.
    pub(super) fn new(url: &str, name: &str, space: SpaceId) -> Result<Self, LedgerError> {
        let schema = schema(name)?;
        let options = PostgresOptions::new(url).schema(&schema);
        let identity = Arc::new(Identity {
            space,
            schema,
            #[cfg(test)]
            careless: std::sync::atomic::AtomicBool::new(false),
        });
        let reader = PostgresPool::new(options.clone().connections(READERS))?;
        let writer = Writer::new(PostgresPool::new(options.connections(1))?, Arc::clone(&identity));
        Ok(Self { queue: Queue::start(writer), reader, identity })
    }

    /// Takes the protection away, to show that it is needed.
    #[cfg(test)]
    pub(super) fn compare_nothing(&self, careless: bool) {
        self.identity.careless.store(careless, std::sync::atomic::Ordering::SeqCst);
    }

    /// Looks whether it is there and ours, and makes it if it is not there.
    pub(super) async fn ready(&self) -> Result<(), LedgerError> {
        self.queue.standing().await.map(drop)
    }

    /// Returns the id.
    pub(super) async fn id(&self) -> Result<u128, LedgerError> {
        let rows = self.read("SELECT id FROM meta", &[]).await?;
        let id = rows.first().and_then(|row| <[u8; 16]>::try_from(row.get::<_, &[u8]>(0)).ok());
        let id = id.map(u128::from_be_bytes);
        id.ok_or_else(|| opening::broken(&self.identity, "`meta` has no id"))
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

/// Returns the schema of a space, by the name that the space has in the configuration.
fn schema(name: &str) -> Result<String, LedgerError> {
    let schema = format!("{PREFIX}{name}");
    if schema.len() > LONGEST {
        let most = LONGEST - PREFIX.len();
        return Err(LedgerError::Broken(format!(
            "the name of a space whose ledger is in PostgreSQL may have {most} bytes, not {}",
            name.len()
        )));
    }
    Ok(schema)
}

/// Renames the schema of a space; gives its new name, or nothing if there is none.
pub(super) async fn set_aside(url: &str, name: &str) -> Result<Option<String>, LedgerError> {
    let schema = schema(name)?;
    let pool = PostgresPool::new(PostgresOptions::new(url).connections(1))?;
    let mut session = pool.session().await?;
    let work = session.begin(Access::Usual).await?;
    let is_there = async |schema: &str| -> Result<bool, LedgerError> {
        let sql = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
        Ok(!work.query(sql, &[(&schema, Type::NAME)]).await?.is_empty())
    };
    if !is_there(&schema).await? {
        return Ok(None);
    }
    for number in 1_u32.. {
        let mut aside = format!("set_aside_{number}_{schema}");
        aside.truncate(LONGEST);
        if !is_there(&aside).await? {
            work.batch(&format!("ALTER SCHEMA \"{schema}\" RENAME TO \"{aside}\"")).await?;
            work.commit().await?;
            drop(session);
            pool.close().await;
            return Ok(Some(aside));
        }
    }
    Ok(None)
}
