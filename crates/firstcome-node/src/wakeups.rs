//! One wake-up for each thread and batch, in place of one for each caller.
//!
//! A thread that runs many callers has a [`Mailbox`]. Whoever answers a batch from another thread puts the callers' wakers
//! there and wakes the thread once; it then wakes its callers itself, which takes no system call.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use tokio::sync::Notify;

thread_local! {
    static HERE: RefCell<Option<Arc<Mailbox>>> = const { RefCell::new(None) };
}

/// The wake-ups that wait for one thread.
#[derive(Debug, Default)]
pub struct Mailbox {
    waiting: Mutex<Vec<Waker>>,
    arrived: Notify,
}

impl Mailbox {
    /// Makes this thread collect the wake-ups of its tasks; gives the task that hands them out, which has to run on it.
    ///
    /// # Cancel safety
    ///
    /// Dropped, wake-ups that come later are lost: only for the end of the thread's runtime.
    pub fn open_here() -> impl Future<Output = ()> + Send + 'static {
        let mailbox = Arc::new(Self::default());
        HERE.set(Some(Arc::clone(&mailbox)));
        mailbox.deliver()
    }

    /// Returns the mailbox of this thread, if it has one.
    pub(crate) fn here() -> Option<Arc<Self>> {
        HERE.with_borrow(Clone::clone)
    }

    async fn deliver(self: Arc<Self>) {
        let mut woken = Vec::new();
        loop {
            self.arrived.notified().await;
            // The two vectors take turns, so that neither is allocated anew for each batch.
            std::mem::swap(&mut woken, &mut *self.lock());
            woken.drain(..).for_each(Waker::wake);
        }
    }

    /// Puts a waker in; says whether it is the first, so that the thread has to be woken.
    fn put(&self, waker: Waker) -> bool {
        let mut waiting = self.lock();
        waiting.push(waker);
        waiting.len() == 1
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads that a batch of answers has to wake.
#[derive(Debug, Default)]
pub(crate) struct Wakeups(Vec<Arc<Mailbox>>);

impl Wakeups {
    /// Adds a caller: in its thread's mailbox, or woken at once if there is none.
    pub(crate) fn add(&mut self, mailbox: Option<&Arc<Mailbox>>, waker: Option<Waker>) {
        let Some(waker) = waker else { return };
        match mailbox {
            Some(mailbox) => {
                if mailbox.put(waker) {
                    self.0.push(Arc::clone(mailbox));
                }
            }
            None => waker.wake(),
        }
    }

    /// Wakes each thread once.
    pub(crate) fn send(self) {
        for mailbox in self.0 {
            mailbox.arrived.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn a_batch_wakes_a_thread_once_and_the_thread_wakes_its_callers() {
        let delivers = tokio::spawn(Mailbox::open_here());
        let mailbox = Mailbox::here().unwrap();
        let woken = Arc::new(Woken::default());
        let mut wakeups = Wakeups::default();
        for _ in 0..64 {
            wakeups.add(Some(&mailbox), Some(Waker::from(Arc::clone(&woken))));
        }
        assert_eq!((wakeups.0.len(), woken.0.load(Ordering::Relaxed)), (1, 0));
        wakeups.send();
        while woken.0.load(Ordering::Relaxed) < 64 {
            tokio::task::yield_now().await;
        }
        delivers.abort();
        HERE.set(None);
    }
}
