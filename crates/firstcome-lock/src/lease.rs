//! A lock that is held, given back when it is dropped.

use std::sync::Arc;
use std::time::Duration;

use crate::durations::{LEAST_LEASE, LONGEST, within};
use crate::error::Error;
use crate::fence::Fence;
use crate::held_lock::HeldLock;
use crate::loss::Loss;
use crate::owner::SharedEntry;
use crate::release::give_back;
use crate::released::Released;
use crate::remaining::Remaining;
use crate::requests::RenewalAnswer;
use crate::shared::Shared;
use crate::teller::Teller;

/// The answer to trying to take a lock.
#[derive(Debug)]
#[must_use = "dropping the lease gives the lock back"]
pub enum TryLock<L = Lease> {
    /// It is yours.
    Acquired(L),
    /// Somebody else has it.
    #[non_exhaustive]
    Held {
        /// The lock.
        name: String,
        /// How long their lease still ran when the store answered.
        remaining: Remaining,
    },
}

impl<L> TryLock<L> {
    /// Gives the lease, if there is one.
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

/// A lock, held for a while.
///
/// Dropping it gives the lock back in the background; [`Lease::release`] does so and says what became of it.
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

    /// Waits for the replicas that have to have it; gives the lock back where too few have.
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

    /// Gives the lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.held.keys.name
    }

    /// Gives the owner as it stands in the store: the client's id, a colon, a number.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.held.owner
    }

    /// Gives the number that is higher than that of every owner before.
    ///
    /// It was minted when the lock was taken, in the same step, and does not change while it is held. It is worth
    /// something where the protected thing refuses lower ones, see [`FencedValue`](crate::FencedValue), and where everybody who
    /// takes the lock mints one.
    #[must_use]
    pub fn fence(&self) -> Fence {
        Fence(self.held.fence)
    }

    /// Tells whether the lock can still be relied on to be nobody else's.
    ///
    /// Looks at this machine's monotonic clock and asks nobody. Trust ends a tenth of the lease, at least 20 ms,
    /// before the lease counted from when it was asked for. Once `false` it stays so.
    ///
    /// It is advice, not a barrier: the process may be paused between this answer and what it does next. Pass
    /// [`Lease::fence`] to any write that must not come from an old owner.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.held.is_valid()
    }

    /// Gives how long the lock can be relied on if nothing is renewed; zero once it is lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.held.remaining()
    }

    /// Waits until this lease can no longer be relied on.
    ///
    /// Resolves when a renewal is refused or when trust runs out unanswered, whichever is first; never after
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
    /// A renewed lease gets at least its own length, and returns to it with its next renewal. Where a renewal or another
    /// extension is under way at the same time, the shorter of the two is believed.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if it is lost already, or the store says so now; [`Error::Store`] if the store does not
    /// answer: the lease may then be longer than it is believed to be, never shorter.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, with the same doubt about the length.
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

    /// Gives the lock back and says what became of it.
    ///
    /// While somebody in this process waits for the lock it may pass to them without being free in between, at most
    /// 8 times in a row, or as [`Builder::passes`](crate::Builder::passes) says. A release without an answer is sent again; the store recognises it.
    ///
    /// # Errors
    ///
    /// [`Error::Pending`] if there is no answer in the time one request may take; it goes on in the background.
    /// [`Error::Store`] where the store refuses, and the lock stays taken until the lease ends, or where an answer
    /// was lost and it cannot be told any more whether this freed the lock or it had been lost before.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: once this was called the lock is given back, whether or not the answer is waited for.
    pub async fn release(mut self) -> Result<Released, Error> {
        self.released = true;
        let entry = self.entry.take();
        self.give_back(entry).await
    }

    /// Gives the lock back for everybody who has a copy.
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

    /// Ends it for everybody who has a copy: it can be relied on no longer and is not renewed. The store has it until it
    /// is given back, or its lease is over.
    pub(crate) fn end(&self) {
        self.shared.watchdog.rest(&self.held);
        self.held.given_back();
    }

    /// Gives where it is told what becomes of it.
    pub(crate) fn teller(&self) -> &Teller {
        &self.shared.teller
    }

    /// Tells that somebody who asked for it has it now, and `waited` that long.
    pub(crate) fn tell_acquired(&self, waited: Duration) {
        self.held.tell_acquired(waited);
    }

    /// Gives how it ended, if it did, and for how long the store had not answered a renewal by now.
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

    /// Lets go of the lease without giving the lock back: it stays taken until the lease ends by itself.
    ///
    /// It is no longer renewed.
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
