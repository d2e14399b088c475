//! A reply channel that knows whether the command was sent: giving up before is `unavailable`, after is `unknown`.
//!
//! Whoever is first decides, the caller whose time is over or the appender that sends. Neither waits for the other, so a
//! deadline is kept while the appender's thread waits for a disk.
//!
//! Answers cost one wake-up for each thread and batch, in place of one for each caller: a thread that runs many callers has
//! a [`Mailbox`]. Whoever answers a batch from another thread puts the callers' wakers there and wakes the thread once; it
//! then wakes its callers itself, which takes no system call.

use crate::answer::Answer;
use crate::error::CommandError;
use firstcome_inject::{Mistake, inject};
use std::cell::RefCell;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The appender's end. Dropped without an answer, its caller hears `unknown`.
#[derive(Debug)]
pub(crate) struct ReplySender(Arc<Shared>);

/// The caller's end. Dropped, nobody waits any more: a command that was not sent never is.
#[derive(Debug)]
pub(crate) struct ReplyReceiver(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<ReplyState>,
    /// Where the caller's thread collects its wake-ups, if it does.
    mailbox: Option<Arc<Mailbox>>,
}

#[derive(Debug)]
enum ReplyState {
    Queued(Option<Waker>),
    Sent(Option<Waker>),
    Answered(Result<Answer, CommandError>),
    /// The answer was taken, or nobody waits for one any more.
    Over,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, ReplyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes both ends of the reply channel of a command.
pub(crate) fn reply_channel() -> (ReplySender, ReplyReceiver) {
    let shared =
        Arc::new(Shared { state: Mutex::new(ReplyState::Queued(None)), mailbox: Mailbox::here() });
    (ReplySender(Arc::clone(&shared)), ReplyReceiver(shared))
}

impl ReplySender {
    /// Says whether nobody waits any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(*self.0.lock(), ReplyState::Over)
    }

    /// Notes that the command is about to be sent; `false` if nobody waits for it any more.
    pub(crate) fn send(&self) -> bool {
        let mut state = self.0.lock();
        match &mut *state {
            ReplyState::Queued(waker) => {
                let waker = waker.take();
                *state = ReplyState::Sent(waker);
                true
            }
            ReplyState::Sent(_) | ReplyState::Answered(_) => true,
            ReplyState::Over => false,
        }
    }

    /// Notes that the journal has not taken the command after all.
    pub(crate) fn was_not_sent(&self) {
        let mut state = self.0.lock();
        if let ReplyState::Sent(waker) = &mut *state {
            let waker = waker.take();
            *state = ReplyState::Queued(waker);
        }
    }

    /// Answers the caller; its wake-up goes into `wakeups`. A caller that gave up has its answer already.
    pub(crate) fn answer(self, answer: Result<Answer, CommandError>, wakeups: &mut Wakeups) {
        let mut state = self.0.lock();
        if let ReplyState::Queued(waker) | ReplyState::Sent(waker) = &mut *state {
            let waker = waker.take();
            *state = ReplyState::Answered(answer);
            drop(state);
            wakeups.add(self.0.mailbox.as_ref(), waker);
        }
    }
}

impl Drop for ReplySender {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if let ReplyState::Queued(waker) | ReplyState::Sent(waker) = &mut *state {
            let waker = waker.take();
            *state = ReplyState::Answered(Err(CommandError::Unknown));
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl ReplyReceiver {
    /// Waits for the answer until a moment; then it depends on whether the command was sent which failure it is.
    ///
    /// # Cancel safety
    ///
    /// Dropped, a command that was sent may still happen; one that was not never does.
    pub(crate) async fn until(mut self, until: Instant) -> Result<Answer, CommandError> {
        match timeout_at(until, &mut self).await {
            Ok(answer) => answer,
            Err(_) => self.gives_up(),
        }
    }

    /// Returns the answer if there is one; else how far the command came says which failure it is.
    pub(crate) fn gives_up(self) -> Result<Answer, CommandError> {
        match std::mem::replace(&mut *self.0.lock(), ReplyState::Over) {
            ReplyState::Answered(answer) => answer,
            ReplyState::Queued(_) => Err(not_taken()),
            ReplyState::Sent(_) if inject(Mistake::UnavailableForUnknown) => Err(not_taken()),
            ReplyState::Sent(_) | ReplyState::Over => Err(CommandError::Unknown),
        }
    }
}

impl Future for ReplyReceiver {
    type Output = Result<Answer, CommandError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.lock();
        match &mut *state {
            ReplyState::Queued(waker) | ReplyState::Sent(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    None => *waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
            ReplyState::Answered(_) | ReplyState::Over => {
                match std::mem::replace(&mut *state, ReplyState::Over) {
                    ReplyState::Answered(answer) => Poll::Ready(answer),
                    ReplyState::Queued(_) | ReplyState::Sent(_) | ReplyState::Over => {
                        Poll::Ready(Err(CommandError::Unknown))
                    }
                }
            }
        }
    }
}

impl Drop for ReplyReceiver {
    fn drop(&mut self) {
        *self.0.lock() = ReplyState::Over;
    }
}

fn not_taken() -> CommandError {
    CommandError::Unavailable("the journal did not take it in time".into())
}

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
    use std::time::Duration;
    use tokio::time::sleep;

    const SECOND: Duration = Duration::from_secs(1);

    fn busy() -> Result<Answer, CommandError> {
        Err(CommandError::Busy)
    }

    #[tokio::test]
    async fn a_command_for_which_nobody_waits_any_more_is_not_sent() {
        let (left, waiting) = reply_channel();
        drop(waiting);
        assert!(left.is_over() && !left.send(), "whoever waited has gone");
    }

    fn text(answer: Result<Answer, CommandError>) -> String {
        format!("{answer:?}")
    }

    /// Whoever is first decides, and the other one finds it decided.
    #[tokio::test(start_paused = true)]
    async fn a_caller_whose_time_is_over_hears_by_how_far_its_command_came() {
        let (queued, waiting) = reply_channel();
        let answer = waiting.until(Instant::now() + SECOND).await;
        assert!(matches!(answer, Err(CommandError::Unavailable(_))), "{}", text(answer));
        assert!(!queued.send(), "it heard that nothing changed: so nothing may");

        let (sent, waiting) = reply_channel();
        assert!(sent.send());
        let answer = waiting.until(Instant::now() + SECOND).await;
        assert!(matches!(answer, Err(CommandError::Unknown)), "{}", text(answer));
        assert!(sent.is_over());

        let (refused, waiting) = reply_channel();
        assert!(refused.send());
        refused.was_not_sent();
        let answer = waiting.until(Instant::now() + SECOND).await;
        assert!(matches!(answer, Err(CommandError::Unavailable(_))), "{}", text(answer));
        assert!(!refused.send());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_wakes_its_caller_and_a_lost_sender_is_unknown() {
        let (answered, waiting) = reply_channel();
        let waits = tokio::spawn(waiting.until(Instant::now() + SECOND));
        sleep(SECOND / 2).await;
        assert!(answered.send());
        let mut wakeups = Wakeups::default();
        answered.answer(busy(), &mut wakeups);
        wakeups.send();
        let begun = Instant::now();
        assert!(matches!(waits.await.unwrap(), Err(CommandError::Busy)));
        assert_eq!(begun.elapsed(), Duration::ZERO);

        let (lost, waiting) = reply_channel();
        drop(lost);
        assert!(matches!(waiting.await, Err(CommandError::Unknown)));

        let (left, waiting) = reply_channel();
        drop(waiting);
        assert!(left.is_over() && !left.send());
    }

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
