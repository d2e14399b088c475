//! Leader election: one candidate of many does the work.

mod health;
mod leader;
mod term;
mod watch;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use firstcome_store::Passes;
use tokio::sync::watch as value;

use self::health::{Candidacy, Standing};
pub use self::leader::Leader;
use self::term::CurrentTerm;
pub use self::term::Term;
pub use self::watch::Watch;
use crate::backend::requests::Record;
use crate::durations::{LEAST_LEASE, LONGEST, within};
use crate::error::Error;
use crate::inject::Mistake;
use crate::keys::{Kind, LockKeys};
use crate::lease::TryLock;
use crate::locks::Locks;
use crate::release::released::Released;
use firstcome_store::client::pause;

/// The default lease of a leader.
const LEASE: Duration = Duration::from_secs(10);

/// The default lease of periodic work, in intervals.
const FACTOR: f64 = 3.0;

/// The lowest and the highest factor, and the lowest for a store without messages, which may be a slow disk.
const LEAST_FACTOR: f64 = 1.2;
const LEAST_FACTOR_POLLING: f64 = 2.0;
const MOST_FACTOR: f64 = 10.0;

/// A leader election: one candidate of many does the work.
///
/// Each candidate creates an `Election` with the same name and calls [`Election::run`] or [`Election::every`]. The leader holds
/// the lock `NAME`; its term is the fence of the lock. If it resigns or ends, the next leader starts at once. If it dies, the
/// next leader starts after the rest of its lease.
///
/// The work of an old leader is stopped before another leader can start, *as long as its process runs*: a process that was
/// paused may do one more step before it learns that its term is over. Pass [`Term::fence`] to every action that an old leader
/// must not do.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), firstcome_lock::Error> {
/// use firstcome_lock::{Election, Locks};
///
/// let locks = Locks::memory();
/// let election = Election::new(&locks, "nightly")?;
/// let term = election.run(|term| async move { term.fence() }).await?;
/// assert!(term.get() > 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Election {
    locks: Locks,
    name: String,
    node: String,
    /// As it was set.
    lease: Option<Duration>,
    factor: Option<f64>,
    eligible: Arc<value::Sender<bool>>,
    /// Counts the calls of `resign`.
    resigned: Arc<value::Sender<u64>>,
    /// Why the last attempt to be elected failed; empty after it was elected.
    trouble: Arc<value::Sender<Option<Error>>>,
    standing: Arc<Standing>,
}

/// How a term ended.
enum Ended<T> {
    Done(T),
    Lost,
    Resigned,
}

impl Election {
    /// Creates a candidate for the election of this name.
    ///
    /// The default id of the node is the host name and a random part; [`Election::node`] sets another one.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] as for [`Locks::mutex`].
    pub fn new(locks: &Locks, name: &str) -> Result<Self, Error> {
        LockKeys::new(Kind::Plain, name)?;
        Ok(Self {
            locks: locks.clone(),
            name: name.to_owned(),
            node: format!("{}-{:08x}", host_name(), fastrand::u32(..)),
            lease: None,
            factor: None,
            eligible: Arc::new(value::Sender::new(true)),
            resigned: Arc::new(value::Sender::new(0)),
            trouble: Arc::new(value::Sender::new(None)),
            standing: Arc::default(),
        })
    }

    /// Sets the id of the node. It must be unique, also on the same host: the bare host name is refused when the candidate
    /// stands for election.
    #[must_use]
    pub fn node(mut self, id: impl Into<String>) -> Self {
        self.node = id.into();
        self
    }

