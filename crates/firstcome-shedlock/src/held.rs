//! A ShedLock lock that is held.

use std::sync::Arc;
use std::time::Duration;

use firstcome_store::client::pause;
use tokio::time::{Instant, sleep, timeout};

use crate::ask::Ask;
use crate::error::Error;
use crate::shared::Shared;

/// A lock that is held.
///
/// One handle is good for one step: [`SimpleLock::extend`] and [`SimpleLock::unlock`] use it up, as in Java, where the
/// old handle then throws. Dropping it unlocks in the background.
#[derive(Debug)]
#[must_use = "dropping it unlocks"]
pub struct SimpleLock {
    shared: Arc<Shared>,
    /// None once there is nothing left to give back.
    ask: Option<Ask>,
}

/// What became of a lock that was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unlocked {
    /// It was still this holder's: it is free now, or when it was taken for *at least* the time asked for.
    Yes,
    /// It was this holder's no more: *at most* was too short, and others may have worked at the same time.
    ///
    /// Where the answer of a first request was lost, it may also mean that this very call had freed it.
    AlreadyLost,
}

impl SimpleLock {
    pub(crate) fn new(shared: &Arc<Shared>, ask: Ask) -> Self {
        Self { shared: Arc::clone(shared), ask: Some(ask) }
    }

    /// Gives the lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.ask().name
    }

    /// Gives what stands in the store for this holder: the host's name and a random part, on Redis with the time before
    /// them.
    #[must_use]
    pub fn locked_by(&self) -> &str {
        &self.ask().locked_by
    }

    /// Gives for how long nobody else can take the lock, by this machine's monotonic clock; nothing when that is over.
    ///
    /// It counts from before the lock was asked for, and is shorter than *at most* by a tenth of it, at least 20 ms. With
    /// [client time](crate#whose-clock) it is worth as much as the clocks of all nodes agree. Nobody says when it is
    /// over: have the work end with it, as with `tokio::time::timeout(lock.remaining(), work)`.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.ask().trusted_until().saturating_duration_since(Instant::now())
    }

    fn ask(&self) -> &Ask {
        self.ask.as_ref().expect("only what uses the handle up takes it")
    }

    /// Holds the lock for `lock_at_most_for` from now on; `None` where it was lost meanwhile.
    ///
    /// What is said of both durations at [`ShedLock::lock`](crate::ShedLock::lock) is true here, too. By the database's
    /// clock `lock_at_least_for` counts from when the lock was first taken; by the client's, and on Redis, from this
    /// extension: this is how ShedLock has it.
    ///
    /// A request without an answer is sent again while [`SimpleLock::remaining`] lasts.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`], [`Error::Store`]. The handle is used up all the same, and the lock is not given back,
    /// because the work may still go on: it ends by itself.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the handle goes with the future, which unlocks in the background.
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

    /// Gives the lock back: it is free at once, or when it was taken for *at least* the time asked for.
    ///
    /// # Errors
    ///
    /// [`Error::Pending`] when it could not be confirmed in the time of one request: it goes on in the background, until
    /// the lock has ended by itself. [`Error::Store`] where the store refuses.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it goes on in the background.
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
