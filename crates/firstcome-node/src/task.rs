//! Tasks that have an owner, how they are told to stop, and what becomes of a panic in one of them.

use crate::event::Event;
use crate::says::{Says, Speaker};
use futures_util::FutureExt;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

/// A task that ends with its owner: dropped, it goes no further than its next await.
///
/// What it holds then goes with it, and with that the tasks it spawned into sets of its own.
#[derive(Debug)]
pub struct Task<T>(AbortOnDropHandle<T>);

impl<T: Send + 'static> Task<T> {
    /// Spawns it. A panic in it is logged where it happens; who owns the task has to see to the rest.
    ///
    /// A task that a server cannot be without is spawned with [`Panics::spawn`].
    pub fn spawn(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(AbortOnDropHandle::new(tokio::spawn(work)))
    }

    /// Spawns it on a runtime of another thread, or here if there is none.
    pub fn spawn_on(
        runtime: Option<&Handle>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Self {
        match runtime {
            Some(runtime) => Self(AbortOnDropHandle::new(runtime.spawn(work))),
            None => Self::spawn(work),
        }
    }

    /// Says whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.0.is_finished()
    }

    /// Waits until it has ended by itself; gives nothing if it panicked.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the task ends like one whose owner is gone.
    pub async fn ended(self) -> Option<T> {
        self.0.await.ok()
    }
}

/// The tasks of a server that panicked, by name. They do not begin again: a server that has one is not ready.
///
/// Clones are the same list.
#[derive(Clone, Debug)]
pub struct Panics {
    names: Arc<watch::Sender<Vec<&'static str>>>,
    speaker: Speaker,
}

impl Panics {
    /// Begins with none; each is said there once it is one.
    pub fn new(says: Says) -> Self {
        Self { names: Arc::default(), speaker: Speaker(says) }
    }

    /// Spawns a task that a server cannot be without, under a name for its operator.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        self.spawn_on(None, name, work, || {})
    }

    /// The same, on the runtime of another thread if there is one; `last` is called if it panics, before that is said.
    pub(crate) fn spawn_on<T: Send + 'static>(
        &self,
        runtime: Option<&Handle>,
        name: &'static str,
        work: impl Future<Output = T> + Send + 'static,
        last: impl FnOnce() + Send + 'static,
    ) -> Task<T> {
        let panics = self.clone();
        Task::spawn_on(runtime, async move {
            let mut lost = Lost(Some(|| {
                last();
                panics.add(name);
            }));
            // Nothing of what panicked is used afterwards.
            match AssertUnwindSafe(work).catch_unwind().await {
                Ok(done) => done,
                Err(panic) => {
                    lost.tell();
                    resume_unwind(panic)
                }
            }
        })
    }

    /// Adds a task, or a thread, that panicked.
    pub fn add(&self, name: &'static str) {
        self.names.send_modify(|names| names.push(name));
        self.speaker.say(Event::TaskPanicked, &sentence(name));
    }

    /// Returns their names, the first one first.
    pub fn names(&self) -> Vec<&'static str> {
        self.names.borrow().clone()
    }

    /// Waits until the task of a name has panicked.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn of(&self, name: &str) {
        let mut names = self.names.subscribe();
        // The sender lives in this struct.
        drop(names.wait_for(|names| names.contains(&name)).await);
    }
}

/// Tells once that a task is lost: it panicked, or what its thread does beside its tasks did, and they go with it.
struct Lost<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Lost<F> {
    fn tell(&mut self) {
        if let Some(tell) = self.0.take() {
            tell();
        }
    }
}

impl<F: FnOnce()> Drop for Lost<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.tell();
        }
    }
}

/// Says what is to be done about a task that panicked.
fn sentence(name: &str) -> String {
    format!(
        "the task {name:?} panicked and does not begin again: restart this server, and report the line `panicked`"
    )
}

/// Sleeps, or gives `true` as soon as the task is to stop.
///
/// # Cancel safety
///
/// Cancel safe.
pub(crate) async fn stopped_within(stop: &mut watch::Receiver<bool>, pause: Duration) -> bool {
    tokio::select! {
        () = sleep(pause) => false,
        () = stopped(stop) => true,
    }
}

/// Waits until the task is to stop.
///
/// # Cancel safety
///
/// Cancel safe.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone stops its tasks as well.
    drop(stop.wait_for(|stop| *stop).await);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::appender::reply::{Mailbox, Wakeups};
    use crate::runtime_thread::RuntimeThread;
    use std::future::pending;
    use std::sync::Mutex;
    use std::task::{Wake, Waker};
    use tokio::sync::oneshot;

    fn panics() -> (Panics, Arc<Mutex<Vec<String>>>) {
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let says = Arc::new(move |event: Event, text: &str| {
            heard.lock().unwrap().push(format!("{} {text}", event.as_str()));
        });
        (Panics::new(says), said)
    }

    #[tokio::test]
    async fn a_task_that_panicked_is_named_and_one_that_ended_or_was_ended_is_not() {
        let (panics, said) = panics();
        assert_eq!(panics.spawn("one", async { 7 }).ended().await, Some(7));
        let (ends, ended) = oneshot::channel::<()>();
        let forever = panics.spawn("two", async move {
            let _ends = ends;
            pending::<()>().await;
        });
        drop(forever);
        assert!(ended.await.is_err(), "it ends with its owner");
        assert!(panics.names().is_empty() && said.lock().unwrap().is_empty());

        let has_a_bug = true;
        let broken = panics.spawn("three", async move { assert!(!has_a_bug, "a bug") });
        panics.of("three").await;
        assert_eq!(broken.ended().await, None);
        assert_eq!(panics.clone().names(), ["three"]);
        let said = said.lock().unwrap();
        assert!(said[0].starts_with("task_panicked the task \"three\" panicked"), "{said:?}");
        assert_eq!(said.len(), 1);
    }

    /// A waker that panics where a thread wakes its tasks: outside of every task.
    struct HasBug;

    impl Wake for HasBug {
        fn wake(self: Arc<Self>) {
            panic!("a bug");
        }
    }

    #[tokio::test]
    async fn a_task_whose_thread_panicked_is_named() {
        let thread = RuntimeThread::start("of-a-test").unwrap();
        let panics = Panics::new(crate::in_log());
        let _task = panics.spawn_on(Some(thread.handle()), "appender", pending::<()>(), || {});
        let mailbox = thread.handle().spawn(async { Mailbox::here() }).await.unwrap();
        let mut wakeups = Wakeups::default();
        wakeups.add(mailbox.as_ref(), Some(Waker::from(Arc::new(HasBug))));
        wakeups.send();
        panics.of("appender").await;
        assert_eq!(panics.names(), ["appender"]);
    }
}
