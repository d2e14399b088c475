//! A reply channel that knows whether the command was sent: giving up before is `unavailable`, after is `unknown`.
//!
//! Whoever is first decides, the caller whose time is over or the appender that sends. Neither waits for the other, so a
//! deadline is kept while the appender's thread waits for a disk.
//!
//! Answers cost one wake-up for each thread and batch, in place of one for each caller: a thread that runs many callers has
//! a [`Mailbox`]. Whoever answers a batch from another thread puts the callers' wakers there and wakes the thread once; it
//! then wakes its callers itself, which takes no system call. Such a thread also looks at the deadlines of its callers itself,
//! some times a second, in place of a timer for each; and what both ends of a channel share is used again.

use crate::answer::Answer;
use crate::error::CommandError;
use firstcome_inject::{Mistake, inject};
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

/// How often a thread looks at the deadlines of its callers, while there are some: by as much are they late.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The appender's end. Dropped without an answer, its caller hears `unknown`.
#[derive(Debug)]
pub(crate) struct ReplySender(Arc<Shared>);

/// The caller's end. Dropped, nobody waits any more: a command that was not sent never is.
#[derive(Debug)]
pub(crate) struct ReplyReceiver {
    shared: Arc<Shared>,
    /// Its place among the callers of its thread, where that collects their wake-ups.
    place: Option<usize>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<ReplyState>,
    /// Whether the caller's time is over.
    overdue: AtomicBool,
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
    fn new(mailbox: Option<Arc<Mailbox>>) -> Self {
        let state = Mutex::new(ReplyState::Queued(None));
        Self { state, overdue: AtomicBool::new(false), mailbox }
    }

    fn lock(&self) -> MutexGuard<'_, ReplyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes both ends of the reply channel of a command.
pub(crate) fn reply_channel() -> (ReplySender, ReplyReceiver) {
    let (shared, place) = HERE.with_borrow_mut(|here| match here {
        Some(callers) => {
            let (place, shared) = callers.take_place();
            (shared, Some(place))
        }
        None => (Arc::new(Shared::new(None)), None),
    });
    (ReplySender(Arc::clone(&shared)), ReplyReceiver { shared, place })
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
        if !self.is_looked_at(until) {
            return match timeout_at(until, &mut self).await {
                Ok(answer) => answer,
                Err(_) => self.gives_up(),
            };
        }
        let answer = poll_fn(|cx| match Pin::new(&mut self).poll(cx) {
            Poll::Pending if self.shared.overdue.load(Ordering::Relaxed) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
        });
        match answer.await {
            Some(answer) => answer,
            None => self.gives_up(),
        }
    }

    /// Has this thread wake the caller at a moment; says whether it does.
    fn is_looked_at(&self, until: Instant) -> bool {
        let Some(place) = self.place else { return false };
        HERE.with_borrow_mut(|here| match here {
            Some(callers) if callers.are_of(&self.shared) => {
                callers.set_deadline(place, until);
                true
            }
            Some(_) | None => false,
        })
    }

    /// Returns the answer if there is one; else how far the command came says which failure it is.
    pub(crate) fn gives_up(self) -> Result<Answer, CommandError> {
        match std::mem::replace(&mut *self.shared.lock(), ReplyState::Over) {
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
        let mut state = self.shared.lock();
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
        *self.shared.lock() = ReplyState::Over;
        let Some(place) = self.place else { return };
        // At the end of a thread there is no place any more; on another thread its own one gives it free at its deadline.
        HERE.try_with(|here| {
            if let Ok(mut here) = here.try_borrow_mut()
                && let Some(callers) = &mut *here
                && callers.are_of(&self.shared)
            {
                callers.give_free(place);
            }
        })
        .ok();
    }
}

fn not_taken() -> CommandError {
    CommandError::Unavailable("the journal did not take it in time".into())
}

thread_local! {
    static HERE: RefCell<Option<Callers>> = const { RefCell::new(None) };
}

/// The callers of one thread that collects their wake-ups.
struct Callers {
    mailbox: Arc<Mailbox>,
    places: Vec<Place>,
    free: Vec<usize>,
    /// How many have a deadline.
    waiting: usize,
}

struct Place {
    shared: Arc<Shared>,
    deadline: Option<Instant>,
}

impl Callers {
    fn are_of(&self, shared: &Shared) -> bool {
        shared.mailbox.as_ref().is_some_and(|mailbox| Arc::ptr_eq(mailbox, &self.mailbox))
    }

    /// Takes a free place, and what was shared there before if nobody else has it any more.
    fn take_place(&mut self) -> (usize, Arc<Shared>) {
        let new = || Shared::new(Some(Arc::clone(&self.mailbox)));
        let Some(number) = self.free.pop() else {
            let shared = Arc::new(new());
            self.places.push(Place { shared: Arc::clone(&shared), deadline: None });
            return (self.places.len() - 1, shared);
        };
        let place = &mut self.places[number];
        match Arc::get_mut(&mut place.shared) {
            Some(shared) => {
                shared.state = Mutex::new(ReplyState::Queued(None));
                shared.overdue = AtomicBool::new(false);
            }
            None => place.shared = Arc::new(new()),
        }
        (number, Arc::clone(&place.shared))
    }

