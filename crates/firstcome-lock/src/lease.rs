//! A held lock, which is released when it is dropped.

pub(crate) mod held_lock;
pub(crate) mod loss;
pub(crate) mod run;
pub(crate) mod watchdog;
pub(crate) mod while_valid;

use std::sync::Arc;
use std::time::Duration;

use crate::backend::requests::RenewalAnswer;
use crate::durations::{LEAST_LEASE, LONGEST, within};
use crate::error::Error;
use crate::event::teller::Teller;
use crate::fence::Fence;
use crate::lease::held_lock::HeldLock;
use crate::lease::loss::Loss;
use crate::owner::SharedEntry;
use crate::release::give_back;
use crate::release::released::Released;
use crate::shared::Shared;
use crate::wait::remaining::Remaining;

/// The answer to an attempt to take a lock.
#[derive(Debug)]
#[must_use = "dropping the lease gives the lock back"]
pub enum TryLock<L = Lease> {
    /// The caller has the lock.
    Acquired(L),
    /// Another owner has the lock.
    #[non_exhaustive]
    Held {
        /// The lock.
        name: String,
        /// How long that owner's lease still lasted when the store answered.
        remaining: Remaining,
    },
}

impl<L> TryLock<L> {
    /// Returns the lease, if there is one.
    #[must_use = "dropping the lease gives the lock back"]
    pub fn acquired(self) -> Option<L> {
        match self {
            Self::Acquired(lease) => Some(lease),
            Self::Held { .. } => None,
        }
    }

    pub(crate) fn map<M>(self, change: impl FnOnce(L) -> M) -> TryLock<M> {
        match self {
            Self::Acquired(lease) => TryLock::Acquired(change(lease)),
            Self::Held { name, remaining } => TryLock::Held { name, remaining },
        }
    }
}

/// A held lock with its lease.
///
/// Dropping it releases the lock in the background; [`Lease::release`] releases it and gives the result.
#[derive(Debug)]
#[must_use = "dropping the lease gives the lock back"]
pub struct Lease {
    shared: Arc<Shared>,
    held: Arc<HeldLock>,
    entry: Option<SharedEntry>,
    /// Dropping it changes nothing any more.
    released: bool,
}

