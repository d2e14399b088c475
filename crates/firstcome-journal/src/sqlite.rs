//! The journal in a SQLite file, with nothing installed.
//!
//! One connection writes. An append is one row in one transaction, and is on the disk (`synchronous=FULL`, write-ahead
//! log) before anybody hears an answer. A thread does nothing but appends. On a fast disk whoever asks for one stands still
//! until it is done, so that callers who come meanwhile share the next one; on a slow disk it goes on with other work.
//! Everything else is done by another thread, in bites, so that appends go in between. One process per folder: see [`crate::folder`].
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
use crate::worker::{Lost, Owned, Worker};
use firstcome_core::state::Skip;
use keeper::{Keeper, SharedWriter};
use log::{CHECKPOINT_PAGES, ObservedLog};
use parking_lot::Mutex;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;
use tokio::time::Instant;
use writer::Writer;

/// How long the thread of a caller stands still for an append at most.
const STILL: Duration = Duration::from_millis(1);
/// How long an append takes on a disk for which a caller's thread stands still: what it would do meanwhile is not worth two
/// changes of thread for each of its callers.
const FAST: Duration = Duration::from_micros(500);

/// A journal in a SQLite file.
///
/// On a fast disk an append blocks its caller's thread, for a millisecond at most. Clones are the same journal. When the last one is dropped, its thread does what was queued, closes the file and lets go of the folder;
/// [`Sqlite::close`] waits for that.
#[derive(Clone)]
pub struct Sqlite {
    worker: Worker<Keeper>,
    appends: Worker<Appends>,
    pace: Arc<DiskPace>,
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
        let pace = Arc::new(DiskPace::default());
        let appends = Appends { writer, pace: Arc::clone(&pace), worker: worker.clone() };
        let appends = Worker::start("append", options.queue.max(1), appends)
            .map_err(|error| JournalError::Unavailable(error.to_string()))?;
        Ok(Self { worker, appends, pace, log, keep_for: options.keep_for })
    }

    /// Ends the writer's thread after what is queued, and waits until the file is closed and the
    /// folder free, unless it is still held elsewhere. Calls from now on answer unavailable.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it closes all the same.
    pub async fn close(&self) {
        self.appends.close().await;
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
        if self.worker.is_closed() {
            return Err(JournalError::Unavailable(Lost::Closed.to_string()));
        }
        let asked = Instant::now();
        let mut done = pin!(self.appends.call(move |appends| appends.append(append, asked)));
        let done = match stand_still(&mut done, self.pace.still()) {
            Some(done) => done,
            None => done.await,
        };
        match done {
            Ok(answer) => answer,
            // So that the task that appends is lost with it, and the server is not left refusing everything.
            Err(Lost::Unknown) => unreachable!("an append panicked: see the log"),
            Err(lost @ (Lost::Busy | Lost::Closed)) => {
                Err(JournalError::Unavailable(lost.to_string()))
            }
        }
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

/// What the appending thread owns.
struct Appends {
    writer: SharedWriter,
    pace: Arc<DiskPace>,
    /// Goes on until this thread has ended.
    worker: Worker<Keeper>,
}

impl Appends {
    fn append(&self, append: Append, asked: Instant) -> Result<AppendAnswer, JournalError> {
        let begun = Instant::now();
        let mut held = self.writer.lock();
        let closed = || JournalError::Unavailable(Lost::Closed.to_string());
        let writer = held.as_mut().ok_or_else(closed)?;
        let was_tidy = !writer.untidy;
        let answer = writer.append(append, asked);
        let is_due = writer.checkpoint.is_due(CHECKPOINT_PAGES);
        drop(held);
        self.pace.took(begun.elapsed());
        if is_due {
            self.worker.post(|keeper| keeper.checkpoint());
        } else if was_tidy {
            self.worker.post(|_| {});
        }
        answer
    }
}

impl Owned for Appends {
    fn is_untidy(&self) -> bool {
        false
    }

    fn tidy(&mut self) {}

    fn end(self) {}
}

/// How long appends take, in nanoseconds: of the last eight or so.
#[derive(Debug, Default)]
struct DiskPace(AtomicU64);

impl DiskPace {
    fn took(&self, time: Duration) {
        let (before, now) = (self.0.load(Ordering::Relaxed), time.as_nanos() as u64);
        self.0.store(before - before / 8 + now / 8, Ordering::Relaxed);
    }

    /// Returns how long a caller's thread stands still for the next append.
    fn still(&self) -> Duration {
        let usual = Duration::from_nanos(self.0.load(Ordering::Relaxed));
        if usual <= FAST { STILL } else { Duration::ZERO }
    }
}

/// Waits for something on this thread, which does nothing else meanwhile, for so long at most: by the clock of the runtime,
/// so that where a test stops that nothing else happens meanwhile.
fn stand_still<F: Future + Unpin>(waited_for: &mut F, most: Duration) -> Option<F::Output> {
    let end = Instant::now() + most;
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(done) = Pin::new(&mut *waited_for).poll(&mut cx) {
            return Some(done);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        thread::park_timeout(left);
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
