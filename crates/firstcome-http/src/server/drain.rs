//! The end of a listener: its connections finish what they answer, and are told once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

/// Whether a listener's connections are to end, and which there are.
///
/// A request costs one look at a flag. A connection is registered once, to be woken when the flag is set.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    has_begun: AtomicBool,
    connections: Mutex<Connections>,
}

#[derive(Debug, Default)]
struct Connections {
    next: u64,
    /// The waker of each, once it was polled.
    wakers: BTreeMap<u64, Option<Waker>>,
}

/// One connection's entry, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Drained {
    drain: Arc<Drain>,
    number: u64,
    is_known: bool,
}

impl Drain {
    /// Registers a connection.
    pub(crate) fn connection(self: &Arc<Self>) -> Drained {
        let mut connections = self.lock();
        let number = connections.next;
        connections.next += 1;
        connections.wakers.insert(number, None);
        Drained { drain: Arc::clone(self), number, is_known: false }
    }

    /// Tells every connection to end; gives how many there are.
    pub(crate) fn begin(&self) -> usize {
        self.has_begun.store(true, Ordering::SeqCst);
        let connections = self.lock();
        connections.wakers.values().flatten().for_each(Waker::wake_by_ref);
        connections.wakers.len()
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drained {
    /// Says whether the connection is to end; it is polled again when that changes.
    pub(crate) fn has_begun(&mut self, cx: &Context<'_>) -> bool {
        if !self.is_known {
            // A task keeps its waker. Looked at after this, so that nothing falls in between.
            self.is_known = true;
            self.drain.lock().wakers.insert(self.number, Some(cx.waker().clone()));
        }
        self.drain.has_begun.load(Ordering::SeqCst)
    }
}

impl Drop for Drained {
    fn drop(&mut self) {
        self.drain.lock().wakers.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::task::Poll;

    #[tokio::test]
    async fn a_connection_that_waits_is_woken_and_one_that_went_is_not_counted() {
        let drain = Arc::new(Drain::default());
        let mut waits = drain.connection();
        let gone = drain.connection();
        let waiting = tokio::spawn(async move {
            poll_fn(|cx| if waits.has_begun(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
        });
        tokio::task::yield_now().await;
        drop(gone);
        assert_eq!(drain.begin(), 1);
        waiting.await.unwrap();
        assert_eq!(drain.begin(), 0);
    }
}
