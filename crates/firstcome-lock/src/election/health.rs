//! How a candidate stands: whether it leads, and when it was last in touch with the store.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::Election;
use crate::events::Events;
use crate::fence::Fence;
use crate::lease::Lease;

/// How a candidate stands.
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

    /// Notes that it leads with this lease.
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
    /// Gives the number of the term in which this candidate leads, for as long as its lease can be relied on; `None` where it
    /// does not lead.
    ///
    /// Asks nobody. Who leads where it is another one, [`Election::watch`] tells.
    #[must_use]
    pub fn term(&self) -> Option<Fence> {
        self.standing.term()
    }

    /// Gives how long ago the store last answered this candidate's client, with a refusal too; of a client that was never
    /// answered since it was made, how long ago that was.
    ///
    /// A leader asks each sixth of its lease, a tenth where that is 3 s or shorter. A follower asks when the leader's lease
    /// should have ended, so about once in a lease, and hears by message of what is sooner; whoever has a
    /// [`Watch`](crate::Watch) asks as often, at least each 30 s. Every other request of the client counts as well.
    #[must_use]
    pub fn contact(&self) -> Duration {
        self.locks.shared().backend.contact().ago()
    }

    /// Gives for how long the store has not answered what this candidate's client asked; zero while it answers, and while
    /// nothing is asked.
    #[must_use]
    pub fn silent(&self) -> Duration {
        self.locks.shared().backend.contact().silent()
    }

    /// Tells whether this candidate does its part: it leads with a lease that can be relied on, or it stands for election and
    /// the store answered at most `tolerance` ago, see [`Election::contact`].
    ///
    /// For a probe of the process. A follower asks about once in a lease, so the tolerance is best two leases or more. `false`
    /// where neither [`Election::run`] nor [`Election::every`] is under way. A store that answers with a refusal is in
    /// contact all the same: [`Election::trouble`] says what it refuses. One that is not
    /// [eligible](Election::set_eligible) asks nothing by itself, and needs a [`Watch`](crate::Watch).
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

    /// Gives what happens from now on to this candidate's lock and terms, and to the store of its client: what
    /// [`Locks::events`](crate::Locks::events) gives of the name of this election.
    ///
    /// # Examples
    ///
    /// What is to be done when a term is won or lost, beside the work:
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
