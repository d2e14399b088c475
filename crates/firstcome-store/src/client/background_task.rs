//! The background task of a client: it finishes what callers dropped.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Notify, mpsc, oneshot};

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A handle to the background task.
///
/// Cheap to clone; all clones are the same task.
#[derive(Debug, Clone)]
pub struct BackgroundTask {
    /// Not bounded, because it is filled from `drop`, which cannot wait and must not lose anything. Each job is
    /// about one request or one lease that existed, so there are never more than there were of those.
    jobs: mpsc::UnboundedSender<Message>,
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

impl BackgroundTask {
    /// Starts the task, on the runtime of the caller.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    #[must_use]
    pub fn start() -> Self {
        let (jobs, messages) = mpsc::unbounded_channel();
        // It ends when the last client is gone and everything is finished; `finish` waits for that.
        tokio::spawn(work(messages));
        Self { jobs, under_way: Arc::default() }
    }

    /// Carries `job` to its end.
    pub fn run(&self, job: impl Future<Output = ()> + Send + 'static) {
        // After the runtime has gone there is nobody left to do it; the lease ends by itself.
        drop(self.jobs.send(Message::Run(Box::pin(job))));
    }

    /// Tells whether the task is gone: it was finished, or its runtime has ended.
    pub fn has_ended(&self) -> bool {
        self.jobs.is_closed()
    }

    /// Waits until the task is gone.
    pub async fn ended(&self) {
        self.jobs.closed().await;
    }

    /// Begins `work`; from its first step on it is carried to its end even if the result is dropped.
    pub fn run_to_end<T, F>(&self, work: impl FnOnce(Arc<AtomicBool>) -> F) -> RunToEnd<T>
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
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: what is under way goes on.
    pub async fn finish(&self) {
        self.under_way.none().await;
        let (done, finished) = oneshot::channel();
        if self.jobs.send(Message::Finish(done)).is_ok() {
            // An error means that the task is gone, and with it everything it had to do.
            drop(finished.await);
        }
    }
}

/// Work that the [`BackgroundTask`] carries to its end if the caller drops it after it began.
#[must_use = "it begins when it is polled"]
pub struct RunToEnd<T: Send + 'static> {
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

impl<T: Send + 'static> std::fmt::Debug for RunToEnd<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunToEnd").field("begun", &self.begun.is_some()).finish_non_exhaustive()
    }
}

async fn work(mut messages: mpsc::UnboundedReceiver<Message>) {
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
        }
    }
    while running.next().await.is_some() {}
    for done in done {
        // The caller that waited may have gone.
        done.send(()).ok();
    }
}
