//! The way of a command from queued over sent to answered, as its caller and the appender share it.
//!
//! Each of them may end it. Whoever is first decides: a caller whose time is over while its command is queued hears
//! `unavailable`, and the command is never sent; once it was sent the caller hears `unknown`. Neither waits for the
//! other, so a deadline is kept while the appender's thread waits for a disk.

use crate::answer::Answer;
use crate::failure::CommandError;
use crate::wakeups::{Mailbox, Wakeups};
use firstcome_inject::{Mistake, inject};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::time::{Instant, timeout_at};

/// What the appender holds of a command's way. Dropped without an answer, its caller hears `unknown`.
#[derive(Debug)]
pub(crate) struct Slot(Arc<Shared>);

/// What the caller holds. Dropped, nobody waits any more: a command that was not sent never is.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    way: Mutex<Way>,
    /// Where the caller's thread collects its wake-ups, if it does.
    mailbox: Option<Arc<Mailbox>>,
}

#[derive(Debug)]
enum Way {
    Queued(Option<Waker>),
    Sent(Option<Waker>),
    Answered(Result<Answer, CommandError>),
    /// The answer was taken, or nobody waits for one any more.
    Over,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Way> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes both ends of a command's way.
pub(crate) fn slot() -> (Slot, Waiting) {
    let shared = Arc::new(Shared { way: Mutex::new(Way::Queued(None)), mailbox: Mailbox::here() });
    (Slot(Arc::clone(&shared)), Waiting(shared))
}

impl Slot {
    /// Says whether nobody waits any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(*self.0.lock(), Way::Over)
    }

    /// Notes that the command is about to be sent; `false` if nobody waits for it any more.
    pub(crate) fn send(&self) -> bool {
        let mut way = self.0.lock();
        match &mut *way {
            Way::Queued(waker) => {
                let waker = waker.take();
                *way = Way::Sent(waker);
                true
            }
            Way::Sent(_) | Way::Answered(_) => true,
            Way::Over => false,
        }
    }

    /// Notes that the journal has not taken the command after all.
    pub(crate) fn was_not_sent(&self) {
        let mut way = self.0.lock();
        if let Way::Sent(waker) = &mut *way {
            let waker = waker.take();
            *way = Way::Queued(waker);
        }
    }

    /// Answers the caller; its wake-up goes into `wakeups`. A caller that gave up has its answer already.
    pub(crate) fn answer(self, answer: Result<Answer, CommandError>, wakeups: &mut Wakeups) {
        let mut way = self.0.lock();
        if let Way::Queued(waker) | Way::Sent(waker) = &mut *way {
            let waker = waker.take();
            *way = Way::Answered(answer);
            drop(way);
            wakeups.add(self.0.mailbox.as_ref(), waker);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut way = self.0.lock();
        if let Way::Queued(waker) | Way::Sent(waker) = &mut *way {
            let waker = waker.take();
            *way = Way::Answered(Err(CommandError::Unknown));
            drop(way);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl Waiting {
    /// Waits for the answer until a moment; then the command's way so far says which failure it is.
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
        match std::mem::replace(&mut *self.0.lock(), Way::Over) {
            Way::Answered(answer) => answer,
            Way::Queued(_) => Err(not_taken()),
            Way::Sent(_) if inject(Mistake::UnavailableForUnknown) => Err(not_taken()),
            Way::Sent(_) | Way::Over => Err(CommandError::Unknown),
        }
    }
}

impl Future for Waiting {
    type Output = Result<Answer, CommandError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut way = self.0.lock();
        match &mut *way {
            Way::Queued(waker) | Way::Sent(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    None => *waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
            Way::Answered(_) | Way::Over => match std::mem::replace(&mut *way, Way::Over) {
                Way::Answered(answer) => Poll::Ready(answer),
                Way::Queued(_) | Way::Sent(_) | Way::Over => {
                    Poll::Ready(Err(CommandError::Unknown))
                }
            },
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        *self.0.lock() = Way::Over;
    }
}

fn not_taken() -> CommandError {
    CommandError::Unavailable("the journal did not take it in time".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::sleep;

    const SECOND: Duration = Duration::from_secs(1);

    fn busy() -> Result<Answer, CommandError> {
        Err(CommandError::Busy)
    }

    #[tokio::test]
    async fn a_command_for_which_nobody_waits_any_more_is_not_sent() {
        let (left, waiting) = slot();
        drop(waiting);
        assert!(left.is_over() && !left.send(), "whoever waited has gone");
    }

    fn text(answer: Result<Answer, CommandError>) -> String {
        format!("{answer:?}")
    }

    /// Whoever is first decides, and the other one finds it decided.
    #[tokio::test(start_paused = true)]
    async fn a_caller_whose_time_is_over_hears_by_how_far_its_command_came() {
        let (queued, waiting) = slot();
        let answer = waiting.until(Instant::now() + SECOND).await;
        assert!(matches!(answer, Err(CommandError::Unavailable(_))), "{}", text(answer));
        assert!(!queued.send(), "it heard that nothing changed: so nothing may");

        let (sent, waiting) = slot();
        assert!(sent.send());
        let answer = waiting.until(Instant::now() + SECOND).await;
        assert!(matches!(answer, Err(CommandError::Unknown)), "{}", text(answer));
        assert!(sent.is_over());

        let (refused, waiting) = slot();
        assert!(refused.send());
        refused.was_not_sent();
        let answer = waiting.until(Instant::now() + SECOND).await;
        assert!(matches!(answer, Err(CommandError::Unavailable(_))), "{}", text(answer));
        assert!(!refused.send());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_wakes_its_caller_and_a_lost_slot_is_unknown() {
        let (answered, waiting) = slot();
        let waits = tokio::spawn(waiting.until(Instant::now() + SECOND));
        sleep(SECOND / 2).await;
        assert!(answered.send());
        let mut wakeups = Wakeups::default();
        answered.answer(busy(), &mut wakeups);
        wakeups.send();
        let begun = Instant::now();
        assert!(matches!(waits.await.unwrap(), Err(CommandError::Busy)));
        assert_eq!(begun.elapsed(), Duration::ZERO);

        let (lost, waiting) = slot();
        drop(lost);
        assert!(matches!(waiting.await, Err(CommandError::Unknown)));

        let (left, waiting) = slot();
        drop(waiting);
        assert!(left.is_over() && !left.send());
    }
}
