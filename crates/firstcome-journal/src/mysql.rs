//! The journal in MariaDB, which several nodes share.
//!
//! An append is a transaction of two round trips: the row of the head `FOR UPDATE`, then the clock and what the node has not
//! applied; then the entry, the head, and COMMIT. What is decided in between is decided here. There are no notifications:
//! nodes look for entries. The tables are described in `docs/reference/in-mariadb.md`.
//!
//! | File | Subject |
//! |---|---|
//! | `append` | the step that stores an entry |
//! | `follow` | reading, and looking for more |
//! | `load`, `commit` | every other step: what its conditions rest on, and its changes |
//! | `schema.sql`, `opening` | the tables, and whether a server is fit to hold a journal |
//! | `read_only` | reading beside the nodes that write |

mod append;
mod commit;
mod fitness;
mod follow;
mod load;
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
use firstcome_store::mysql::{MySqlOptions, MySqlPool};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// How many connections there are at most.
const CONNECTIONS: usize = 4;
/// How long the server may take for a statement.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);
/// How long a step waits for its turn.
const LOCK_WITHIN: Duration = Duration::from_secs(2);
/// How long a node that stopped in the middle of a step keeps others from going on.
const IDLE_WITHIN: Duration = Duration::from_secs(1);

/// A journal in MariaDB.
///
/// Clones are the same journal. [`MySql::close`] ends its connections; so does dropping the last clone.
#[derive(Clone, Debug)]
pub struct MySql {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    pool: MySqlPool,
    tables: Tables,
    space: SpaceId,
    options: DatabaseOptions,
    run: Run,
    pace: PollPace,
    archiving: Archiving,
    warnings: Vec<Warning>,
    /// Told of each append that was refused because the server promises less.
    refusals: Notify,
    /// Whether appends do not look at names: see `Mistake::PredecessorIgnored`.
    blind: bool,
}

/// The names of a journal's tables.
#[derive(Clone, Debug)]
struct Tables {
    /// What they begin with.
    prefix: String,
}

/// What the names of a journal's tables begin with.
const PREFIX: &str = "fc_journal_";
/// Characters that a name may have in MariaDB.
const LONGEST: usize = 64;
/// The longest end of a name.
const LONGEST_END: usize = "manifests".len();

impl Tables {
    fn of(space_name: &str) -> Result<Self, JournalError> {
        let prefix = format!("{PREFIX}{space_name}_");
        let most = LONGEST - LONGEST_END;
        if prefix.len() > most {
            let most = most - (prefix.len() - space_name.len());
            return Err(JournalError::Unfit {
                why: format!("the name of a space in MariaDB has at most {most} bytes"),
                fix: "choose a shorter --space".to_owned(),
            });
        }
        Ok(Self { prefix })
    }

    /// Puts the tables of this journal into statements, in which `~` stands before their names.
    fn sql(&self, text: &str) -> String {
        text.replace('~', &self.prefix)
    }
}

impl MySql {
    /// Opens the journal of a space, which is made where nothing is stored of it.
    ///
    /// # Errors
    ///
    /// Each changes nothing: [`JournalError::Unfit`] where the server is not MariaDB, is a replica or part of a Galera cluster,
    /// cannot keep the promise, or has tables of a newer build; [`JournalError::OtherSpace`]; [`JournalError::Gone`] where a space is
    /// wanted and nothing is there; [`JournalError::TooNew`]; those of the store being out of reach.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, but the space may have been made.
    pub async fn open(store: MySqlOptions, options: DatabaseOptions) -> Result<Self, JournalError> {
        opening::open(store, options).await
    }

    /// Returns the identity of the space.
    pub fn space(&self) -> SpaceId {
        self.inner.space
    }

    /// Returns what an operator should know of the server's settings as they were when the journal was opened.
    pub fn warnings(&self) -> &[Warning] {
        &self.inner.warnings
    }

    /// Says in one sentence what an accepted claim has survived.
    pub fn promise(&self) -> String {
        fitness::promise(self.inner.options.durability).to_owned()
    }

    /// Removes the journal and all that belongs to it, which nobody may be using: a server that runs on it finds its store
    /// emptied. What is left of a removal that was cut off is removed by the next one.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach; [`JournalError::Unknown`] when the answer was lost.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, but part of it may have been removed.
    pub async fn remove(&self) -> Result<(), JournalError> {
        let Inner { pool, tables, .. } = &*self.inner;
        // The head last: without it the tables would be taken for a damaged journal.
        for table in ["entries", "manifests", "pieces", "cells", "run", "head"] {
            let drop_it = tables.sql(&format!("DROP TABLE IF EXISTS `~{table}`"));
            pool.step(&drop_it).await.map_err(crate::database::refused)?;
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_a_name_that_fits() {
        let tables = Tables::of("main").unwrap();
        assert_eq!(tables.sql("SELECT 1 FROM `~head`"), "SELECT 1 FROM `fc_journal_main_head`");
        assert_eq!(Tables::of(&"x".repeat(43)).unwrap().sql("~manifests").len(), LONGEST);
        let failure = Tables::of(&"x".repeat(44)).unwrap_err();
        assert!(failure.to_string().contains("at most 43 bytes"), "{failure}");
    }
}
