//! One term of a leader.

use std::convert::Infallible;
use std::sync::{Arc, Weak};

use tokio::sync::mpsc;

use crate::error::Error;
use crate::event::Event;
use crate::fence::Fence;
use crate::lease::Lease;
use crate::lease::loss::Loss;
use crate::release::released::Released;

/// One term of a leader, given to the work.
///
/// Cheap to clone, for tasks that the work starts: they should stop and drop their copy when [`Term::ended`] resolves, or when
/// [`Term::is_valid`] is false. A copy that is kept renews nothing; it can only delay the next leader until the lease ends.
#[derive(Debug, Clone)]
pub struct Term {
    lease: Arc<Lease>,
    node: String,
    /// Closes the channel when the last copy is dropped.
    #[expect(dead_code, reason = "it is dropped, and nothing is ever sent")]
    copy: mpsc::Sender<Infallible>,
}

impl Term {
    /// Returns the number of this term: higher than that of every earlier term.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.lease.fence()
    }

    /// Returns the node that leads: this one.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns the lease, for guarded writes.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Says whether the term is still valid; see [`Lease::is_valid`].
    ///
    /// False for every copy after the term is over, for any reason.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.lease.is_valid()
    }

    /// Waits until the term is over, and gives the reason: it was lost, or the candidate resigned, was dropped or is done
    /// ([`Loss::GivenBack`]).
    ///
    /// It resolves before another candidate can lead.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe. A later call sees the same outcome.
    pub async fn ended(&self) -> Loss {
        self.lease.lost().await
    }
}

/// The term of the leading candidate; dropping this ends all copies.
#[derive(Debug)]
pub(super) struct CurrentTerm {
    term: Term,
    end: End,
    /// Ends when the last copy is dropped.
    copies: mpsc::Receiver<Infallible>,
}

/// Ends the term when it is dropped, and reports that; the last copy then releases the lock.
#[derive(Debug)]
struct End {
    lease: Arc<Lease>,
    node: String,
}

impl Drop for End {
    fn drop(&mut self) {
        let Self { lease, node } = self;
        lease.end();
        let (loss, silent) = lease.ended();
        lease.teller().tell(|| Event::TermLost {
            election: lease.name().to_owned(),
            node: node.clone(),
            term: lease.fence(),
            loss: loss.unwrap_or(Loss::GivenBack),
            silent,
        });
    }
}

impl CurrentTerm {
    pub(super) fn begin(lease: Lease, node: &str) -> Self {
        let (copy, copies) = mpsc::channel(1);
        let lease = Arc::new(lease);
        lease.teller().tell(|| Event::TermWon {
            election: lease.name().to_owned(),
            node: node.to_owned(),
            term: lease.fence(),
        });
        let term = Term { lease: Arc::clone(&lease), node: node.to_owned(), copy };
        Self { term, end: End { lease, node: node.to_owned() }, copies }
    }

    pub(super) fn term(&self) -> &Term {
        &self.term
    }

    /// Returns the lease, as long as it exists.
    pub(super) fn lease(&self) -> Weak<Lease> {
        Arc::downgrade(&self.end.lease)
    }

    /// Ends the term and releases the lock: at once if the work is `done`, otherwise when there is no copy of the term any more,
    /// and at the latest when the lease ends.
    pub(super) async fn end(self, done: bool) -> Result<Released, Error> {
        let Self { term, end, mut copies } = self;
        let lease = Arc::clone(&end.lease);
        drop((term, end));
        if !done {
            tokio::select! {
                never = copies.recv() => if let Some(never) = never { match never {} },
                () = lease.over() => {}
            }
        }
        lease.release_for_all().await
    }
}
