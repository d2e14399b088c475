//! The ledger in a SQLite file.
//!
//! One thread owns the connection that writes; another one reads, so that readers never wait for a
//! batch to be settled. Any other program may read the file at the same time.

mod reader;
mod writer;

pub use reader::Reader;

use super::{Batch, LedgerError, Row, Standing, StoredWebhook};
use firstcome_core::SpaceId;
use firstcome_journal::worker::{Lost, Owned, Worker};
use std::path::{Path, PathBuf};
use writer::Writer;

/// How many calls wait for each of the two threads at most.
const QUEUE: usize = 64;

/// A ledger in a SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteLedger {
    writer: Worker<Connection<Writer>>,
    reader: Worker<Connection<Reader>>,
}

impl SqliteLedger {
    /// Opens the file, or has later calls open it where what keeps it from being opened may pass by itself.
    pub(super) fn open(path: &Path, space: SpaceId) -> Result<Self, LedgerError> {
        let unavailable = |error: std::io::Error| LedgerError::Unavailable(error.to_string());
        let mut writer = Connection::to(path, space, Writer::open);
        let mut reader = Connection::to(path, space, Reader::beside_writer);
        // The reader comes second: a file that is only half made it would take for something else than a ledger.
        let opened = writer.opened().map(drop).and_then(|()| reader.opened().map(drop));
        opened.or_else(|why| if why.passes_by_itself() { Ok(()) } else { Err(why) })?;
        let writer = Worker::start("ledger", QUEUE, writer).map_err(unavailable)?;
        let reader = Worker::start("ledger-reader", QUEUE, reader).map_err(unavailable)?;
        Ok(Self { writer, reader })
    }

    pub(super) async fn close(&self) {
        // The last one to close the file puts its log away: that must be the one that may write.
        self.reader.close().await;
        self.writer.close().await;
    }

    pub(super) async fn id(&self) -> Result<u128, LedgerError> {
        ask(&self.writer, |writer| writer.id()).await
    }

    pub(super) async fn mint_term(&self) -> Result<Standing, LedgerError> {
        ask(&self.writer, Writer::mint_term).await
    }

    pub(super) async fn standing(&self) -> Result<Standing, LedgerError> {
        ask(&self.writer, |writer| writer.standing()).await
    }

    pub(super) async fn settle(&self, batch: Batch) -> Result<Standing, LedgerError> {
        ask(&self.writer, move |writer| writer.settle(&batch)).await
    }

    pub(super) async fn results(
        &self,
        after: u64,
        limit: usize,
        campaign: Option<&str>,
    ) -> Result<Vec<Row>, LedgerError> {
        let campaign = campaign.map(str::to_owned);
        ask(&self.reader, move |reader| match campaign {
            Some(campaign) => reader.results_of(&campaign, after, limit),
            None => reader.results(after, limit),
        })
        .await
    }

    pub(super) async fn webhooks(&self) -> Result<Vec<StoredWebhook>, LedgerError> {
        ask(&self.writer, |writer| writer.webhooks()).await
    }

    pub(super) async fn put_webhook(&self, row: StoredWebhook) -> Result<bool, LedgerError> {
        ask(&self.writer, move |writer| writer.put_webhook(&row)).await
    }

    pub(super) async fn remove_webhook(&self, id: &str) -> Result<bool, LedgerError> {
        let id = id.to_owned();
        ask(&self.writer, move |writer| writer.remove_webhook(&id)).await
    }

    pub(super) async fn claim_counts(
        &self,
        campaign: &str,
        pool: &str,
    ) -> Result<(u64, u64), LedgerError> {
        let (campaign, pool) = (campaign.to_owned(), pool.to_owned());
        ask(&self.reader, move |reader| reader.claim_counts(&campaign, &pool)).await
    }
}

type Open<T> = fn(&Path, SpaceId) -> Result<T, LedgerError>;

/// A connection to the file, which every call tries to open again until it is.
struct Connection<T> {
    open: Open<T>,
    path: PathBuf,
    space: SpaceId,
    opened: Option<T>,
}

impl<T> Connection<T> {
    fn to(path: &Path, space: SpaceId, open: Open<T>) -> Self {
        Self { open, path: path.to_owned(), space, opened: None }
    }

    fn opened(&mut self) -> Result<&mut T, LedgerError> {
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => (self.open)(&self.path, self.space)?,
        };
        Ok(self.opened.insert(opened))
    }
}

impl<T: Owned> Owned for Connection<T> {
    fn is_untidy(&self) -> bool {
        self.opened.as_ref().is_some_and(T::is_untidy)
    }

    fn tidy(&mut self) {
        self.opened.iter_mut().for_each(T::tidy);
    }

    fn end(self) {
        self.opened.into_iter().for_each(T::end);
    }
}

async fn ask<T: Owned, R: Send + 'static>(
    worker: &Worker<Connection<T>>,
    job: impl FnOnce(&mut T) -> Result<R, LedgerError> + Send + 'static,
) -> Result<R, LedgerError> {
    match worker.call(|connection| job(connection.opened()?)).await {
        Ok(answer) => answer,
        Err(lost @ (Lost::Busy | Lost::Closed)) => Err(LedgerError::Unavailable(lost.to_string())),
        Err(lost @ Lost::Unknown) => Err(LedgerError::Unknown(lost.to_string())),
    }
}
