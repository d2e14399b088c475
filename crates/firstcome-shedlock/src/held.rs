//! A held ShedLock lock.

use std::sync::Arc;
use std::time::Duration;

use firstcome_store::client::pause;
use tokio::time::{Instant, sleep, timeout};

use crate::ask::Ask;
use crate::error::Error;
use crate::shared::Shared;

/// A held lock.
///
/// A handle can be used once: [`SimpleLock::extend`] and [`SimpleLock::unlock`] consume it, as in Java, where the old handle
/// then throws. Dropping it unlocks in the background.
#[derive(Debug)]
#[must_use = "dropping it unlocks"]
pub struct SimpleLock {
    shared: Arc<Shared>,
    /// None if there is nothing left to release.
    ask: Option<Ask>,
}

/// The result of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unlocked {
    /// It still belonged to this holder: it is free now, or when the requested *at least* time is over.
    Yes,
    /// It did not belong to this holder any more: *at most* was too short, and others may have worked at the same time.
    ///
    /// If the answer to a first request was lost, it may also mean that this call had freed it.
    AlreadyLost,
}

impl SimpleLock {
    pub(crate) fn new(shared: &Arc<Shared>, ask: Ask) -> Self {
        Self { shared: Arc::clone(shared), ask: Some(ask) }
    }

    /// Returns the lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.ask().name
    }

    /// Returns this holder as stored: the host name and a random part; on Redis with the time before them.
    #[must_use]
    pub fn locked_by(&self) -> &str {
        &self.ask().locked_by
    }

    /// Returns for how long no other holder can take the lock, by the monotonic clock of this machine; zero when that is over.
    ///
    /// It counts from before the request, and is shorter than *at most* by a tenth of it, at least 20 ms. With
    /// [client time](crate#which-clock) it is only as good as the clocks of all nodes agree. There is no signal when it is over:
    /// end the work with it, for example with `tokio::time::timeout(lock.remaining(), work)`.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.ask().trusted_until().saturating_duration_since(Instant::now())
    }

    fn ask(&self) -> &Ask {
        self.ask.as_ref().expect("only what uses the handle up takes it")
    }

    /// Holds the lock for `lock_at_most_for` from now on; `None` if it was lost meanwhile.
    ///
    /// For both durations see [`ShedLock::lock`](crate::ShedLock::lock). As in ShedLock, `lock_at_least_for` counts from the
    /// first acquire if the database's clock is used; with the client's clock, and on Redis, from this extension.
    ///
    /// A request without an answer is sent again while [`SimpleLock::remaining`] lasts.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`], [`Error::Store`]. The handle is consumed anyway, and the lock is not released, because the work
    /// may still continue: the lock ends by itself.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: dropping the future drops the handle, which unlocks in the background.
    pub async fn extend(
        mut self,
        lock_at_most_for: Duration,
        lock_at_least_for: Duration,
    ) -> Result<Option<SimpleLock>, Error> {
        let Some(old) = self.ask.take() else { return Ok(None) };
        let locked_by = old.locked_by.clone();
        let ask = Ask::new(&old.name, locked_by, lock_at_most_for, lock_at_least_for)?;
        let shared = Arc::clone(&self.shared);
        self.shared.background.run_to_end(move |_| extend(shared, old.trusted_until(), ask)).await
    }

    /// Releases the lock: it is free at once, or when the requested *at least* time is over.
    ///
    /// # Errors
    ///
    /// [`Error::Pending`] if it was not confirmed within the time of one request: it continues in the background, until the lock
    /// has ended by itself. [`Error::Store`] if the store refuses.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it continues in the background.
    pub async fn unlock(mut self) -> Result<Unlocked, Error> {
        let Some(ask) = self.ask.take() else { return Ok(Unlocked::AlreadyLost) };
        let name = ask.name.clone();
        let shared = Arc::clone(&self.shared);
        let unlocking = self.shared.background.run_to_end(move |_| give_back(shared, ask));
        let patience = self.shared.store.answer_within();
        timeout(patience, unlocking).await.map_err(|_| Error::Pending { name })?
    }
}

impl Drop for SimpleLock {
    fn drop(&mut self) {
        if let Some(ask) = self.ask.take() {
            let shared = Arc::clone(&self.shared);
            self.shared.background.run(async move {
                // Nobody asks what became of it; without an answer it ends by itself.
                drop(give_back(shared, ask).await);
            });
        }
    }
}

/// Asks for an extension until there is an answer, or nothing left to extend.
async fn extend(
    shared: Arc<Shared>,
    trusted_until: Instant,
    ask: Ask,
) -> Result<Option<SimpleLock>, Error> {
    for tries in 0.. {
        match shared.store.extend(&ask).await {
            Ok(true) => return Ok(Some(SimpleLock::new(&shared, ask))),
            Ok(false) => break,
            Err(failure) if !again(&failure, trusted_until) => return Err(failure),
            Err(_) => sleep(pause(tries)).await,
        }
    }
    Ok(None)
}

/// Asks to unlock until there is an answer, or the lock has certainly ended by itself.
async fn give_back(shared: Arc<Shared>, ask: Ask) -> Result<Unlocked, Error> {
    let over_at = ask.over_at();
    for tries in 0.. {
        match shared.store.unlock(&ask).await {
            Ok(true) => return Ok(Unlocked::Yes),
            Ok(false) => break,
            Err(failure) if !again(&failure, over_at) => return Err(failure),
            Err(_) => sleep(pause(tries)).await,
        }
    }
    Ok(Unlocked::AlreadyLost)
}

fn again(failure: &Error, until: Instant) -> bool {
    failure.passes_by_itself() && Instant::now() < until
}
