//! What several nodes on one journal need: news here, heartbeats in `membership`, repairs in `healing`,
//! reports of forks in `reports`.

pub use crate::cluster::{EndedDeliveries, Membership, News, NodeStatus, Seed};

use crate::failure::Failure;
use crate::journal::Journal;
use crate::transaction::{Seen, Transaction};
use std::time::Duration;
use tokio::sync::watch;

/// A journal that several nodes share.
///
/// Cheap to clone: clones are the same journal.
///
/// # Cancel safety
///
/// That of [`Journal`].
#[derive(Clone, Debug)]
pub struct Shared {
    pub(crate) journal: Journal,
}

impl Shared {
    /// Returns what several nodes need of a journal that they may share.
    pub(crate) fn of(journal: &Journal) -> Self {
        Self { journal: journal.clone() }
    }

    /// Watches a number that changes whenever the store may have lost what it had: at a new
    /// connection, a failover, a restart.
    pub fn incarnations(&self) -> watch::Receiver<u64> {
        self.journal.incarnations()
    }

    /// Says whether every entry that can be read is as durable as the store's setting has it, so
    /// that there is nothing to wait for: [`Confirm::AtOnce`](crate::Confirm::AtOnce) each time.
    pub fn confirms_at_once(&self) -> bool {
        self.journal.confirms_at_once()
    }

    /// Returns how often it ended that a server delivers what is appended; never, where none does.
    pub fn ended_deliveries(&self) -> EndedDeliveries {
        self.journal.ended_deliveries()
    }

    /// Reads up to 64 entries beyond a position, waiting for the first at most for `timeout`.
    ///
    /// # Errors
    ///
    /// Those of [`Journal::read`]. Where nothing at all is left after a position that was
    /// trimmed, [`Failure::Trimmed`] may come up to two seconds late.
    pub async fn follow(&self, after: u64, timeout: Duration) -> Result<News, Failure> {
        self.journal.follow(after, timeout).await
    }

    /// Does one atomic step.
    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Seen, Failure> {
        self.journal.commit(transaction).await
    }
}
