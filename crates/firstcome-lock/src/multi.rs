//! Several locks taken together, all or nothing.

mod attempt;
mod lease;
mod wait;

use std::sync::Arc;
use std::time::Duration;

pub use self::lease::MultiLease;
use crate::backend::ask::Ask;
use crate::durations::{LONGEST, within};
use crate::error::Error;
use crate::error::locked::LockedError;
use crate::inject::Mistake;
use crate::keys::{Kind, LockKeys};
use crate::lease::held_lock::LeaseOptions;
use crate::lease::run::Finished;
use crate::lease::{Lease, TryLock};
use crate::lock::check_options;
use crate::locks::Locks;
use crate::shared::Shared;
use crate::wait::Until;
use crate::wait::call::Call;

/// The most names that are taken together: each costs a key in the store and an item in each renewal.
const MOST_NAMES: usize = 64;

impl Locks {
    /// Returns the locks of these names as one, 1 to 64 of them; they are taken together, or none of them is. Each is the same
    /// lock as [`Locks::mutex`] of its name.
    ///
    /// On Redis and Valkey they are taken in one step, by one script. In a database and in memory they are taken one after the
    /// other, sorted by name, and released if another owner has one of them: there, for a moment, another caller may find a
    /// lock taken that nobody gets. In both cases a waiting caller holds nothing, so callers with the same names never wait for
    /// each other in a circle, in any order of names.
    ///
    /// # Errors
    ///
    /// [`Error::Unfit`] for no names, more than 64, or a repeated name; [`Error::Name`] as [`Locks::mutex`].
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), firstcome_lock::LockedError> {
    /// let locks = firstcome_lock::Locks::memory();
    /// let accounts = locks.all(&["account:17", "account:4"])?;
    /// let moved = accounts.run(async |leases| leases.leases().len()).await?;
    /// assert_eq!(moved.output, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn all<N: AsRef<str>>(&self, names: &[N]) -> Result<MultiLock, Error> {
        MultiLock::new(self.shared(), names.iter().map(AsRef::as_ref).collect())
    }
}

/// Several locks that are taken together, or none of them: see [`Locks::all`]. Nothing is taken until one of its methods is
/// called.
///
/// Cheap to clone. By default they are held as long as the [`MultiLease`] lives: they are renewed in the background.
#[derive(Debug, Clone)]
pub struct MultiLock {
    shared: Arc<Shared>,
    asks: Vec<Ask>,
}

impl MultiLock {
    fn new(shared: &Arc<Shared>, mut names: Vec<&str>) -> Result<Self, Error> {
        if !shared.mistakes.makes(Mistake::TakeUnsorted) {
            // Whoever has the first of the names that several want can be kept from the rest by none of them.
            names.sort_unstable();
        }
        let twice = names.windows(2).find(|two| two[0] == two[1]).map(|two| two[0]);
        let reason = match (names.len(), twice) {
            (0, _) => Some("it is empty".to_owned()),
            (count, _) if count > MOST_NAMES => Some(format!("it has {count} names")),
            (_, Some(name)) => Some(format!("{name:?} stands there twice")),
            _ => None,
        };
        if let Some(reason) = reason {
            let (what, hint) = ("the list of names", "give 1 to 64 names, each once");
            return Err(Error::Unfit { what, reason, hint });
        }
        let options = LeaseOptions { lease: shared.watchdog_lease, renewed: true, at_most: None };
        let ask = |name| {
            let keys = Arc::new(LockKeys::new(Kind::Plain, name)?);
            Ok(Ask { keys, options, owner: None, in_line: None })
        };
        let asks = names.into_iter().map(ask).collect::<Result<_, Error>>()?;
        Ok(Self { shared: Arc::clone(shared), asks })
    }

