//! A thread that owns a blocking resource and runs jobs on it in order.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// How long nothing must have been asked before the owner may tidy up.
pub const PAUSE: Duration = Duration::from_millis(200);

/// What a worker's thread owns.
pub trait Owned: Send + 'static {
    /// Says whether a pause would be used to tidy up.
    fn is_untidy(&self) -> bool;
    /// Uses a pause: nothing was asked for a while. It may put that off, and stays untidy.
    fn tidy(&mut self);
    /// Ends, after the last job.
    fn end(self);
}

/// Why a job has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// As many jobs wait as may; this one was not taken.
    #[error("as many calls wait as may")]
    Busy,
    /// The worker was closed before; this job was not taken.
    #[error("it was closed")]
    Closed,
    /// The worker ended after it took the job: it may have been done.
    #[error("its thread ended")]
    Unknown,
}

type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// A thread that owns a `T`, and a bounded queue of jobs for it.
///
/// Clones are the same worker. When the last one is dropped the thread does what was queued and ends.
pub struct Worker<T> {
    jobs: SyncSender<Job<T>>,
    closing: Arc<AtomicBool>,
    ended: watch::Receiver<bool>,
}

impl<T> Clone for Worker<T> {
    fn clone(&self) -> Self {
        let (jobs, closing) = (self.jobs.clone(), Arc::clone(&self.closing));
        Self { jobs, closing, ended: self.ended.clone() }
    }
}

impl<T> fmt::Debug for Worker<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Worker")
    }
}

impl<T: Owned> Worker<T> {
    /// Starts a thread of this name; at most `queue` jobs wait for it.
    ///
    /// # Errors
    ///
    /// The operating system gives no thread.
    pub fn start(name: &str, queue: usize, owned: T) -> std::io::Result<Self> {
        let (jobs, queued) = sync_channel(queue);
        let closing = Arc::new(AtomicBool::new(false));
        let (end, ended) = watch::channel(false);
        let seen = Arc::clone(&closing);
        std::thread::Builder::new().name(name.into()).spawn(move || {
            // Dropped last, also when a job panics: whoever waits for the end learns of it.
            let _end = end;
            run(owned, &queued, &seen);
        })?;
        Ok(Self { jobs, closing, ended })
    }

    /// Has the thread do something and gives what it answers.
    ///
    /// # Errors
    ///
    /// The queue is full, or the worker ended.
    ///
    /// # Cancel safety
    ///
    /// The job is queued with the first poll and is done even if the future is dropped.
    pub async fn call<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> Result<R, Lost> {
        if self.closing.load(Ordering::Acquire) {
            return Err(Lost::Closed);
        }
        let (answer, answered) = oneshot::channel();
        let job: Job<T> = Box::new(move |owned| {
            // Nobody waits any more if this fails, which is theirs to choose.
            drop(answer.send(job(owned)));
        });
        match self.jobs.try_send(job) {
            Ok(()) => answered.await.map_err(|_| Lost::Unknown),
            Err(TrySendError::Full(_)) => Err(Lost::Busy),
            Err(TrySendError::Disconnected(_)) => Err(Lost::Closed),
        }
    }

    /// Has the thread do something that nobody waits for, unless its queue is full.
    ///
    /// A job that does nothing wakes it: what it owns may have become untidy elsewhere.
    pub fn post(&self, job: impl FnOnce(&mut T) + Send + 'static) {
        // With a full queue it is awake.
        drop(self.jobs.try_send(Box::new(job)));
    }

    /// Says whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Ends the thread after what is queued, and waits until it has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the thread ends all the same.
    pub async fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.post(|_| {});
        let mut ended = self.ended.clone();
        // Nothing is ever sent: the sender's going is the signal.
        drop(ended.wait_for(|ended| *ended).await);
    }
}

fn run<T: Owned>(mut owned: T, queued: &Receiver<Job<T>>, closing: &AtomicBool) {
    while let Some(job) = next(&mut owned, queued) {
        job(&mut owned);
        if closing.load(Ordering::Acquire) {
            // Calls are refused from here on, so that this comes to an end.
            while let Ok(job) = queued.try_recv() {
                job(&mut owned);
            }
            break;
        }
    }
    owned.end();
}

fn next<T: Owned>(owned: &mut T, queued: &Receiver<Job<T>>) -> Option<Job<T>> {
    while owned.is_untidy() {
        match queued.recv_timeout(PAUSE) {
            Ok(job) => return Some(job),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => owned.tidy(),
        }
    }
    queued.recv().ok()
}
