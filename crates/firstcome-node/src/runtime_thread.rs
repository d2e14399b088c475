//! A thread with a runtime of its own: for the work of one journal, or for a share of the connections.

use crate::appender::reply::Mailbox;
use std::io;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{oneshot, watch};

/// A thread that runs a current-thread runtime, and collects the wake-ups of its tasks in a [`Mailbox`].
///
/// Dropped, it ends at the next await of what it runs; [`RuntimeThread::stop`] waits for that.
#[derive(Debug)]
pub struct RuntimeThread {
    handle: Handle,
    stop: oneshot::Sender<()>,
    ended: watch::Receiver<()>,
}

impl RuntimeThread {
    /// Starts a thread of this name.
    ///
    /// # Errors
    ///
    /// The operating system gives no thread, or no files for its events.
    pub fn start(name: &str) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let (end, ended) = watch::channel(());
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            // Dropped last, after the runtime and its tasks: whoever waits for the end learns of it.
            let _end = end;
            let runtime = runtime;
            runtime.block_on(async {
                let delivers = Mailbox::open_here();
                tokio::select! {
                    // Nothing is ever sent, or it is: both say that it is over.
                    _ = stopped => {}
                    () = delivers => {}
                }
            });
        })?;
        Ok(Self { handle, stop, ended })
    }

    /// Returns the runtime, for tasks to be spawned on.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Says whether it has ended: by itself it does so only if something panicked there outside of a task.
    pub fn has_ended(&self) -> bool {
        self.ended.has_changed().is_err()
    }

    /// Waits until it has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut ended = self.ended.clone();
        // Nothing is ever sent: the sender's going is the signal.
        async move { while ended.changed().await.is_ok() {} }
    }

    /// Ends the thread and waits until it has ended; its tasks go no further than their next await.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the thread ends all the same.
    pub async fn stop(self) {
        let ended = self.ended();
        drop(self.stop);
        ended.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::appender::reply::Wakeups;
    use std::sync::Arc;
    use std::task::{Wake, Waker};

    #[tokio::test]
    async fn its_tasks_run_on_its_thread_and_are_gone_with_it() {
        let thread = RuntimeThread::start("of-a-test").unwrap();
        let name = async { std::thread::current().name().map(str::to_owned) };
        let name = thread.handle().spawn(name).await.unwrap();
        assert_eq!(name.as_deref(), Some("of-a-test"));
        let left = thread.handle().spawn(std::future::pending::<()>());
        assert!(!thread.has_ended());
        thread.stop().await;
        assert!(left.await.unwrap_err().is_cancelled());
    }

    /// A waker that panics where the thread wakes its tasks: outside of every task.
    struct HasBug;

    impl Wake for HasBug {
        fn wake(self: Arc<Self>) {
            panic!("a bug");
        }
    }

    #[tokio::test]
    async fn a_thread_that_panicked_is_known_to_have_ended() {
        let thread = RuntimeThread::start("of-a-test").unwrap();
        let mailbox = thread.handle().spawn(async { Mailbox::here() }).await.unwrap();
        let mut wakeups = Wakeups::default();
        wakeups.add(mailbox.as_ref(), Some(Waker::from(Arc::new(HasBug))));
        wakeups.send();
        thread.ended().await;
        assert!(thread.has_ended());
    }
}
