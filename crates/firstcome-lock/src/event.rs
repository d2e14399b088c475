//! Events of the locks of a client.

pub(crate) mod events;
pub(crate) mod teller;
#[cfg(feature = "tracing")]
pub(crate) mod trace;

use std::fmt;
use std::time::Duration;

use crate::fence::Fence;
use crate::lease::loss::Loss;
use crate::release::released::Released;

/// An event of a lock, a term or the store of a client: see [`Locks::events`](crate::Locks::events).
///
/// The events of one lease are: [`Event::Waiting`] if its caller had to wait; [`Event::Acquired`] when the caller has it;
/// [`Event::RenewedLate`] each time that happens; [`Event::Lost`] at most once; [`Event::Released`] when it was released, lost
/// or not. There is no event for a lock that no caller got: a grant that came too late, or one of several locks that could not
/// be taken together.
///
/// Times are those of the monotonic clock of this process. `Display` is a sentence for people; it may change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A caller found the lock taken, or other waiters before it, and begins to wait; once for each call.
    ///
    /// No event follows if it gives up, or if its time is over.
    #[non_exhaustive]
    Waiting {
        /// The lock; of several locks together, the one that was taken.
        name: String,
    },
    /// A caller has the lock; also each time an [`Owner`](crate::Owner) takes it again.
    #[non_exhaustive]
    Acquired {
        /// The lock.
        name: String,
        /// The fence of this lease.
        fence: Fence,
        /// The time from the call to the lease, with the requests to the store.
        waited: Duration,
    },
    /// A renewal was confirmed when the next one was already due. The lease is still valid: this is a warning.
    ///
    /// If the store was silent for about the same time, the store or the network was slow. If it was silent for much less, this
    /// process or its machine was paused.
    #[non_exhaustive]
    RenewedLate {
        /// The lock.
        name: String,
        /// The fence of this lease.
        fence: Fence,
        /// How late it was. It was due a sixth of the lease after the last renewal; a tenth if the lease is 3 s or
        /// shorter.
        late: Duration,
        /// How long the store did not answer a renewal, from the first one without an answer.
        silent: Duration,
    },
    /// The lease is not valid any more.
    #[non_exhaustive]
    Lost {
        /// The lock.
        name: String,
        /// The fence of this lease.
        fence: Fence,
        /// The reason.
        loss: Loss,
        /// How long the store did not answer a renewal; zero if it answered the last one, also with a refusal, or if there
        /// was none.
        silent: Duration,
    },
    /// A lease was released, by a call or a drop.
    ///
    /// Not if [`Locks::close`](crate::Locks::close) ended the lease, and not if it was leaked.
    #[non_exhaustive]
    Released {
        /// The lock.
        name: String,
        /// The fence of this lease.
        fence: Fence,
        /// The result; `None` if the store did not answer, so that the lock may stay taken until the lease ends.
        released: Option<Released>,
    },
    /// A candidate became leader. There is also an [`Event::Acquired`] for its lock.
    #[non_exhaustive]
    TermWon {
        /// The election, which is the name of its lock.
        election: String,
        /// The candidate.
        node: String,
        /// The number of the term, which is the fence of the lock.
        term: Fence,
    },
    /// A candidate is leader no more; once for each term. If the lock was lost, [`Event::Lost`] comes first.
    #[non_exhaustive]
    TermLost {
        /// The election.
        election: String,
        /// The candidate.
        node: String,
        /// The number of the term.
        term: Fence,
        /// The reason; [`Loss::GivenBack`] if it resigned, was dropped, or its work is done.
        loss: Loss,
        /// How long the store did not answer a renewal; zero if it answered the last one.
        silent: Duration,
    },
    /// The store did not answer a request in time, or cannot be reached, and answered no other request since this one was sent.
    #[non_exhaustive]
    StoreSilent {
        /// For how long already, from the time that request was sent.
        silent: Duration,
    },
    /// The store answers again, after [`Event::StoreSilent`].
    #[non_exhaustive]
    StoreBack {
        /// How long it did not answer.
        silent: Duration,
    },
    /// This reader was too slow: the oldest events were dropped before it read them.
    #[non_exhaustive]
    Missed {
        /// How many, including events that this reader would have skipped.
        events: u64,
    },
}

impl Event {
    /// Returns its stable name, for logs and metrics: the name of the variant, such as `renewed_late`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Waiting { .. } => "waiting",
            Self::Acquired { .. } => "acquired",
            Self::RenewedLate { .. } => "renewed_late",
            Self::Lost { .. } => "lost",
            Self::Released { .. } => "released",
            Self::TermWon { .. } => "term_won",
            Self::TermLost { .. } => "term_lost",
            Self::StoreSilent { .. } => "store_silent",
            Self::StoreBack { .. } => "store_back",
            Self::Missed { .. } => "missed",
        }
    }

    /// Returns the name of the lock or the election; `None` for an event of the store or the reader.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Waiting { name }
            | Self::Acquired { name, .. }
            | Self::RenewedLate { name, .. }
            | Self::Lost { name, .. }
            | Self::Released { name, .. } => Some(name),
            Self::TermWon { election, .. } | Self::TermLost { election, .. } => Some(election),
            Self::StoreSilent { .. } | Self::StoreBack { .. } | Self::Missed { .. } => None,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting { name } => write!(f, "somebody waits for the lock {name}"),
            Self::Acquired { name, fence, waited } => {
                write!(f, "the lock {name} was had after {}, fence {fence}", Short(*waited))
            }
            Self::RenewedLate { name, late, silent, .. } => {
                write!(f, "the lock {name} was renewed {} late{}", Short(*late), Silent(*silent))
            }
            Self::Lost { name, loss, silent, .. } => {
                write!(f, "the lock {name} is lost: {loss}{}", Silent(*silent))
            }
            Self::Released { name, released, .. } => {
                write!(f, "the lock {name} was given back: ")?;
                match released {
                    Some(Released::Free) => f.write_str("it is free, or the next one's"),
                    Some(Released::StillHeld { holds }) => {
                        write!(f, "its owner still has it {holds} times")
                    }
                    Some(Released::AlreadyLost) => f.write_str("it had been lost before"),
                    None => f.write_str("the store did not say that it is free"),
                }
            }
            Self::TermWon { election, node, term } => {
                write!(f, "{node} leads {election}, term {term}")
            }
            Self::TermLost { election, node, term, loss, silent } => {
                write!(f, "{node} leads {election} no more, term {term}: {loss}{}", Silent(*silent))
            }
            Self::StoreSilent { .. } => f.write_str("the store does not answer"),
            Self::StoreBack { silent } => {
                write!(f, "the store answers again; it had not for {}", Short(*silent))
            }
            Self::Missed { events } => write!(f, "{events} events were missed"),
        }
    }
}

/// A time for people, in whole milliseconds.
struct Short(Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        write!(f, "{:?}", Duration::from_millis(millis))
    }
}

/// How long the store did not answer; empty if it did.
struct Silent(Duration);

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_zero() {
            return Ok(());
        }
        write!(f, "; the store had not answered for {}", Short(self.0))
    }
}
