//! One lock by its name, and the ways to acquire it.

use std::sync::Arc;
use std::time::Duration;

use crate::backend::ask::Ask;
use crate::backend::holder::Holder;
use crate::durations::{LEAST_LEASE, LONGEST, within};
use crate::error::Error;
use crate::keys::{Kind, LockKeys};
use crate::lease::held_lock::LeaseOptions;
use crate::lease::{Lease, TryLock};
use crate::owner::Owner;
use crate::shared::Shared;
use crate::wait::attempt::attempt;
use crate::wait::backoff::Backoff;
use crate::wait::call::Call;
use crate::wait::{self, Until};

/// One lock by its name. Nothing is taken until one of its methods is called.
///
/// [`Lock::run`] stops the work in time. With the other methods the caller has the [`Lease`] and must stop the work itself.
///
/// Cheap to clone. By default the lease lasts as long as the [`Lease`] lives: it is renewed in the background.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), firstcome_lock::Error> {
/// use std::time::Duration;
/// use firstcome_lock::{Locks, TryLock};
///
/// let locks = Locks::memory();
/// match locks.mutex("report")?.lease(Duration::from_secs(60)).lock_within(Duration::from_secs(3)).await? {
///     TryLock::Acquired(lease) => {
///         // … the work, which stops where `lease.is_valid()` is false …
///         lease.release().await?;
///     }
///     TryLock::Held { remaining, .. } => println!("somebody else is at it {remaining}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Lock {
    shared: Arc<Shared>,
    ask: Ask,
    /// How to poll if the store sends no message about releases; `None` if it does.
    poll: Option<Backoff>,
}

impl Lock {
    pub(crate) fn new(shared: &Arc<Shared>, kind: Kind, name: &str) -> Result<Self, Error> {
        let options = LeaseOptions { lease: shared.watchdog_lease, renewed: true, at_most: None };
        let keys = Arc::new(LockKeys::new(kind, name)?);
        let ask = Ask { keys, options, owner: None, in_line: None };
        let poll = (kind == Kind::Token).then(Backoff::default);
        Ok(Self { shared: Arc::clone(shared), ask, poll })
    }

