//! Signals to the appender: read the journal now, check it, announce what is durable, re-seed.

use crate::replica::Difference;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The pause after an answer before news are waited for again, with readers and without.
const AFTER_ANSWER: Duration = Duration::from_millis(20);
const WITHOUT_READERS: Duration = Duration::from_millis(250);

/// Signals that wait to be taken; two of the same kind are one.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    look: Notify,
    suspicion: Notify,
    endure: Notify,
    readers: AtomicBool,
    reseed: AtomicBool,
    without_store: AtomicBool,
    is_wrong: AtomicBool,
    differs: Mutex<Option<Difference>>,
    divergence: Notify,
}

impl Signals {
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

    /// Wants this node to switch to the branch that the journal has: its own state is not that.
    pub(crate) fn switch_branch(&self) {
        self.is_wrong.store(true, Ordering::Relaxed);
        self.suspect();
    }

    /// Says whether [`Signals::switch_branch`] was called and [`Signals::switched_branch`] not since.
    pub(crate) fn must_switch_branch(&self) -> bool {
        self.is_wrong.load(Ordering::Relaxed)
    }

    /// Says that this node has the state of what the journal has.
    pub(crate) fn switched_branch(&self) {
        self.is_wrong.store(false, Ordering::Relaxed);
    }

    /// Says that another node had another digest than this one.
    pub(crate) fn divergence(&self, difference: Difference) {
        *self.differs.lock().unwrap_or_else(PoisonError::into_inner) = Some(difference);
        self.divergence.notify_one();
    }

    /// Waits for [`Signals::divergence`].
    pub(crate) async fn diverged(&self) -> Difference {
        loop {
            if let Some(difference) =
                self.differs.lock().unwrap_or_else(PoisonError::into_inner).take()
            {
                return difference;
            }
            self.divergence.notified().await;
        }
    }

    /// Notes whether the store has nothing of the space any more.
    pub(crate) fn without_store(&self, nothing: bool) {
        self.without_store.store(nothing, Ordering::Relaxed);
    }

    pub(crate) fn is_without_store(&self) -> bool {
        self.without_store.load(Ordering::Relaxed)
    }

    pub(crate) fn may_reseed(&self) -> bool {
        self.reseed.load(Ordering::Relaxed)
    }

    /// The word was for once: the space was put back, or the store has one.
    pub(crate) fn reseeded(&self) {
        self.reseed.store(false, Ordering::Relaxed);
    }

    /// Says that somebody reads this node's state.
    pub(crate) fn reads(&self) {
        if !self.readers.load(Ordering::Relaxed) {
            self.readers.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the pause after an answer of the journal before news are waited for: short if somebody
    /// read this node's state since this was last asked.
    pub(crate) fn pause_before_news(&self) -> Duration {
        let readers = self.readers.swap(false, Ordering::Relaxed);
        if readers { AFTER_ANSWER } else { WITHOUT_READERS }
    }

    /// Waits for [`Signals::look`].
    ///
    /// # Cancel safety
    ///
    /// This and its neighbours are cancel safe: a call that was not heard stays.
    pub(crate) async fn wanted(&self) {
        self.look.notified().await;
    }

    /// Waits for [`Signals::suspect`].
    pub(crate) async fn suspected(&self) {
        self.suspicion.notified().await;
    }

    /// Waits for [`Signals::endure`].
    pub(crate) async fn endurance(&self) {
        self.endure.notified().await;
    }
}
