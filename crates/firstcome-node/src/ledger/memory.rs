//! The ledger in memory, for tests and simulations: what it does is what the tables in SQL do.

mod tables;
mod way;

pub use way::{LedgerCall, LedgerWork, Way};

use super::{Batch, LedgerError, Row, Standing, StoredWebhook};
use firstcome_core::SpaceId;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tables::Tables;
use tokio::sync::oneshot;

/// A ledger in memory.
///
/// Cheap to clone: clones are the same ledger, and closed together.
#[derive(Clone, Debug)]
pub struct MemoryLedger {
    space: SpaceId,
    id: u128,
    tables: Arc<Mutex<Tables>>,
    closed: Arc<AtomicBool>,
    way: Option<Arc<dyn Way>>,
}

/// All that a ledger had at one moment: a backup.
#[derive(Clone, Debug)]
pub struct Kept(Tables);

impl Kept {
    /// Returns the results, in the order of their numbers.
    pub fn results(&self) -> impl Iterator<Item = &Row> {
        self.0.results_after(0)
    }
}

impl MemoryLedger {
    /// Makes an empty ledger of a space.
    pub fn new(space: SpaceId) -> Self {
        let (tables, id) = (Arc::default(), u128::from_be_bytes(space.0));
        Self { space, id, tables, closed: Arc::default(), way: None }
    }

    /// Gives this ledger another id than one of the same space has.
    #[must_use]
    pub fn with_id(self, id: u128) -> Self {
        Self { id, ..self }
    }

    pub(super) fn id(&self) -> u128 {
        self.id
    }

    /// Opens the same ledger once more, as a process does that starts.
    ///
    /// # Errors
    ///
    /// [`LedgerError::OtherSpace`].
    pub fn open(&self, space: SpaceId) -> Result<Self, LedgerError> {
        if space != self.space {
            return Err(LedgerError::OtherSpace { found: self.space, wanted: space });
        }
        let tables = Arc::clone(&self.tables);
        let (id, way) = (self.id, self.way.clone());
        Ok(Self { space, id, tables, closed: Arc::default(), way })
    }

    /// Returns the same ledger as it is reached over `way`, in the place of the way this one has.
    #[must_use]
    pub fn through(&self, way: Arc<dyn Way>) -> Self {
        Self { way: Some(way), ..self.clone() }
    }

    /// Keeps all it has, terms included.
    pub fn kept(&self) -> Kept {
        Kept(self.tables().clone())
    }

    /// Puts back what was kept: what came since is gone, as after the restore of an older backup.
    pub fn restore(&self, kept: &Kept) {
        *self.tables() = kept.0.clone();
    }

    fn tables(&self) -> std::sync::MutexGuard<'_, Tables> {
        // What a panic leaves behind is whole: a batch is written by one call.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has something done at the ledger, over the way if there is one.
    async fn ask<R: Send + 'static>(
        &self,
        call: LedgerCall,
        job: impl FnOnce(&mut Tables) -> R + Send + 'static,
    ) -> Result<R, LedgerError> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(LedgerError::Unavailable("the ledger is closed".into()));
        }
        let Some(way) = &self.way else {
            return Ok(job(&mut self.tables()));
        };
        let (said, answer) = oneshot::channel();
        let there = self.clone();
        let work: LedgerWork = Box::new(move || {
            // Nobody may wait any more: it is done all the same.
            drop(said.send(job(&mut there.tables())));
        });
        let lost = || LedgerError::Unknown("the way to it ended without an answer".into());
        // A caller that walks away changes nothing for a call that was made.
        tokio::spawn(way.carry(call, work)).await.map_err(|_| lost())??;
        answer.await.map_err(|_| lost())
    }

    pub(super) async fn mint_term(&self) -> Result<Standing, LedgerError> {
        self.ask(LedgerCall::MintTerm, Tables::mint_term).await
    }

    pub(super) async fn standing(&self) -> Result<Standing, LedgerError> {
        self.ask(LedgerCall::Standing, |tables| tables.standing()).await
    }

    pub(super) async fn settle(&self, batch: Batch) -> Result<Standing, LedgerError> {
        self.ask(LedgerCall::Settle, move |tables| tables.settle(&batch)).await?
    }

    pub(super) async fn results(
        &self,
        after: u64,
        limit: usize,
        campaign: Option<&str>,
    ) -> Result<Vec<Row>, LedgerError> {
        let campaign = campaign.map(str::to_owned);
        self.ask(LedgerCall::Results, move |tables| {
            let rows = tables.results_after(after);
            let of = |row: &&Row| campaign.as_deref().is_none_or(|named| *row.campaign == *named);
            rows.filter(of).take(limit).cloned().collect()
        })
        .await
    }

    pub(super) fn webhooks(&self) -> Vec<StoredWebhook> {
        self.tables().webhooks.values().cloned().collect()
    }

    pub(super) fn put_webhook(&self, row: StoredWebhook) -> bool {
        let mut tables = self.tables();
        let there = tables.webhooks.get(&row.id).map_or(0, |there| there.version);
        let goes_on = there + 1 == row.version;
        if goes_on {
            tables.webhooks.insert(row.id.clone(), row);
        }
        goes_on
    }

    pub(super) fn remove_webhook(&self, id: &str) -> bool {
        self.tables().webhooks.remove(id).is_some()
    }

    pub(super) async fn claim_counts(
        &self,
        campaign: &str,
        pool: &str,
    ) -> Result<(u64, u64), LedgerError> {
        let (campaign, pool): (Box<str>, Box<str>) = (campaign.into(), pool.into());
        self.ask(LedgerCall::ClaimCounts, move |tables| tables.claim_counts(&campaign, &pool)).await
    }

    /// Calls from now on answer unavailable; those under way end as they would have.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}
