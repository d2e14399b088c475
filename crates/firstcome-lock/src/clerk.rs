//! The task that finishes what its callers walked away from.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::backend::Backend;

/// How long used latches are gathered before they are removed together, and how many at a time.
const GATHER: Duration = Duration::from_millis(20);
const BATCH: usize = 100;

type Errand = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The way to the task that finishes things.
#[derive(Debug, Clone)]
pub(crate) struct Clerk {
    /// Not bounded, because it is filled from `drop`, which cannot wait and must not lose anything. Each errand is
    /// about one request or one lease that existed, so there are never more than there were of those.
    errands: mpsc::UnboundedSender<Order>,
    latches: Arc<Latches>,
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

enum Order {
    Run(Errand),
    /// Finish everything, say so, and end.
    Finish(oneshot::Sender<()>),
}

impl std::fmt::Debug for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Run(_) => "Run",
            Self::Finish(_) => "Finish",
        })
    }
}

#[derive(Debug, Default)]
struct Latches {
    used: Mutex<Vec<String>>,
    some: Notify,
}

impl Latches {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Clerk {
    /// Starts the task; latches are removed from `backend`, where there are any.
    pub(crate) fn start(backend: Option<Arc<Backend>>) -> Self {
        let (errands, orders) = mpsc::unbounded_channel();
        let latches = Arc::new(Latches::default());
        // It ends when the last client is gone and everything is finished; `finish` waits for that.
        tokio::spawn(work(orders, Arc::clone(&latches), backend));
        Self { errands, latches, under_way: Arc::default() }
    }

    /// Sees to it that `errand` is carried to its end.
    pub(crate) fn run(&self, errand: impl Future<Output = ()> + Send + 'static) {
        // After the runtime has gone there is nobody left to do it; the lease ends by itself.
        drop(self.errands.send(Order::Run(Box::pin(errand))));
    }

    /// Removes a latch some time soon; it would end by itself anyway.
    pub(crate) fn forget(&self, latch: String) {
        let mut used = self.latches.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.push(latch);
        if used.len() == 1 {
            self.latches.some.notify_one();
        }
    }

    /// Begins `work`; from its first step on it is carried to its end even if the result is dropped.
    pub(crate) fn own<T, F>(&self, work: impl FnOnce(Arc<AtomicBool>) -> F) -> Handed<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let wanted = Arc::new(AtomicBool::new(true));
        let work = Box::pin(work(Arc::clone(&wanted)));
        Handed { work: Some(work), begun: None, wanted, clerk: self.clone() }
    }

    /// Waits until everything that has begun is finished, here or with its caller, and ends the task.
    ///
    /// A caller that does not poll what it began keeps this waiting.
    pub(crate) async fn finish(&self) {
        self.under_way.none().await;
        let (done, finished) = oneshot::channel();
        if self.errands.send(Order::Finish(done)).is_ok() {
            // An error means that the task is gone, and with it everything it had to do.
            drop(finished.await);
        }
    }
}

/// Work that is handed to the [`Clerk`] if its caller walks away after it began.
pub(crate) struct Handed<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    /// Set by the first step.
    begun: Option<Begun>,
    wanted: Arc<AtomicBool>,
    clerk: Clerk,
}

impl<T: Send + 'static> Future for Handed<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if self.begun.is_none() {
            self.begun = Some(self.clerk.under_way.begin());
        }
        let work = self.work.as_mut().expect("it is not polled again after it was ready");
        let output = std::task::ready!(work.as_mut().poll(context));
        self.work = None;
        self.begun = None;
        Poll::Ready(output)
    }
}

impl<T: Send + 'static> Drop for Handed<T> {
    fn drop(&mut self) {
        if let (Some(work), Some(begun)) = (self.work.take(), self.begun.take()) {
            self.wanted.store(false, Ordering::Release);
            // Whatever it yields undoes itself when it is dropped.
            self.clerk.run(async move { drop(work.await) });
            // From here on it is counted there.
            drop(begun);
        }
    }
}

async fn work(
    mut orders: mpsc::UnboundedReceiver<Order>,
    latches: Arc<Latches>,
    backend: Option<Arc<Backend>>,
) {
    let mut running: FuturesUnordered<Errand> = FuturesUnordered::new();
    let mut done: Vec<oneshot::Sender<()>> = Vec::new();
    loop {
        if !done.is_empty() && running.is_empty() {
            // An errand may have left another one behind.
            match orders.try_recv() {
                Ok(Order::Run(errand)) => running.push(errand),
                Ok(Order::Finish(finished)) => done.push(finished),
                Err(_) => break,
            }
            continue;
        }
        tokio::select! {
            order = orders.recv() => match order {
                Some(Order::Run(errand)) => running.push(errand),
                Some(Order::Finish(finished)) => done.push(finished),
                None => break,
            },
            Some(()) = running.next() => {}
            () = latches.some.notified() => {
                let (latches, backend) = (Arc::clone(&latches), backend.clone());
                running.push(Box::pin(async move {
                    tokio::time::sleep(GATHER).await;
                    if let Some(backend) = backend {
                        remove(&backend, &latches).await;
                    }
                }));
            }
        }
    }
    while running.next().await.is_some() {}
    for done in done {
        // Whoever waited may have gone.
        done.send(()).ok();
    }
}

async fn remove(backend: &Backend, latches: &Latches) {
    for batch in latches.take().chunks(BATCH) {
        // A latch that stays ends by itself.
        drop(backend.forget(batch.to_vec()).await);
    }
}
