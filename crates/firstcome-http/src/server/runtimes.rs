//! The threads that serve connections: one runtime for each core, each with its own connections.
//!
//! One listener accepts, and a connection goes to the thread that has the fewest. A request is then read, answered and
//! written on one thread; nothing of it moves to another but a route that may take long.

use firstcome_node::RuntimeThread;
use futures_util::future::{pending, select_all};
use std::io;
use std::sync::Arc;
use tokio::runtime::Handle;

/// The threads that serve connections; none of them where the accepting runtime serves them itself.
#[derive(Debug, Default)]
pub struct Runtimes {
    threads: Vec<HttpThread>,
    event_loop: Option<Handle>,
}

/// One thread, and how many connections it has: as many as there are places beside its own.
#[derive(Debug)]
struct HttpThread {
    thread: RuntimeThread,
    connections: Arc<()>,
}

/// One connection's place on a thread, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct ThreadPlace(
    #[expect(dead_code, reason = "it counts as long as it is held")] Arc<()>,
);

impl Runtimes {
    /// Starts so many threads.
    ///
    /// # Errors
    ///
    /// The operating system gives no thread, or no files for its events.
    pub fn start(threads: usize) -> io::Result<Self> {
        let http = |number| {
            let thread = RuntimeThread::start(&format!("http-{number}"))?;
            Ok(HttpThread { thread, connections: Arc::new(()) })
        };
        let threads = (0..threads).map(http).collect::<io::Result<_>>()?;
        Ok(Self { threads, event_loop: None })
    }

    /// Has plain requests answered on this runtime, if there is one for them: the one that decides them.
    #[must_use]
    pub fn with_event_loop(self, event_loop: Option<Handle>) -> Self {
        Self { event_loop, ..self }
    }

    /// Returns the runtime for plain requests, if there is one for them.
    pub(crate) fn event_loop(&self) -> Option<&Handle> {
        self.event_loop.as_ref()
    }

    /// Waits until a thread has ended by itself, because of a bug; its connections ended with it.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub(crate) fn one_ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let ended: Vec<_> = self.threads.iter().map(|http| Box::pin(http.thread.ended())).collect();
        async move {
            match ended.is_empty() {
                true => pending().await,
                false => drop(select_all(ended).await),
            }
        }
    }

    /// Returns the runtime of the thread with the fewest connections, and a place there for one more; none where there is no
    /// such thread, or all have ended.
    pub(crate) fn fewest(&self) -> Option<(&Handle, ThreadPlace)> {
        let serving = self.threads.iter().filter(|http| !http.thread.has_ended());
        let http = serving.min_by_key(|http| Arc::strong_count(&http.connections))?;
        Some((http.thread.handle(), ThreadPlace(Arc::clone(&http.connections))))
    }

    /// Ends the threads and waits until they have ended.
    pub async fn stop(self) {
        for http in self.threads {
            http.thread.stop().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Wake, Waker};
    use std::time::Duration;
    use tokio::time::sleep;

    #[tokio::test]
    async fn connections_are_spread_evenly_also_after_some_went() {
        let runtimes = Runtimes::start(3).unwrap();
        let counts = || {
            let of = |http: &HttpThread| Arc::strong_count(&http.connections) - 1;
            runtimes.threads.iter().map(of).collect::<Vec<_>>()
        };
        let mut places = Vec::new();
        for (connections, expected) in
            [(1, [1, 0, 0]), (2, [1, 1, 0]), (3, [1, 1, 1]), (8, [3, 3, 2])]
        {
            places.resize_with(connections, || runtimes.fewest().unwrap().1);
            assert_eq!(counts(), expected, "{connections}");
        }
        places.resize_with(64, || runtimes.fewest().unwrap().1);
        assert_eq!(counts(), [22, 21, 21]);
        // Those of the first thread go: the next ones are its.
        let mut number = 0;
        places.retain(|_| {
            number += 1;
            number % 3 != 1
        });
        let least = *counts().iter().min().unwrap();
        places.push(runtimes.fewest().unwrap().1);
        assert_eq!(counts().iter().sum::<usize>(), places.len());
        assert!(*counts().iter().min().unwrap() <= least + 1);
        drop(places);
        runtimes.stop().await;
    }

    /// A waker that panics where a thread wakes its tasks: outside of every task.
    struct HasBug;

    impl Wake for HasBug {
        fn wake(self: Arc<Self>) {
            panic!("a bug");
        }
    }

    #[tokio::test]
    async fn a_thread_that_panicked_is_noticed_and_gets_no_connection() {
        let runtimes = Runtimes::start(2).unwrap();
        let broken = runtimes.threads[0].thread.handle();
        broken.spawn(async {
            let mut timer = pin!(sleep(Duration::from_millis(1)));
            let waker = Waker::from(Arc::new(HasBug));
            assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            pending::<()>().await;
        });
        runtimes.one_ended().await;
        let places: Vec<_> = (0..3).map(|_| runtimes.fewest().unwrap().1).collect();
        assert_eq!(Arc::strong_count(&runtimes.threads[0].connections), 1, "nobody is sent there");
        assert_eq!(Arc::strong_count(&runtimes.threads[1].connections), 1 + places.len());
        drop(places);
        runtimes.stop().await;
    }
}