    /// Returns the names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.asks.iter().map(|ask| ask.keys.name.as_str())
    }

    /// Takes the locks for a fixed time, 50 ms to 100 years, and does not renew them.
    #[must_use]
    pub fn lease(self, lease: Duration) -> Self {
        self.with(|options| LeaseOptions { lease, renewed: false, ..options })
    }

    /// Takes the locks with a lease of this length, 50 ms to 100 years, renewed as in [`Lock::renewed`](crate::Lock::renewed).
    #[must_use]
    pub fn renewed(self, lease: Duration) -> Self {
        self.with(|options| LeaseOptions { lease, renewed: true, ..options })
    }

    /// Ends each lease `time` after its request, 50 ms to 100 years, as [`Lock::hold_at_most`](crate::Lock::hold_at_most).
    #[must_use]
    pub fn hold_at_most(self, time: Duration) -> Self {
        self.with(|options| LeaseOptions { at_most: Some(time), ..options })
    }

    fn with(mut self, change: impl Fn(LeaseOptions) -> LeaseOptions) -> Self {
        for ask in &mut self.asks {
            ask.options = change(ask.options);
        }
        self
    }

    /// Tries once to take all of the locks.
    ///
    /// [`TryLock::Held`] names the first lock that another owner had; this call then holds none of them.
    ///
    /// # Errors
    ///
    /// As [`Lock::try_lock`](crate::Lock::try_lock), also if only one lock could not be requested: locks taken by then are
    /// released in the background.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the store grants locks to a dropped call, they are released in the background.
    pub async fn try_lock(&self) -> Result<TryLock<MultiLease>, Error> {
        self.check()?;
        let call = Call::begin(&self.shared);
        let tried = attempt::attempt(&self.shared, &self.asks, &mut Vec::new(), None).await?;
        Ok(tried.map(|leases| had(&call, leases)))
    }

    /// Waits until all of the locks can be taken together.
    ///
    /// There is no order between waiters, neither in a process nor between processes. A waiter for only one of the locks has a
    /// better chance.
    ///
    /// # Errors
    ///
    /// As [`Lock::lock`](crate::Lock::lock).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, as [`MultiLock::try_lock`].
    pub async fn lock(&self) -> Result<MultiLease, Error> {
        self.check()?;
        let mut call = Call::begin(&self.shared);
        loop {
            let waited = wait::wait(&self.shared, &self.asks, Until::Got, &mut call).await?;
            if let TryLock::Acquired(leases) = waited {
                return Ok(had(&call, leases));
            }
        }
    }

    /// Waits for at most `wait`, up to 100 years, until all of the locks can be taken together; zero is
    /// [`MultiLock::try_lock`].
    ///
    /// # Errors
    ///
    /// As [`Lock::lock_within`](crate::Lock::lock_within).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, as [`MultiLock::try_lock`].
    pub async fn lock_within(&self, wait: Duration) -> Result<TryLock<MultiLease>, Error> {
        self.check()?;
        within("a wait", wait, Duration::ZERO, LONGEST)?;
        if wait.is_zero() {
            return self.try_lock().await;
        }
        let mut call = Call::begin(&self.shared);
        let waited = wait::wait(&self.shared, &self.asks, Until::at(wait), &mut call).await?;
        Ok(waited.map(|leases| had(&call, leases)))
    }

    /// Waits for the locks, runs `work`, and releases them: as [`Lock::run`](crate::Lock::run); the loss of one lock stops the
    /// work.
    ///
    /// # Errors
    ///
    /// As [`Lock::run`](crate::Lock::run).
    ///
    /// # Cancel safety
    ///
    /// As [`Lock::run`](crate::Lock::run).
    pub async fn run<T>(
        &self,
        work: impl AsyncFnOnce(&MultiLease) -> T,
    ) -> Result<Finished<T>, LockedError> {
        self.lock().await?.finish(work).await
    }

    /// Waits for the locks for at most `wait`, up to 100 years, zero to try once; then as [`MultiLock::run`].
    ///
    /// # Errors
    ///
    /// As [`MultiLock::run`], and [`LockedError::Held`] with the name of a lock that another owner had.
    ///
    /// # Cancel safety
    ///
    /// As [`MultiLock::run`].
    pub async fn run_within<T>(
        &self,
        wait: Duration,
        work: impl AsyncFnOnce(&MultiLease) -> T,
    ) -> Result<Finished<T>, LockedError> {
        match self.lock_within(wait).await? {
            TryLock::Acquired(leases) => leases.finish(work).await,
            TryLock::Held { name, remaining } => {
                Err(LockedError::Held { name, waited: wait, remaining })
            }
        }
    }

    fn check(&self) -> Result<(), Error> {
        self.asks.iter().try_for_each(|ask| check_options(ask.options))
    }
}

/// Reports that a caller has these locks, and gives them to it.
fn had(call: &Call<'_>, leases: Vec<Lease>) -> MultiLease {
    leases.iter().for_each(|lease| call.has(lease));
    MultiLease::new(leases)
}