    fn set_deadline(&mut self, place: usize, until: Instant) {
        if self.places[place].deadline.replace(until).is_none() {
            self.waiting += 1;
        }
        if self.waiting == 1 {
            self.mailbox.waited_for.notify_one();
        }
    }

    fn give_free(&mut self, place: usize) {
        if self.places[place].deadline.take().is_some() {
            self.waiting -= 1;
        }
        self.free.push(place);
    }

    /// Wakes the callers whose time is over; returns whether others wait.
    fn look_at_deadlines(&mut self, now: Instant) -> bool {
        for number in 0..self.places.len() {
            let Place { shared, deadline } = &self.places[number];
            if deadline.is_none_or(|deadline| now < deadline) {
                continue;
            }
            shared.overdue.store(true, Ordering::Relaxed);
            let mut is_over = false;
            match &mut *shared.lock() {
                ReplyState::Queued(waker) | ReplyState::Sent(waker) => {
                    waker.iter().for_each(Waker::wake_by_ref);
                }
                ReplyState::Answered(_) => {}
                // Its caller ended on another thread.
                ReplyState::Over => is_over = true,
            }
            if is_over {
                self.give_free(number);
            }
        }
        self.waiting > 0
    }
}

/// The wake-ups that wait for one thread.
#[derive(Debug, Default)]
pub struct Mailbox {
    waiting: Mutex<Vec<Waker>>,
    arrived: Notify,
    /// A caller has a deadline, and none had one before.
    waited_for: Notify,
}

impl Mailbox {
    /// Makes this thread collect the wake-ups of its tasks; gives the task that hands them out and looks at deadlines, which
    /// has to run on it.
    ///
    /// # Cancel safety
    ///
    /// Dropped, wake-ups that come later are lost: only for the end of the thread's runtime.
    pub fn open_here() -> impl Future<Output = ()> + Send + 'static {
        let mailbox = Arc::new(Self::default());
        let (places, free) = (Vec::new(), Vec::new());
        HERE.set(Some(Callers { mailbox: Arc::clone(&mailbox), places, free, waiting: 0 }));
        async move {
            tokio::join!(mailbox.deliver(), mailbox.look_at_deadlines());
        }
    }

    /// Returns the mailbox of this thread, if it has one.
    #[cfg(test)]
    pub(crate) fn here() -> Option<Arc<Self>> {
        HERE.with_borrow(|here| here.as_ref().map(|callers| Arc::clone(&callers.mailbox)))
    }

    async fn look_at_deadlines(&self) {
        loop {
            self.waited_for.notified().await;
            loop {
                sleep(LOOK_EVERY).await;
                let look = |here: &mut Option<Callers>| {
                    here.as_mut().is_some_and(|callers| callers.look_at_deadlines(Instant::now()))
                };
                if !HERE.with_borrow_mut(look) {
                    break;
                }
            }
        }
    }

    async fn deliver(&self) {
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

    /// As above, where the thread collects the wake-ups of its callers.
    #[tokio::test(start_paused = true)]
    async fn a_thread_looks_at_the_deadlines_of_its_callers_itself() {
        let works = tokio::spawn(Mailbox::open_here());
        let places = || HERE.with_borrow(|here| here.as_ref().unwrap().places.len());
        let mut left = Vec::new();
        for is_sent in [false, true] {
            let (sender, waiting) = reply_channel();
            assert!(!is_sent || sender.send());
            let begun = Instant::now();
            let answer = waiting.until(begun + SECOND).await;
            let is_as_told = match is_sent {
                true => matches!(answer, Err(CommandError::Unknown)),
                false => matches!(answer, Err(CommandError::Unavailable(_))),
            };
            assert!(is_as_told && sender.is_over(), "{}", text(answer));
            let late = begun.elapsed() - SECOND;
            assert!(late <= 2 * LOOK_EVERY, "{late:?}");
            left.push(sender);
        }
        assert_eq!(places(), 1, "it was free again");
        let (sender, waiting) = reply_channel();
        assert!(left.iter().all(ReplySender::is_over), "nobody answers another one's command");
        sender.answer(busy(), &mut Wakeups::default());
        assert!(matches!(waiting.until(Instant::now()).await, Err(CommandError::Busy)));
        let (sender, waiting) = reply_channel();
        assert!(!sender.is_over(), "what was shared is used again, and nothing of it is left");
        let waits = tokio::spawn(waiting.until(Instant::now() + 5 * LOOK_EVERY));
        sleep(2 * LOOK_EVERY).await;
        let mut wakeups = Wakeups::default();
        sender.answer(busy(), &mut wakeups);
        wakeups.send();
        assert!(matches!(waits.await.unwrap(), Err(CommandError::Busy)));
        assert_eq!(places(), 1);
        works.abort();
        HERE.set(None);
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
