//! The connections of a listener: those that take too long are woken to end, and at the end of the listener all are
//! woken once, and finish what they answer.

use crate::server::idle::{CoarseClock, IdleTimer};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use tokio::task::AbortHandle;

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
    /// Whether those that are left were cut.
    is_cut: bool,
    open: BTreeMap<u64, Open>,
}

#[derive(Debug)]
struct Open {
    timer: Arc<IdleTimer>,
    /// Once it was polled.
    waker: Option<Waker>,
    /// The task that serves it now, and how often it had moved then.
    task: Option<(u32, AbortHandle)>,
}

/// One connection's entry, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Drained {
    drain: Arc<Drain>,
    number: u64,
    moves: u32,
    is_known: bool,
}

impl Drain {
    /// Registers a connection.
    pub(crate) fn connection(self: &Arc<Self>, timer: Arc<IdleTimer>) -> Drained {
        let mut connections = self.lock();
        let number = connections.next;
        connections.next += 1;
        connections.open.insert(number, Open { timer, waker: None, task: None });
        Drained { drain: Arc::clone(self), number, moves: 0, is_known: false }
    }

    /// Moves their clock on, and wakes the connections that take too long by it.
    pub(crate) fn check_times(&self, clock: &CoarseClock) {
        clock.advance();
        for Open { timer, waker, .. } in self.lock().open.values() {
            if timer.looks_over()
                && let Some(waker) = waker
            {
                waker.wake_by_ref();
            }
        }
    }

    /// Tells every connection to end; gives how many there are.
    pub(crate) fn begin(&self) -> usize {
        self.has_begun.store(true, Ordering::SeqCst);
        let connections = self.lock();
        let wakers = connections.open.values().filter_map(|open| open.waker.as_ref());
        wakers.for_each(Waker::wake_by_ref);
        connections.open.len()
    }

    /// Notes which task serves a connection, once it is spawned. It may have run meanwhile, and the connection moved on.
    pub(crate) fn serves(&self, (number, moves): (u64, u32), task: AbortHandle) {
        let mut connections = self.lock();
        if connections.is_cut {
            task.abort();
        } else if let Some(open) = connections.open.get_mut(&number)
            && open.task.as_ref().is_none_or(|(before, _)| *before < moves)
        {
            open.task = Some((moves, task));
        }
    }

    /// Ends all that are left.
    pub(crate) fn cut(&self) {
        let mut connections = self.lock();
        connections.is_cut = true;
        let tasks: Vec<_> =
            connections.open.values_mut().filter_map(|open| open.task.take()).collect();
        // A task that ends gives its entry back.
        drop(connections);
        tasks.iter().for_each(|(_, task)| task.abort());
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drained {
    /// Returns its number among the connections of the listener, and how often it moved.
    pub(crate) fn number(&self) -> (u64, u32) {
        (self.number, self.moves)
    }

    /// Notes that another task is to serve it.
    pub(crate) fn moves(&mut self) {
        self.moves += 1;
        self.is_known = false;
    }

    /// Says whether the connection is to end; it is polled again when that changes.
    pub(crate) fn has_begun(&mut self, cx: &Context<'_>) -> bool {
        if !self.is_known {
            // A task keeps its waker. Looked at after this, so that nothing falls in between.
            self.is_known = true;
            if let Some(open) = self.drain.lock().open.get_mut(&self.number) {
                open.waker = Some(cx.waker().clone());
            }
        }
        self.drain.has_begun.load(Ordering::SeqCst)
    }
}

impl Drop for Drained {
    fn drop(&mut self) {
        self.drain.lock().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::idle::TimeLimits;
    use std::future::poll_fn;
    use std::task::Poll;
    use std::time::Duration;

    fn timer(clock: &Arc<CoarseClock>) -> Arc<IdleTimer> {
        let (head, idle) = (Duration::from_millis(10), Duration::from_secs(1));
        IdleTimer::new(clock, TimeLimits { head, idle, life: None })
    }

    #[tokio::test]
    async fn a_connection_that_waits_is_woken_and_one_that_went_is_not_counted() {
        let drain = Arc::new(Drain::default());
        let clock = CoarseClock::new();
        let mut waits = drain.connection(timer(&clock));
        let gone = drain.connection(timer(&clock));
        let waiting = tokio::spawn(async move {
            poll_fn(|cx| if waits.has_begun(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
        });
        tokio::task::yield_now().await;
        drop(gone);
        assert_eq!(drain.begin(), 1);
        waiting.await.unwrap();
        assert_eq!(drain.begin(), 0);
    }
    #[tokio::test(start_paused = true)]
    async fn a_connection_that_takes_too_long_is_woken_and_not_while_it_answers() {
        let (drain, clock) = (Arc::new(Drain::default()), CoarseClock::new());
        let timer = timer(&clock);
        let mut open = drain.connection(Arc::clone(&timer));
        let of_task = Arc::clone(&timer);
        let waiting = tokio::spawn(poll_fn(move |cx| {
            assert!(!open.has_begun(cx));
            if of_task.is_over() { Poll::Ready(()) } else { Poll::Pending }
        }));
        tokio::task::yield_now().await;
        let later = async |millis| {
            tokio::time::advance(Duration::from_millis(millis)).await;
            drain.check_times(&clock);
            tokio::task::yield_now().await;
        };
        timer.answering();
        later(60).await;
        assert!(!waiting.is_finished(), "an answer may take its time");
        timer.answered();
        later(1_005).await;
        assert!(!waiting.is_finished(), "it may be idle for a second");
        later(10).await;
        waiting.await.unwrap();
    }
}
