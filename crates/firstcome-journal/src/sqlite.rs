//! The journal in a SQLite file, with nothing installed.
//!
//! One connection writes. An append is one row in one transaction, and is on the disk (`synchronous=FULL`, write-ahead
//! log) before anybody hears an answer. It runs on the thread that asks for it, which waits for the disk: two changes of
//! thread for each batch would cost more than the rest of it. Everything else is done by a thread of the journal's own,
//! in bites, so that appends go in between. One process per folder: see [`crate::folder`].
//!
//! A write that finds no room fails with [`JournalError::Full`] and leaves nothing half done; the next
//! one that finds room works. Where a commit itself fails it is looked into, on the same connection,
//! before it is called not done: see [`durable`].

mod archiving;
mod commit;
pub mod durable;
mod keeper;
mod log;
mod options;
mod read_only;
mod rows;
mod stored;
mod trouble;
mod writer;

pub use log::WriteAheadLog;
pub use options::{KEEP_FOR, Options, QUEUE};
pub use read_only::ReadOnly;
pub use trouble::Trouble;

use crate::entry::{Append, AppendAnswer, EntriesRead};
use crate::error::JournalError;
use crate::folder::DataFolder;
use crate::transaction::{Seen, Transaction};
use crate::worker::{Lost, Worker};
use firstcome_core::state::Skip;
use keeper::{Keeper, SharedWriter};
use log::{CHECKPOINT_PAGES, ObservedLog};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use writer::Writer;

/// A journal in a SQLite file.
///
/// An append blocks its caller's thread for as long as the disk takes: give it a thread of its own. Clones are the same
/// journal. When the last one is dropped, its thread does what was queued, closes the file and lets go of the folder;
/// [`Sqlite::close`] waits for that.
#[derive(Clone)]
pub struct Sqlite {
    /// Fair from time to time, so that appends one after the other let the journal's own thread come in between.
    writer: SharedWriter,
    worker: Worker<Keeper>,
    log: Arc<ObservedLog>,
    keep_for: Duration,
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sqlite")
    }
}

impl Sqlite {
    /// Opens the journal in a folder, made if it is not there. Blocks for as long as that takes.
    ///
    /// # Errors
    ///
    /// [`JournalError::TooNew`], [`JournalError::OtherSpace`], [`JournalError::ReadOnly`], [`JournalError::Full`];
    /// [`JournalError::Damaged`] when the last entry is not what was written; [`JournalError::Broken`] when
    /// the file is not a journal or is damaged otherwise.
    pub fn open(folder: &DataFolder, options: Options) -> Result<Self, JournalError> {
        let (writer, checkpointer) = Writer::open(folder, &options)?;
        let log = checkpointer.observed();
        let writer = Arc::new(Mutex::new(Some(writer)));
        let keeper = Keeper { writer: Arc::clone(&writer), checkpointer };
        let worker = Worker::start("journal", options.queue.max(1), keeper)
            .map_err(|error| JournalError::Unavailable(error.to_string()))?;
        Ok(Self { writer, worker, log, keep_for: options.keep_for })
    }

    /// Ends the writer's thread after what is queued, and waits until the file is closed and the
    /// folder free, unless it is still held elsewhere. Calls from now on answer unavailable.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it closes all the same.
    pub async fn close(&self) {
        self.worker.close().await;
    }

    /// Returns how the write-ahead log of the file is.
    pub fn write_ahead_log(&self) -> WriteAheadLog {
        self.log.log()
    }

    async fn call<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Keeper) -> Result<R, JournalError> + Send + 'static,
    ) -> Result<R, JournalError> {
        match self.worker.call(job).await {
            Ok(answer) => answer,
            Err(lost @ (Lost::Busy | Lost::Closed)) => {
                Err(JournalError::Unavailable(lost.to_string()))
            }
            Err(Lost::Unknown) => Err(JournalError::Unknown(Lost::Unknown.to_string())),
        }
    }

    pub(crate) async fn append(&self, append: Append) -> Result<AppendAnswer, JournalError> {
        let closed = || JournalError::Unavailable(Lost::Closed.to_string());
        if self.worker.is_closed() {
            return Err(closed());
        }
        let mut held = self.writer.lock();
        let writer = held.as_mut().ok_or_else(closed)?;
        let was_tidy = !writer.untidy;
        let exchange = writer.append(append, Instant::now());
        let is_due = writer.checkpoint.is_due(CHECKPOINT_PAGES);
        drop(held);
        if is_due {
            self.worker.post(|keeper| keeper.checkpoint());
        } else if was_tidy {
            self.worker.post(|_| {});
        }
        exchange
    }

    pub(crate) async fn read(&self, after: u64) -> Result<EntriesRead, JournalError> {
        let asked = Instant::now();
        self.call(move |keeper| keeper.with(|writer| writer.read(after, asked))).await
    }

    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Seen, JournalError> {
        self.call(move |keeper| {
            let seen = keeper.with(|writer| writer.commit(&transaction));
            if !transaction.writes.is_empty() {
                keeper.checkpoint_after_pieces();
            }
            seen
        })
        .await
    }

    pub(crate) async fn archive(
        &self,
        first: u64,
        last: u64,
        skips: Vec<Skip>,
    ) -> Result<(), JournalError> {
        self.call(move |keeper| keeper.with(|writer| writer.archive(first, last, &skips))).await
    }

    pub(crate) fn keep_for(&self) -> Duration {
        self.keep_for
    }
}