impl Lease {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        held: Arc<HeldLock>,
        entry: Option<SharedEntry>,
    ) -> Self {
        Self { shared: Arc::clone(shared), held, entry, released: false }
    }

    /// Waits for the required replicas; releases the lock if too few have it.
    pub(crate) async fn on_replicas(self) -> Result<Self, Error> {
        let HeldLock { keys, owner, .. } = &*self.held;
        match self.shared.backend.wait_for_replicas(keys, owner, self.held.lease()).await {
            Ok(()) => Ok(self),
            Err(failure) => {
                // Without an answer that goes on in the background.
                drop(self.release().await);
                Err(failure)
            }
        }
    }

    /// Returns the lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.held.keys.name
    }

    /// Returns the owner as stored: the client's id, a colon, a number.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.held.owner
    }

    /// Returns the fence: a number that is higher than that of every earlier owner.
    ///
    /// It was created in the step that took the lock, and does not change while the lock is held. It protects only if the
    /// protected resource refuses lower fences (see [`FencedValue`](crate::FencedValue)), and if every program that takes the
    /// lock creates a fence.
    #[must_use]
    pub fn fence(&self) -> Fence {
        Fence(self.held.fence)
    }

    /// Says whether the lease is still valid: no other owner can have the lock.
    ///
    /// It reads only the monotonic clock of this machine. Trust ends a tenth of the lease, at least 20 ms, before the lease,
    /// counted from the request. Once `false`, it stays `false`.
    ///
    /// This is advice, not a barrier: the process may be paused between this answer and its next action. Pass [`Lease::fence`]
    /// to any write that must not come from an old owner.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.held.is_valid()
    }

    /// Returns how long the lease is valid without a renewal; zero if it is lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.held.remaining()
    }

    /// Waits until this lease is lost.
    ///
    /// Resolves when a renewal is refused, or when trust ends without an answer, whichever is first; never after
    /// [`Lease::release`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe. A later call sees the same outcome.
    pub async fn lost(&self) -> Loss {
        self.held.lost().await
    }

    /// Makes the lease last for `lease` from now on, 50 ms to 100 years.
    ///
    /// A renewed lease gets at least its own length, and returns to it with its next renewal. If a renewal or another extension
    /// runs at the same time, the shorter of the two counts.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if it is lost already, or if the store says so now; [`Error::Store`] if the store does not answer: the
    /// lease in the store may then be longer than this value assumes, never shorter.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, with the same uncertainty about the length.
    pub async fn extend(&self, lease: Duration) -> Result<(), Error> {
        within("a lease", lease, LEAST_LEASE, LONGEST)?;
        if let Some(loss) = self.held.loss() {
            return Err(Error::Lost(loss));
        }
        let lease = if self.held.renewed { lease.max(self.held.first_lease) } else { lease };
        // A shorter lease may be in force at the store whether or not its answer arrives.
        let shortened = lease < self.held.remaining();
        if shortened {
            self.held.confirmed(self.held.asked_now(), lease).map_err(Error::Lost)?;
        }
        let sent = self.held.asked_now();
        let asked = [(&*self.held.keys, self.held.owner.as_str())];
        match self.shared.backend.renew(&asked, Some(lease)).await?.first() {
            Some(RenewalAnswer::Yes) => self.held.confirmed(sent, lease).map_err(Error::Lost),
            Some(RenewalAnswer::NotRenewed) => Err(Error::row_in_use(self.name())),
            Some(RenewalAnswer::Gone) | None => {
                self.held.lose(Loss::Taken);
                Err(Error::Lost(Loss::Taken))
            }
        }
    }

    /// Releases the lock and gives the result.
    ///
    /// If a task of this process waits for the lock, the lock may pass to it without being free in between, at most 8 times in
    /// a row, or as set with [`Builder::passes`](crate::Builder::passes). A release without an answer is sent again; the store
    /// recognises it.
    ///
    /// # Errors
    ///
    /// [`Error::Pending`] if there is no answer within the time of one request; the release continues in the background.
    /// [`Error::Store`] if the store refuses, and the lock stays taken until the lease ends; or if an answer was lost, and it
    /// is unknown whether this freed the lock or it had been lost before.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: after this call the lock is released, whether or not the caller waits for the answer.
    pub async fn release(mut self) -> Result<Released, Error> {
        self.released = true;
        let entry = self.entry.take();
        self.give_back(entry).await
    }

    /// Releases the lock for all copies.
    pub(crate) async fn release_for_all(&self) -> Result<Released, Error> {
        self.give_back(self.entry.clone()).await
    }

    async fn give_back(&self, entry: Option<SharedEntry>) -> Result<Released, Error> {
        let (shared, held) = (Arc::clone(&self.shared), Arc::clone(&self.held));
        let patience = shared.backend.answer_within();
        // Counted from here, so that a future that is dropped before its first step gives the lock back, too.
        let release = self.shared.background.run_to_end(move |_| give_back(shared, held, entry));
        let pending = |_| Error::Pending { name: self.name().to_owned() };
        tokio::time::timeout(patience, release).await.map_err(pending)?
    }

    /// Ends it for all copies: it is not valid and not renewed any more. The lock stays taken until it is released, or its
    /// lease ends.
    pub(crate) fn end(&self) {
        self.shared.watchdog.rest(&self.held);
        self.held.given_back();
    }

    /// Returns the target of its events.
    pub(crate) fn teller(&self) -> &Teller {
        &self.shared.teller
    }

    /// Reports that a caller has it now, after it `waited` for this time.
    pub(crate) fn tell_acquired(&self, waited: Duration) {
        self.held.tell_acquired(waited);
    }

    /// Returns how it ended, if it did, and for how long the store has not answered a renewal.
    pub(crate) fn ended(&self) -> (Option<Loss>, Duration) {
        (self.held.loss(), self.held.silent())
    }

    /// Waits until the store has certainly let go of it, if it is not renewed, or the client is closed.
    pub(crate) async fn over(&self) {
        tokio::select! {
            () = tokio::time::sleep_until(self.held.over_at()) => {}
            () = self.shared.closed() => {}
        }
    }

    /// Drops the lease without releasing the lock: it stays taken until the lease ends.
    ///
    /// It is not renewed any more.
    pub fn leak(mut self) {
        self.released = true;
        self.shared.watchdog.leave(&self.held);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.released {
            let (shared, held, entry) =
                (Arc::clone(&self.shared), Arc::clone(&self.held), self.entry.take());
            self.shared.background.run(async move {
                // Nobody asks what became of it; without an answer the lease ends by itself.
                drop(give_back(shared, held, entry).await);
            });
        }
    }
}