    /// Sets the lease, 50 ms to 100 years, default 10 s. It is renewed each sixth of its length; each tenth if it is 3 s or
    /// shorter.
    ///
    /// After a leader died, there is no leader for at most this time. For [`Election::every`] the default is
    /// [`Election::factor`] intervals.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Sets the lease of [`Election::every`] in intervals, 1.2 to 10, default 3. With a store without messages
    /// ([`Locks::polls`]) it is at least 2, because such a store may be a disk that stalls for most of a short lease.
    #[must_use]
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = Some(factor);
        self
    }

    /// Returns the id of the node.
    #[must_use]
    pub fn node_id(&self) -> &str {
        &self.node
    }

    /// Sets whether this candidate stands for election. A leader that does not stand any more resigns.
    pub fn set_eligible(&self, eligible: bool) {
        self.eligible.send_replace(eligible);
    }

    /// Ends the term of this candidate, if it has one: its work is stopped, and another candidate may start at once.
    ///
    /// Copies of its [`Term`] end too. If there are copies, the next leader starts when they are dropped, at the latest when the
    /// lease ends. This candidate stands again after one lease, so that others come first.
    pub fn resign(&self) {
        self.resigned.send_modify(|times| *times += 1);
    }

    /// Returns the last error of the store that prevented an election of this candidate; `None` after it was elected.
    #[must_use]
    pub fn trouble(&self) -> Option<Error> {
        self.trouble.borrow().clone()
    }

    /// Follows the current leader.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the store does not answer now; later failures are retried.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn watch(&self) -> Result<Watch, Error> {
        Watch::start(self.locks.shared(), &self.name).await
    }

    /// Runs `work` whenever this candidate is leader, and gives the output of the work when it ends within its term.
    ///
    /// `work` is called once for each term. When the term is over, it is dropped at its next await, and this candidate stands
    /// again. The lock is released after the work has ended. Tasks with a copy of the [`Term`] learn of the end through
    /// [`Term::ended`].
    ///
    /// # Errors
    ///
    /// After a temporary error of the store (no answer, a failover, a full disk) it tries again, with pauses of at most 1 s. If
    /// the store has answered before, it also waits until an operator repairs an error: a removed right, a missing table.
    /// `docs/reference/store-errors.md` lists these error codes, and [`Election::trouble`] gives the current one. It returns
    /// the other errors:
    ///
    /// - an error that an operator must repair, if the store has never answered without it
    /// - [`Error::Closed`], [`Error::BareHostName`], [`Error::OutOfRange`] for the lease
    /// - [`Error::Store`] if a key of the election belongs to something else (`WRONGTYPE`), if the server is too old, if
    ///   its certificate is not valid, or if the code of its error is not in that list
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the work is dropped, all copies of the term end, then the lock is released.
    pub async fn run<T, W, F>(&self, work: W) -> Result<T, Error>
    where
        W: FnMut(Term) -> F,
        F: Future<Output = T>,
    {
        let lease = self.lease.unwrap_or(LEASE);
        within("a leader's lease", lease, LEAST_LEASE, LONGEST)?;
        self.lead(lease, work).await
    }

    /// Runs `work` at each interval, on one candidate at a time, as long as it is polled.
    ///
    /// The lease is that of [`Election::lease`], or [`Election::factor`] times the interval. A new leader begins at once. If the
    /// work takes longer than the interval, the next run is late; missed runs are not repeated.
    ///
    /// # Errors
    ///
    /// As [`Election::run`], and [`Error::Unfit`] for an impossible factor, or for a factor together with a lease. It ends
    /// only with an error.
    ///
    /// # Cancel safety
    ///
    /// As [`Election::run`].
    pub async fn every<W, F>(&self, interval: Duration, mut work: W) -> Result<Infallible, Error>
    where
        W: FnMut(Term) -> F,
        F: Future<Output = ()>,
    {
        within("an interval", interval, Duration::from_millis(1), LONGEST / 10)?;
        let lease = self.lease_of(interval)?;
        within("a leader's lease", lease, LEAST_LEASE, LONGEST)?;
        // A cell, because each term borrows the same work.
        let work = tokio::sync::Mutex::new(&mut work);
        let work = &work;
        self.lead(lease, |term| async move {
            let mut work = work.lock().await;
            let mut beat = tokio::time::interval(interval);
            beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                beat.tick().await;
                if term.is_valid() {
                    work(term.clone()).await;
                }
            }
        })
        .await
    }

    /// Returns the lease for work at this interval.
    fn lease_of(&self, interval: Duration) -> Result<Duration, Error> {
        let unfit = |reason: String| Error::Unfit {
            what: "the factor",
            reason,
            hint: "set a factor of 1.2 to 10, at least 2 where the store announces nothing, or a lease instead",
        };
        let least = if self.locks.polls() { LEAST_FACTOR_POLLING } else { LEAST_FACTOR };
        match (self.lease, self.factor) {
            (Some(_), Some(_)) => Err(unfit("the lease is set, too".to_owned())),
            (Some(lease), None) => Ok(lease),
            (None, Some(factor)) if !(least..=MOST_FACTOR).contains(&factor) => {
                Err(unfit(format!("{factor} is not within {least} to {MOST_FACTOR} at this store")))
            }
            (None, factor) => Ok(interval.mul_f64(factor.unwrap_or(FACTOR))),
        }
    }

    async fn lead<T, W, F>(&self, lease: Duration, mut work: W) -> Result<T, Error>
    where
        W: FnMut(Term) -> F,
        F: Future<Output = T>,
    {
        // Two processes on one host would be the same candidate to whoever reads who leads, and a process that was
        // started again the same as the one before it.
        if is_host_name(&self.node) {
            return Err(Error::BareHostName { host: self.node.clone() });
        }
        let candidacy = Candidacy::begin(&self.standing);
        let mut eligible = self.eligible.subscribe();
        let mut failures = 0;
        // Whether the store answered once: then whatever somebody has to mend was right before, and is waited for.
        let mut answered = false;
        loop {
            // The sender lives in this struct, so waiting cannot fail.
            drop(eligible.wait_for(|eligible| *eligible).await);
            let lock = self.locks.mutex(&self.name)?.renewed(lease);
            let mut resigned = self.resigned.subscribe();
            let elected = async {
                if !answered && let TryLock::Acquired(lease) = lock.try_lock().await? {
                    return Ok(lease);
                }
                answered = true;
                lock.lock().await
            };
            let elected = tokio::select! {
                elected = elected => elected,
                _ = eligible.wait_for(|eligible| !*eligible) => continue,
            };
            let held = match elected {
                Ok(held) => held,
                Err(failure) if self.ends_with(&failure, answered) => return Err(failure),
                Err(failure) => {
                    self.trouble.send_replace(Some(failure));
                    tokio::time::sleep(pause(failures)).await;
                    failures += 1;
                    continue;
                }
            };
            (failures, answered) = (0, true);
            self.trouble.send_replace(None);
            // Stepping back before there was anything to step back from means nothing.
            resigned.borrow_and_update();
            let term = CurrentTerm::begin(held, &self.node);
            candidacy.leads(term.lease());
            let ended = self.serve(&term, &mut work, &mut resigned, &mut eligible).await;
            let resigned = matches!(ended, Ended::Resigned);
            self.step_down(term, matches!(ended, Ended::Done(_))).await;
            match ended {
                Ended::Done(output) => return Ok(output),
                Ended::Lost | Ended::Resigned => {}
            }
            if resigned {
                tokio::select! {
                    () = tokio::time::sleep(lease) => {}
                    () = self.locks.shared().closed() => {}
                }
            }
        }
    }

    /// Says whether an error ends the candidacy.
    fn ends_with(&self, failure: &Error, answered: bool) -> bool {
        match failure.passes() {
            _ if self.locks.shared().mistakes.makes(Mistake::EndElectionOnError) => true,
            Passes::ByItself => false,
            Passes::OnceMended => !answered,
            Passes::Never => true,
        }
    }

    /// Runs the work as long as the term lasts.
    async fn serve<T, W, F>(
        &self,
        current: &CurrentTerm,
        work: &mut W,
        resigned: &mut value::Receiver<u64>,
        eligible: &mut value::Receiver<bool>,
    ) -> Ended<T>
    where
        W: FnMut(Term) -> F,
        F: Future<Output = T>,
    {
        let lease = current.term().lease();
        let record = Record { node: self.node.clone(), term: lease.fence().get() };
        let shared = self.locks.shared();
        let serve = async {
            // Those who watch may wait; the work may not. Without an answer they find out by looking.
            let announce = async {
                drop(shared.backend.announce(&self.name, &record, lease.owner()).await);
                std::future::pending::<Infallible>().await
            };
            let work = work(current.term().clone());
            tokio::select! {
                output = work => output,
                never = announce => match never {},
            }
        };
        tokio::select! {
            biased;
            _ = resigned.changed() => Ended::Resigned,
            _ = eligible.wait_for(|eligible| !*eligible) => Ended::Resigned,
            served = lease.while_valid(serve) => match served {
                Ok(output) => Ended::Done(output),
                Err(_) => Ended::Lost,
            },
        }
    }

    /// Releases the lock and notifies watchers.
    async fn step_down(&self, term: CurrentTerm, done: bool) {
        let record = Record { node: self.node.clone(), term: term.term().fence().get() };
        let owner = term.term().lease().owner().to_owned();
        if matches!(term.end(done).await, Ok(Released::Free)) {
            // The same record again: its owner no longer holds the lock, so it names nobody.
            let shared = self.locks.shared();
            drop(shared.backend.announce(&self.name, &record, &owner).await);
        }
    }
}

/// Says whether an id is the host name, with or without its domain.
fn is_host_name(id: &str) -> bool {
    let host = host_name();
    let first = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    id.eq_ignore_ascii_case("localhost")
        || first(id) == first(&host) && !id.contains([':', '@', '/'])
}

/// Returns the host name; `node` if the operating system has none.
fn host_name() -> String {
    firstcome_store::client::host_name().unwrap_or_else(|| "node".to_owned())
}