    /// Returns the lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.ask.keys.name
    }

    /// Takes the lock for a fixed time, 50 ms to 100 years, and does not renew it.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.ask.options = LeaseOptions { lease, renewed: false, ..self.ask.options };
        self
    }

    /// Takes the lock with a lease of this length, 50 ms to 100 years, that is renewed each sixth of it; each tenth if it is
    /// 3 s or shorter.
    #[must_use]
    pub fn renewed(mut self, lease: Duration) -> Self {
        self.ask.options = LeaseOptions { lease, renewed: true, ..self.ask.options };
        self
    }

    /// Ends each lease of this lock `time` after its request, 50 ms to 100 years, also if it is renewed. By default a renewed
    /// lease has no end.
    ///
    /// It is then lost with [`Loss::HeldTooLong`](crate::Loss::HeldTooLong) and not renewed any more, so that hanging work
    /// does not block others for ever. The lock stays taken until it is released, at the latest until the last renewed lease
    /// ends. If an [`Owner`] takes a lock again that it already holds, the end does not change.
    #[must_use]
    pub fn hold_at_most(mut self, time: Duration) -> Self {
        self.ask.options.at_most = Some(time);
        self
    }

    /// Takes the lock as `owner`, which may hold it already.
    ///
    /// If the owner takes it again, a fixed lease is replaced by the new one, even by a shorter one, as in Redisson; a renewed
    /// lease does not change. Token and fair locks, permits, readers and writers have no owners and ignore this.
    #[must_use]
    pub fn owner(mut self, owner: &Owner) -> Self {
        if self.ask.keys.kind.has_owners() {
            self.ask.owner = Some(owner.clone());
        }
        self
    }

    /// Sets the pauses for polling a token lock, which sends no message when it is free. Other locks ignore this.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        if self.poll.is_some() {
            self.poll = Some(backoff);
        }
        self
    }

    /// Tries once to take the lock.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the store does not answer. If it may have granted the lock, that is undone in the background.
    /// [`Error::OutOfRange`] for a lease that is too short or too long.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the store grants the lock to a dropped call, that is undone.
    pub async fn try_lock(&self) -> Result<TryLock, Error> {
        self.check()?;
        self.try_once().await
    }

    /// Waits for the lock without a time limit.
    ///
    /// Waiters of the same process get it in order. There is no order between processes, except for
    /// [fair locks](crate::Locks::fair).
    ///
    /// # Errors
    ///
    /// As [`Lock::try_lock`], but the call first retries for [`Builder::ride_out`](crate::Builder::ride_out) if the store does
    /// not answer.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, as [`Lock::try_lock`]; the position in the wait queue is lost.
    pub async fn lock(&self) -> Result<Lease, Error> {
        self.check()?;
        let mut call = Call::begin(&self.shared);
        loop {
            // A back-off that has an end begins anew.
            if let TryLock::Acquired(lease) = self.wait(Until::Got, &mut call).await? {
                return Ok(lease);
            }
        }
    }

    /// Waits for the lock for at most `wait`, up to 100 years; zero is [`Lock::try_lock`].
    ///
    /// It ends in time, whatever the store does. A lock that the store grants later is released in the background.
    ///
    /// # Errors
    ///
    /// As [`Lock::lock`]. It is also an error if the time is over while the store does not answer, because it is then unknown
    /// whether another owner has the lock: [`Error::NoAnswerYet`] if the store has not answered at all.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, as [`Lock::lock`].
    pub async fn lock_within(&self, wait: Duration) -> Result<TryLock, Error> {
        self.check()?;
        within("a wait", wait, Duration::ZERO, LONGEST)?;
        if wait.is_zero() {
            return self.try_once().await;
        }
        self.wait(Until::at(wait), &mut Call::begin(&self.shared)).await
    }

    /// Returns the holder of this lock; `None` if it is free.
    ///
    /// [`Locks::inspect`](crate::Locks::inspect) needs only the name of a lock. In Redis, only this method of a
    /// [token lock](crate::Locks::token) accepts a string with any token.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]; [`Error::Unfit`] for semaphores and read/write locks, which may have several holders.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn inspect(&self) -> Result<Option<Holder>, Error> {
        self.one_holder()?;
        self.shared.backend.inspect(&self.ask.keys).await
    }

    /// Frees this lock, whoever holds it. Gives whether it was held. See
    /// [`Locks::force_release`](crate::Locks::force_release).
    ///
    /// In Redis, only this method of a [token lock](crate::Locks::token) deletes a string with any token.
    ///
    /// # Errors
    ///
    /// As [`Lock::inspect`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: it may have happened.
    pub async fn force_release(&self) -> Result<bool, Error> {
        self.one_holder()?;
        self.shared.backend.force(&self.ask.keys).await
    }

    fn one_holder(&self) -> Result<(), Error> {
        match self.ask.keys.kind.permits() {
            None => Ok(()),
            Some(_) => Err(Error::Unfit {
                what: "a semaphore or a read/write lock",
                reason: "several may have it".to_owned(),
                hint: "ask for a lock",
            }),
        }
    }

    async fn try_once(&self) -> Result<TryLock, Error> {
        let call = Call::begin(&self.shared);
        let tried = attempt(&self.shared, &self.ask).await?;
        if let TryLock::Acquired(lease) = &tried {
            call.has(lease);
        }
        Ok(tried)
    }

    async fn wait(&self, until: Until, call: &mut Call<'_>) -> Result<TryLock, Error> {
        let waited = match &self.poll {
            #[cfg(feature = "redis")]
            _ if self.ask.keys.kind == Kind::Fair => {
                wait::in_line::in_line(&self.shared, &self.ask, until, call).await?
            }
            Some(backoff) => wait::polling(&self.shared, &self.ask, until, backoff, call).await?,
            None => wait::in_queue(&self.shared, &self.ask, until, call).await?,
        };
        if let TryLock::Acquired(lease) = &waited {
            call.has(lease);
        }
        Ok(waited)
    }

    fn check(&self) -> Result<(), Error> {
        check_options(self.ask.options)
    }
}

/// Checks the times of a lease.
pub(crate) fn check_options(options: LeaseOptions) -> Result<(), Error> {
    within("a lease", options.lease, LEAST_LEASE, LONGEST)?;
    match options.at_most {
        Some(time) => within("hold_at_most", time, LEAST_LEASE, LONGEST).map(drop),
        None => Ok(()),
    }
}
