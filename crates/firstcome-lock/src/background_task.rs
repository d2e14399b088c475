//! The background task of a client: it finishes what callers dropped, and cleans up.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::backend::Backend;

/// How long used release ids are gathered before they are removed together, and how many at a time.
const GATHER: Duration = Duration::from_millis(20);
const BATCH: usize = 100;

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A handle to the background task.
#[derive(Debug, Clone)]
pub(crate) struct BackgroundTask {
    /// Not bounded, because it is filled from `drop`, which cannot wait and must not lose anything. Each job is
    /// about one request or one lease that existed, so there are never more than there were of those.
    jobs: mpsc::UnboundedSender<Message>,
    release_ids: Arc<UsedReleaseIds>,
    under_way: Arc<UnderWay>,
}

/// Counts what has begun and is still with its callers.
#[derive(Debug, Default)]
struct UnderWay {
    count: AtomicUsize,
    none: Notify,
}

impl UnderWay {
    fn begin(self: &Arc<Self>) -> Begun {
        self.count.fetch_add(1, Ordering::SeqCst);
        Begun(Arc::clone(self))
    }

    /// Waits until nothing is under way.
    async fn none(&self) {
        loop {
            let mut none = std::pin::pin!(self.none.notified());
            // Registered before looking, so that the last end is not missed.
            none.as_mut().enable();
            if self.count.load(Ordering::SeqCst) == 0 {
                return;
            }
            none.await;
        }
    }
}

/// One thing under way; its end is dropping it.
struct Begun(Arc<UnderWay>);

impl Drop for Begun {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.none.notify_waiters();
        }
    }
}

enum Message {
    Run(Job),
    /// Finish everything, say so, and end.
    Finish(oneshot::Sender<()>),
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Run(_) => "Run",
            Self::Finish(_) => "Finish",
        })
    }
}

#[derive(Debug, Default)]
struct UsedReleaseIds {
    used: Mutex<Vec<String>>,
    some: Notify,
}

impl UsedReleaseIds {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl BackgroundTask {
    /// Starts the task; used release ids are removed from `backend`, where there are any.
    pub(crate) fn start(backend: Option<Arc<Backend>>) -> Self {
        let (jobs, messages) = mpsc::unbounded_channel();
        let release_ids = Arc::new(UsedReleaseIds::default());
        // It ends when the last client is gone and everything is finished; `finish` waits for that.
        tokio::spawn(work(messages, Arc::clone(&release_ids), backend));
        Self { jobs, release_ids, under_way: Arc::default() }
    }

    /// Carries `job` to its end.
    pub(crate) fn run(&self, job: impl Future<Output = ()> + Send + 'static) {
        // After the runtime has gone there is nobody left to do it; the lease ends by itself.
        drop(self.jobs.send(Message::Run(Box::pin(job))));
    }

    /// Removes a release id some time soon; it would end by itself anyway.
    pub(crate) fn forget(&self, release_id: String) {
        let mut used = self.release_ids.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.push(release_id);
        if used.len() == 1 {
            self.release_ids.some.notify_one();
        }
    }

    /// Begins `work`; from its first step on it is carried to its end even if the result is dropped.
    pub(crate) fn run_to_end<T, F>(&self, work: impl FnOnce(Arc<AtomicBool>) -> F) -> RunToEnd<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let wanted = Arc::new(AtomicBool::new(true));
        let work = Box::pin(work(Arc::clone(&wanted)));
        RunToEnd { work: Some(work), begun: None, wanted, background: self.clone() }
    }

    /// Waits until everything that has begun is finished, here or with its caller, and ends the task.
    ///
    /// A caller that does not poll what it began keeps this waiting.
    pub(crate) async fn finish(&self) {
        self.under_way.none().await;
        let (done, finished) = oneshot::channel();
        if self.jobs.send(Message::Finish(done)).is_ok() {
            // An error means that the task is gone, and with it everything it had to do.
            drop(finished.await);
        }
    }
}

/// Work that the [`BackgroundTask`] carries to its end if the caller drops it after it began.
pub(crate) struct RunToEnd<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    /// Set by the first step.
    begun: Option<Begun>,
    wanted: Arc<AtomicBool>,
    background: BackgroundTask,
}

impl<T: Send + 'static> Future for RunToEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if self.begun.is_none() {
            self.begun = Some(self.background.under_way.begin());
        }
        let work = self.work.as_mut().expect("it is not polled again after it was ready");
        let output = std::task::ready!(work.as_mut().poll(context));
        self.work = None;
        self.begun = None;
        Poll::Ready(output)
    }
}

impl<T: Send + 'static> Drop for RunToEnd<T> {
    fn drop(&mut self) {
        if let (Some(work), Some(begun)) = (self.work.take(), self.begun.take()) {
            self.wanted.store(false, Ordering::Release);
            // Whatever it yields undoes itself when it is dropped.
            self.background.run(async move { drop(work.await) });
            // From here on it is counted there.
            drop(begun);
        }
    }
}

async fn work(
    mut messages: mpsc::UnboundedReceiver<Message>,
    release_ids: Arc<UsedReleaseIds>,
    backend: Option<Arc<Backend>>,
) {
    let mut running: FuturesUnordered<Job> = FuturesUnordered::new();
    let mut done: Vec<oneshot::Sender<()>> = Vec::new();
    loop {
        if !done.is_empty() && running.is_empty() {
            // A job may have left another one behind.
            match messages.try_recv() {
                Ok(Message::Run(job)) => running.push(job),
                Ok(Message::Finish(finished)) => done.push(finished),
                Err(_) => break,
            }
            continue;
        }
        tokio::select! {
            message = messages.recv() => match message {
                Some(Message::Run(job)) => running.push(job),
                Some(Message::Finish(finished)) => done.push(finished),
                None => break,
            },
            Some(()) = running.next() => {}
            () = release_ids.some.notified() => {
                let (release_ids, backend) = (Arc::clone(&release_ids), backend.clone());
                running.push(Box::pin(async move {
                    tokio::time::sleep(GATHER).await;
                    if let Some(backend) = backend {
                        remove(&backend, &release_ids).await;
                    }
                }));
            }
        }
    }
    while running.next().await.is_some() {}
    for done in done {
        // The caller that waited may have gone.
        done.send(()).ok();
    }
}

async fn remove(backend: &Backend, release_ids: &UsedReleaseIds) {
    for batch in release_ids.take().chunks(BATCH) {
        // A release id that stays ends by itself.
        drop(backend.forget(batch.to_vec()).await);
    }
}
