//! What is told of the locks of a client.

use std::fmt;
use std::time::Duration;

use crate::fence::Fence;
use crate::loss::Loss;
use crate::released::Released;

/// What happened to a lock, a term or the store of a client: see [`Locks::events`](crate::Locks::events).
///
/// One life of a lease is told so: [`Event::Waiting`] where its caller had to wait, [`Event::Acquired`] when the caller has it,
/// [`Event::RenewedLate`] as often as that happens, [`Event::Lost`] at most once, [`Event::Released`] when it was given back,
/// lost or not. What no caller was given is not told: a grant that came too late, or one of several locks that were not had
/// together.
///
/// Times are those of this process's monotonic clock. Its `Display` is a sentence for people; it may change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A caller found the lock taken, or others before it in line, and waits from now on; once for each call.
    ///
    /// Nothing follows where it gives up, or its time is over.
    #[non_exhaustive]
    Waiting {
        /// The lock; of several that are asked for together the one that was taken.
        name: String,
    },
    /// A caller has the lock; an [`Owner`](crate::Owner) who takes it again is told again.
    #[non_exhaustive]
    Acquired {
        /// The lock.
        name: String,
        /// The fence it was taken under.
        fence: Fence,
        /// From the call to the lease, requests to the store among them.
        waited: Duration,
    },
    /// A renewal was confirmed when the next one was due already, or later. The lease is still good: it is a warning.
    ///
    /// With the store silent for about as long, the store or the network was slow; with the store silent for much less,
    /// this process or its machine stood still.
    #[non_exhaustive]
    RenewedLate {
        /// The lock.
        name: String,
        /// The fence it was taken under.
        fence: Fence,
        /// How long after its time, which is a sixth of the lease after the renewal before, a tenth where the lease is 3 s
        /// or shorter.
        late: Duration,
        /// How long the store had not answered a renewal: from when the first of them was sent.
        silent: Duration,
    },
    /// The lease can no longer be relied on.
    #[non_exhaustive]
    Lost {
        /// The lock.
        name: String,
        /// The fence it was taken under.
        fence: Fence,
        /// Why.
        loss: Loss,
        /// How long the store had not answered a renewal; zero where it had answered the last one, be it with a refusal, or was
        /// asked for none.
        silent: Duration,
    },
    /// A lease was given back, by hand or by a drop.
    ///
    /// It is not told of a lease that [`Locks::close`](crate::Locks::close) ended, nor of one that was leaked.
    #[non_exhaustive]
    Released {
        /// The lock.
        name: String,
        /// The fence it was taken under.
        fence: Fence,
        /// What became of it; `None` where the store did not say, so that it may stay taken until the lease is over.
        released: Option<Released>,
    },
    /// A candidate leads. Its lock is told, too, with [`Event::Acquired`].
    #[non_exhaustive]
    TermWon {
        /// The election, which is the name of its lock.
        election: String,
        /// The candidate.
        node: String,
        /// The number of the term, the fence of the lock.
        term: Fence,
    },
    /// A candidate leads no more; once for each term that was won. Where the lock was lost, [`Event::Lost`] is told before.
    #[non_exhaustive]
    TermLost {
        /// The election.
        election: String,
        /// The candidate.
        node: String,
        /// The number of the term.
        term: Fence,
        /// Why; [`Loss::GivenBack`] where it resigned, was dropped, or its work is done.
        loss: Loss,
        /// How long the store had not answered a renewal; zero where it had answered the last one.
        silent: Duration,
    },
    /// The store did not answer a request in time, or cannot be reached, and has answered nothing else since it was sent.
    #[non_exhaustive]
    StoreSilent {
        /// For how long already: from when that request was sent.
        silent: Duration,
    },
    /// The store answers again, after [`Event::StoreSilent`].
    #[non_exhaustive]
    StoreBack {
        /// How long it had not.
        silent: Duration,
    },
    /// This reader was so slow that events were dropped which it has not seen, older than those that follow.
    #[non_exhaustive]
    Missed {
        /// How many, with those that this reader would not have been given.
        events: u64,
    },
}

impl Event {
    /// Gives its stable name, for logs and metrics: that of the variant, as `renewed_late`.
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

    /// Gives the lock or the election it is about; `None` where it is about the store or the reader.
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

/// How long the store had not answered, where it had not.
struct Silent(Duration);

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_zero() {
            return Ok(());
        }
        write!(f, "; the store had not answered for {}", Short(self.0))
    }
}
