//! The journal in a SQLite file, with nothing installed.
//!
//! One connection writes. An append is one row in one transaction, and is on the disk (`synchronous=FULL`, write-ahead
//! log) before anybody hears an answer. It runs on the thread that asks for it, which waits for the disk: two changes of
//! thread for each batch would cost more than the rest of it. Everything else is done by a thread of the journal's own,
//! in bites, so that appends go in between. One process per folder: see [`crate::folder`].
//!
//! A write that finds no room fails with [`Failure::Full`] and leaves nothing half done; the next
//! one that finds room works. Where a commit itself fails it is looked into, on the same connection,
//! before it is called not done: see [`durable`].

pub mod durable;
mod options;
mod read_only;
mod rows;
mod skipping;
mod skips;
mod snapshots;
mod trimming;
mod trouble;
mod writer;

pub use options::{KEEP_FOR, Options, QUEUE};
pub use read_only::ReadOnly;
pub use trouble::Trouble;

use crate::entry::{Append, Entry, Exchange, Head};
use crate::failure::Failure;
use crate::folder::DataFolder;
use crate::name::Tip;
use crate::worker::{Lost, Worker};
use firstcome_core::names::PieceName;
use firstcome_core::state::Skip;
use parking_lot::Mutex;
use std::sync::Arc;
use writer::{SharedWriter, Writer};

/// A journal in a SQLite file.
///
/// An append blocks its caller's thread for as long as the disk takes: give it a thread of its own. Clones are the same journal. When the last one is dropped, its thread does what was queued,
/// closes the file and lets go of the folder; [`Sqlite::close`] waits for that.
#[derive(Clone)]
pub struct Sqlite {
    /// Fair from time to time, so that appends one after the other let the journal's own thread come in between.
    writer: SharedWriter,
    worker: Worker<SharedWriter>,
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
    /// [`Failure::TooNew`], [`Failure::OtherSpace`], [`Failure::ReadOnly`], [`Failure::Full`];
    /// [`Failure::Damaged`] when the last entry is not what was written; [`Failure::Broken`] when
    /// the file is not a journal or is damaged otherwise.
    pub fn open(folder: &DataFolder, options: Options) -> Result<Self, Failure> {
        let writer = Writer::open(folder, &options)?;
        let writer = SharedWriter(Arc::new(Mutex::new(Some(writer))));
        let worker = Worker::start("journal", options.queue.max(1), writer.clone())
            .map_err(|error| Failure::Unavailable(error.to_string()))?;
        Ok(Self { writer, worker })
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

    async fn call<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Writer) -> Result<R, Failure> + Send + 'static,
    ) -> Result<R, Failure> {
        let job = move |shared: &mut SharedWriter| match shared.0.lock().as_mut() {
            Some(writer) => job(writer),
            None => Err(Failure::Unavailable(Lost::Closed.to_string())),
        };
        match self.worker.call(job).await {
            Ok(answer) => answer,
            Err(lost @ (Lost::Busy | Lost::Closed)) => Err(Failure::Unavailable(lost.to_string())),
            Err(Lost::Unknown) => Err(Failure::Unknown(Lost::Unknown.to_string())),
        }
    }

    pub(crate) async fn append(&self, append: Append) -> Result<Exchange, Failure> {
        let closed = || Failure::Unavailable(Lost::Closed.to_string());
        if self.worker.is_closed() {
            return Err(closed());
        }
        let mut held = self.writer.0.lock();
        let writer = held.as_mut().ok_or_else(closed)?;
        let was_tidy = !writer.untidy;
        let exchange = writer.append(append);
        drop(held);
        if was_tidy {
            self.worker.nudge();
        }
        exchange
    }

    pub(crate) async fn read(&self, after: u64) -> Result<Vec<Entry>, Failure> {
        self.call(move |writer| writer.read(after)).await
    }

    pub(crate) async fn head(&self) -> Result<Head, Failure> {
        self.call(|writer| Ok(writer.head())).await
    }

    pub(crate) async fn mint_term(&self) -> Result<u64, Failure> {
        self.call(Writer::mint_term).await
    }

    pub(crate) async fn put_piece(&self, name: PieceName, bytes: Vec<u8>) -> Result<(), Failure> {
        self.call(move |writer| writer.put_piece(name, &bytes)).await
    }

    pub(crate) async fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, Failure> {
        self.call(move |writer| writer.piece(name)).await
    }

    pub(crate) async fn install(
        &self,
        tip: Tip,
        manifest: Vec<u8>,
        pieces: Vec<PieceName>,
        term: u64,
    ) -> Result<(), Failure> {
        // Its one writer cannot have followed another history.
        let position = tip.position;
        self.call(move |writer| writer.install(position, &manifest, &pieces, term)).await
    }

    pub(crate) async fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, Failure> {
        self.call(|writer| writer.newest_snapshot()).await
    }

    pub(crate) async fn skip(&self, skip: Skip) -> Result<(), Failure> {
        self.call(move |writer| writer.skip(&skip)).await
    }

    pub(crate) async fn skips(&self) -> Result<Vec<Skip>, Failure> {
        self.call(|writer| writer.skips()).await
    }

    pub(crate) async fn trim(&self, term: u64) -> Result<u64, Failure> {
        loop {
            // One bite a call, so that appends go in between. It ends with what is old enough now.
            let bite = self.call(move |writer| writer.trim_bite(term)).await?;
            if !bite.more {
                return Ok(bite.first);
            }
        }
    }
}
