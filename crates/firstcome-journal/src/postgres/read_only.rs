//! Read-only access to a journal in PostgreSQL, while nodes write to it or not.

use super::append::{cell, entry};
use super::fitness::check_version;
use super::load::load;
use super::names::Names;
use super::opening::pool;
use crate::database::{DatabaseError, Durability, Loaded, Needs, ReadOnly, Source, refused};
use crate::entry::Entry;
use crate::error::JournalError;
use firstcome_core::names::SpaceId;
use firstcome_store::postgres::{Access, PostgresOptions, PostgresPool, ToSql, Type};
use std::path::PathBuf;
use tokio::runtime::Runtime;

/// Opens the journal of a space for reading, with the archives of the nodes that trimmed it.
///
/// It blocks, so that it is not for asynchronous code.
///
/// # Errors
///
/// [`JournalError::NoSpace`], [`JournalError::TooNew`]; [`JournalError::Unfit`] when the server is not PostgreSQL; those of the store
/// being out of reach.
pub fn open_read_only(
    store: PostgresOptions,
    space_name: &str,
    archives: Vec<PathBuf>,
) -> Result<ReadOnly, JournalError> {
    let names = Names::of(space_name)?;
    let connect = async {
        let pool = pool(store, &names, Durability::Fsync)?;
        check_version(&pool.version().await.map_err(refused)?)?;
        Ok::<Box<dyn Source>, _>(Box::new(ReaderConnections { pool }))
    };
    ReadOnly::open(connect, space_name, archives)
}

/// The connections of a reader.
#[derive(Debug)]
struct ReaderConnections {
    pool: PostgresPool,
}

impl Source for ReaderConnections {
    fn load(
        &self,
        runtime: &Runtime,
        space: SpaceId,
        needs: &Needs,
    ) -> Result<Loaded, DatabaseError> {
        runtime.block_on(async {
            let mut session = self.pool.session().await?;
            let work = session.begin(Access::Snapshot).await?;
            let loaded = load(&work, space, needs).await;
            work.roll_back().await;
            loaded
        })
    }

    fn entries(&self, runtime: &Runtime, next: u64) -> Result<Vec<Entry>, JournalError> {
        const SQL: &str = "SELECT 0, e.position, e.at, e.epoch, e.before, e.body FROM entries e \
            WHERE e.position >= $1 ORDER BY e.position LIMIT 64";
        let values = [(&next.cast_signed() as &(dyn ToSql + Sync), Type::INT8)];
        let rows = runtime.block_on(self.pool.step(SQL, &values)).map_err(refused)?;
        rows.iter().map(|row| entry(row, cell::<&[u8]>(row, 5)?.into())).collect()
    }

    fn close(&self, runtime: &Runtime) {
        runtime.block_on(self.pool.close());
    }
}
