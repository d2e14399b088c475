//! The state of a candidate: whether it leads, and when the store last answered.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::Election;
use crate::event::events::Events;
use crate::fence::Fence;
use crate::lease::Lease;

/// The state of a candidate.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// How many calls stand for election.
    candidacies: AtomicUsize,
    /// The lease of the last term.
    term: Mutex<Weak<Lease>>,
}

/// A call that stands for election, until it is dropped.
#[derive(Debug)]
pub(super) struct Candidacy(Arc<Standing>);

impl Candidacy {
    pub(super) fn begin(standing: &Arc<Standing>) -> Self {
        standing.candidacies.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(standing))
    }

    /// Records that it leads with this lease.
    pub(super) fn leads(&self, lease: Weak<Lease>) {
        *self.0.term.lock().unwrap_or_else(PoisonError::into_inner) = lease;
    }
}

impl Drop for Candidacy {
    fn drop(&mut self) {
        self.0.candidacies.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Standing {
    fn stands(&self) -> bool {
        self.candidacies.load(Ordering::Acquire) > 0
    }

    fn term(&self) -> Option<Fence> {
        let lease = self.term.lock().unwrap_or_else(PoisonError::into_inner).upgrade()?;
        lease.is_valid().then(|| lease.fence())
    }
}

impl Election {
    /// Returns the number of the term in which this candidate leads, while its lease is valid; `None` if it does not lead.
    ///
    /// It sends no request. [`Election::watch`] gives the leader if it is another candidate.
    #[must_use]
    pub fn term(&self) -> Option<Fence> {
        self.standing.term()
    }

    /// Returns the time since the last answer of the store to this candidate's client, also with a refusal. Without any answer, it
    /// is the time since the client was created.
    ///
    /// A leader sends a request each sixth of its lease; each tenth if it is 3 s or shorter. A follower sends one when the
    /// leader's lease should have ended, about once per lease; messages report earlier changes. A [`Watch`](crate::Watch) sends
    /// requests as often, at least every 30 s. Every other request of the client counts too.
    #[must_use]
    pub fn contact(&self) -> Duration {
        self.locks.shared().backend.contact().ago()
    }

    /// Returns for how long the store has not answered requests of this candidate's client; zero while it answers, and while there
    /// is no request.
    #[must_use]
    pub fn silent(&self) -> Duration {
        self.locks.shared().backend.contact().silent()
    }

    /// Says whether this candidate is healthy: it leads with a valid lease, or it stands for election and the store answered at
    /// most `tolerance` ago (see [`Election::contact`]).
    ///
    /// Use it for a health probe of the process. A follower sends about one request per lease, so the tolerance should be two
    /// leases or more. `false` if neither [`Election::run`] nor [`Election::every`] is running. A refusal of the store counts as
    /// an answer: see [`Election::trouble`]. A candidate that is not [eligible](Election::set_eligible) sends no requests by
    /// itself, and needs a [`Watch`](crate::Watch).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), firstcome_lock::Error> {
    /// use std::time::Duration;
    /// use firstcome_lock::{Election, Locks};
    ///
    /// let election = Election::new(&Locks::memory(), "nightly")?.lease(Duration::from_secs(10));
    /// assert!(!election.healthy(Duration::from_secs(20)), "it does not stand yet");
    /// let probe = &election;
    /// election.run(|_| async move { assert!(probe.healthy(Duration::from_secs(20))) }).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn healthy(&self, tolerance: Duration) -> bool {
        self.term().is_some() || self.standing.stands() && self.contact() <= tolerance
    }

    /// Returns the events of this candidate's lock and terms, and of the store of its client, from now on: the events of
    /// [`Locks::events`](crate::Locks::events) with the name of this election.
    ///
    /// # Examples
    ///
    /// Actions when a term is won or lost, next to the work:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), firstcome_lock::Error> {
    /// use firstcome_lock::{Election, Event, Locks};
    ///
    /// let locks = Locks::memory();
    /// let election = Election::new(&locks, "nightly")?;
    /// let mut events = election.events();
    /// let told = tokio::spawn(async move {
    ///     while let Some(event) = events.next().await {
    ///         match event {
    ///             Event::TermWon { term, .. } => println!("won term {term}"),
    ///             Event::TermLost { term, loss, .. } => return (term, loss),
    ///             _ => {}
    ///         }
    ///     }
    ///     unreachable!("the term ends before the client is closed")
    /// });
    /// let term = election.run(|term| async move { term.fence() }).await?;
    /// assert_eq!(told.await.unwrap(), (term, firstcome_lock::Loss::GivenBack));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn events(&self) -> Events {
        Events::of(&self.locks.shared().teller, Some(self.name.clone()))
    }
}
