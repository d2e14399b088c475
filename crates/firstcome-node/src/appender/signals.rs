//! Signals to the appender: read the journal now, check it, announce what is durable, re-seed.

use crate::replica::Difference;
use firstcome_core::names::SpaceId;
use firstcome_journal::{Head, JournalError};
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
    lacks_space: AtomicBool,
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

    /// Takes in what was found where the head of a space should be.
    pub(crate) fn looked(&self, head: &Result<Head, JournalError>, space: SpaceId) {
        let (is_empty, has_another) = match head {
            Ok(head) => (false, head.space != space),
            Err(JournalError::Gone(_)) => (true, false),
            Err(JournalError::OtherSpace { .. }) => (false, true),
            Err(_) => (false, false),
        };
        self.without_store.store(is_empty, Ordering::Relaxed);
        if is_empty || has_another {
            self.lacks_space.store(true, Ordering::Relaxed);
        }
    }

    /// Says that the store has what this node has.
    pub(crate) fn agrees(&self) {
        self.lacks_space.store(false, Ordering::Relaxed);
    }

    /// Says whether the store was found to lack the space, and has not agreed with this node since.
    pub(crate) fn lacks_space(&self) -> bool {
        self.lacks_space.load(Ordering::Relaxed)
    }

    /// Says whether the store was empty when it was last looked at.
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

#[cfg(test)]
mod tests {
    use super::*;
    use firstcome_core::Timestamp;
    use firstcome_journal::Name;

    const SPACE: SpaceId = SpaceId([7; 16]);
    const OTHER: SpaceId = SpaceId([9; 16]);

    #[test]
    fn a_store_that_lacked_the_space_lacks_it_until_it_agrees_again() {
        let of = |space| Head {
            space,
            level: 1,
            position: 1,
            name: Name::default(),
            at: Timestamp::from_micros(1),
            epoch: 0,
            first: 1,
            skips: 0,
            now: Timestamp::from_micros(1),
        };
        let out_of_reach = || Err(JournalError::Unavailable("it is down".to_owned()));
        for lacks in [
            Err(JournalError::Gone(SPACE)),
            Err(JournalError::OtherSpace { found: OTHER, wanted: SPACE }),
            Ok(of(OTHER)),
        ] {
            let signals = Signals::default();
            for answer in [out_of_reach(), Ok(of(SPACE))] {
                signals.looked(&answer, SPACE);
                assert!(!signals.lacks_space(), "{answer:?}");
            }
            signals.looked(&lacks, SPACE);
            let is_empty = matches!(lacks, Err(JournalError::Gone(_)));
            assert_eq!(signals.is_without_store(), is_empty, "{lacks:?}");
            for answer in [out_of_reach(), Ok(of(SPACE))] {
                signals.looked(&answer, SPACE);
                assert!(!signals.is_without_store() && signals.lacks_space(), "{answer:?}");
            }
            signals.agrees();
            assert!(!signals.lacks_space(), "{lacks:?}");
        }
    }
}
