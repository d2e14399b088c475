//! Read-only access to a journal in MariaDB, while nodes write to it or not.

use super::Tables;
use super::commit::snapshot;
use super::load::entry;
use super::opening::{look, pool};
use crate::database::{DatabaseError, Loaded, Needs, ReadOnly, Source, refused};
use crate::entry::Entry;
use crate::error::JournalError;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::SpaceId;
use firstcome_store::mysql::{MySqlOptions, MySqlPool};
use std::path::PathBuf;
use tokio::runtime::Runtime;

/// Opens the journal of a space for reading, with the archives of the nodes that trimmed it.
///
/// It blocks, so that it is not for asynchronous code.
///
/// # Errors
///
/// [`JournalError::NoSpace`], [`JournalError::TooNew`]; [`JournalError::Unfit`] when the server is not MariaDB; those of the store
/// being out of reach.
pub fn open_read_only(
    store: MySqlOptions,
    space_name: &str,
    archives: Vec<PathBuf>,
) -> Result<ReadOnly, JournalError> {
    let tables = Tables::of(space_name)?;
    let connect = async {
        let pool = pool(store)?;
        look(&pool).await?;
        Ok::<Box<dyn Source>, _>(Box::new(ReaderConnections { pool, tables }))
    };
    ReadOnly::open(connect, space_name, archives)
}

/// The connections of a reader.
#[derive(Debug)]
struct ReaderConnections {
    pool: MySqlPool,
    tables: Tables,
}

impl Source for ReaderConnections {
    fn load(
        &self,
        runtime: &Runtime,
        space: SpaceId,
        needs: &Needs,
    ) -> Result<Loaded, DatabaseError> {
        runtime.block_on(snapshot(&self.pool, &self.tables, space, needs))
    }

    fn entries(&self, runtime: &Runtime, next: u64) -> Result<Vec<Entry>, JournalError> {
        let text = self.tables.sql(&format!(
            "SELECT position, at, epoch, before_name, body FROM `~entries` WHERE position >= {next} \
             ORDER BY position LIMIT {READ_ENTRIES}"
        ));
        let found = runtime.block_on(self.pool.step(&text)).map_err(refused)?;
        found.first().into_iter().flatten().map(entry).collect()
    }

    fn close(&self, runtime: &Runtime) {
        runtime.block_on(self.pool.close());
    }
}
