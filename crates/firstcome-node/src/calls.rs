//! What the rest of a node calls on the appender for.

use super::doubt::Difference;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The pause after an answer before news are waited for again, with readers and without.
const AFTER_ANSWER: Duration = Duration::from_millis(20);
const WITHOUT_READERS: Duration = Duration::from_millis(250);

/// Calls that wait to be heard; two of the same kind are one.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    look: Notify,
    suspicion: Notify,
    endure: Notify,
    readers: AtomicBool,
    reseed: AtomicBool,
    without_store: AtomicBool,
    is_wrong: AtomicBool,
    differs: Mutex<Option<Difference>>,
    doubt: Notify,
}

impl Calls {
    /// Wants the journal looked at now: somebody waits for what others appended.
    pub(crate) fn look(&self) {
        self.look.notify_one();
    }

    /// Says that the store may have lost what this node applied.
    pub(crate) fn suspect(&self) {
        self.suspicion.notify_one();
    }

    /// Wants to know now up to where others know the journal to be durable.
    pub(crate) fn endure(&self) {
        self.endure.notify_one();
    }

    /// Allows this node to write its state into a store that has nothing of the space any more.
    pub(crate) fn reseed(&self) {
        self.reseed.store(true, Ordering::Relaxed);
        self.suspect();
    }

    /// Wants this node to go over to what the journal has: its own state is not that.
    pub(super) fn go_over(&self) {
        self.is_wrong.store(true, Ordering::Relaxed);
        self.suspect();
    }

    /// Says whether [`Calls::go_over`] was called and [`Calls::went_over`] not since.
    pub(super) fn must_go_over(&self) -> bool {
        self.is_wrong.load(Ordering::Relaxed)
    }

    /// Says that this node has the state of what the journal has.
    pub(super) fn went_over(&self) {
        self.is_wrong.store(false, Ordering::Relaxed);
    }

    /// Says that another node had another digest than this one.
    pub(super) fn doubt(&self, difference: Difference) {
        *self.differs.lock().unwrap_or_else(PoisonError::into_inner) = Some(difference);
        self.doubt.notify_one();
    }

    /// Waits for [`Calls::doubt`].
    pub(super) async fn doubted(&self) -> Difference {
        loop {
            if let Some(difference) =
                self.differs.lock().unwrap_or_else(PoisonError::into_inner).take()
            {
                return difference;
            }
            self.doubt.notified().await;
        }
    }

    /// Notes whether the store has nothing of the space any more.
    pub(super) fn without_store(&self, nothing: bool) {
        self.without_store.store(nothing, Ordering::Relaxed);
    }

    pub(super) fn is_without_store(&self) -> bool {
        self.without_store.load(Ordering::Relaxed)
    }

    pub(super) fn may_reseed(&self) -> bool {
        self.reseed.load(Ordering::Relaxed)
    }

    /// The operator's word was for once.
    pub(super) fn reseeded(&self) {
        self.reseed.store(false, Ordering::Relaxed);
    }

    /// Says that somebody reads this node's state.
    pub(crate) fn reads(&self) {
        if !self.readers.load(Ordering::Relaxed) {
            self.readers.store(true, Ordering::Relaxed);
        }
    }

    /// Gives the pause after an answer of the journal before news are waited for: short if somebody
    /// read this node's state since this was last asked.
    pub(super) fn pause_before_news(&self) -> Duration {
        let readers = self.readers.swap(false, Ordering::Relaxed);
        if readers { AFTER_ANSWER } else { WITHOUT_READERS }
    }

    /// Waits for [`Calls::look`].
    ///
    /// # Cancel safety
    ///
    /// This and its neighbours are cancel safe: a call that was not heard stays.
    pub(super) async fn wanted(&self) {
        self.look.notified().await;
    }

    /// Waits for [`Calls::suspect`].
    pub(super) async fn suspected(&self) {
        self.suspicion.notified().await;
    }

    /// Waits for [`Calls::endure`].
    pub(super) async fn endurance(&self) {
        self.endure.notified().await;
    }
}
