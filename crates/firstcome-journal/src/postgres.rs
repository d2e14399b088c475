//! The journal in PostgreSQL, which several nodes share.
//!
//! An append is one call of a function, which takes an advisory lock of the transaction and then looks at the last row: there
//! is no row that every append changes, and no sequence. Nothing is kept in a session, so that a pooler in transaction mode
//! may stand between. The tables are described in `docs/reference/in-postgresql.md`.
//!
//! | File | Subject |
//! |---|---|
//! | `append.sql`, `append` | the step that stores an entry |
//! | `follow` | reading, and waiting for more |
//! | `load`, `commit` | every other step: what its conditions rest on, and its changes |
//! | `schema.sql`, `opening` | the tables, and whether a server is fit to hold a journal |
//! | `fitness` | what is refused and warned of |
//! | `names` | the names of schema, locks and channel |
//! | `read_only` | reading beside the nodes that write |

mod append;
mod commit;
mod fitness;
mod follow;
mod load;
mod names;
mod opening;
mod read_only;

pub use crate::database::{DatabaseOptions, Durability, ReadOnly};
pub use crate::journal::warning::Warning;
pub use read_only::open_read_only;

use crate::archive::Archiving;
use crate::database::{PollPace, Run};
use crate::error::JournalError;
use firstcome_core::Timestamp;
use firstcome_core::names::SpaceId;
use firstcome_store::postgres::{Listener, PostgresOptions, PostgresPool};
use names::Names;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// How many connections there are at most, beside the one that listens.
const CONNECTIONS: usize = 4;
/// How long the server may take for a statement.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);
/// How long a step waits for its turn.
const LOCK_WITHIN: Duration = Duration::from_secs(2);
/// How long a node that stopped in the middle of a step keeps others from going on.
const IDLE_WITHIN: Duration = Duration::from_secs(1);

/// A journal in PostgreSQL.
///
/// Clones are the same journal. [`Postgres::close`] ends its connections; so does dropping the last clone.
#[derive(Clone, Debug)]
pub struct Postgres {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    pool: PostgresPool,
    names: Names,
    space: SpaceId,
    options: DatabaseOptions,
    run: Run,
    /// Made by whoever waits first; not behind a pooler.
    listener: OnceLock<Listener>,
    pooled: bool,
    /// What its own notifications say, so that it does not wake itself.
    note: String,
    /// When it notified last.
    told: Mutex<Option<Instant>>,
    /// When an append came after entries of somebody else.
    others: Mutex<Option<Instant>>,
    pace: PollPace,
    archiving: Archiving,
    warnings: Vec<Warning>,
    promise: String,
    /// Told of each append that was refused because the server promises less.
    refusals: Notify,
    /// What calls the step that appends.
    append: &'static str,
}

impl Postgres {
    /// Opens the journal of a space, which is made where nothing is stored of it.
    ///
    /// # Errors
    ///
    /// Each changes nothing: [`JournalError::Unfit`] where the server only looks like PostgreSQL, is a standby, cannot keep the
    /// promise, or has tables of a newer build; [`JournalError::OtherSpace`]; [`JournalError::Gone`] where a space is wanted and
    /// nothing is there; [`JournalError::TooNew`]; those of the store being out of reach.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, but the space may have been made.
    pub async fn open(
        store: PostgresOptions,
        options: DatabaseOptions,
    ) -> Result<Self, JournalError> {
        opening::open(store, options).await
    }

    /// Returns the identity of the space.
    pub fn space(&self) -> SpaceId {
        self.inner.space
    }

    /// Returns the name of the schema that has the journal's tables.
    pub fn schema(&self) -> &str {
        &self.inner.names.schema
    }

    /// Returns what an operator should know of the server's settings as they were when the journal was opened.
    pub fn warnings(&self) -> &[Warning] {
        &self.inner.warnings
    }

    /// Says in one sentence what an accepted claim has survived.
    pub fn promise(&self) -> String {
        self.inner.promise.clone()
    }

    /// Removes the journal and all that belongs to it, which nobody may be using: a server that runs on it finds its store
    /// emptied.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach; [`JournalError::Unknown`] when the answer was lost.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: all of it is removed or nothing.
    pub async fn remove(&self) -> Result<(), JournalError> {
        opening::remove(&self.inner.pool, &self.inner.names).await
    }

    /// Closes the connections. Calls from now on answer unavailable.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn close(&self) {
        self.inner.pool.close().await;
    }

    pub(crate) fn incarnations(&self) -> watch::Receiver<u64> {
        self.inner.run.times()
    }

    pub(crate) fn refusals(&self) -> &Notify {
        &self.inner.refusals
    }

    pub(crate) fn keep_for(&self) -> Duration {
        self.inner.options.keep_for
    }

    pub(crate) fn archiving(&self) -> &Archiving {
        &self.inner.archiving
    }

    fn clock(&self) -> Option<Timestamp> {
        self.inner.options.clock()
    }
}
