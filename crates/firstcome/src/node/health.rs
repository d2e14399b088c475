//! Whether this node's state may be answered from, and what is wrong if not.

use crate::answer::Failure;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How old an exchange may be that answers from memory rest on.
pub const FRESH: Duration = Duration::from_secs(1);
/// How long commands are still taken after the state stopped being fresh.
pub const GRACE: Duration = Duration::from_secs(5);

/// How the exchange with the journal goes.
#[derive(Debug, Default)]
pub struct Health {
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    /// When the exchange under way was sent.
    sent: Option<Instant>,
    /// What went wrong since the last exchange that succeeded, and since when.
    trouble: Option<(Instant, Failure, String)>,
    /// Why this node applies nothing any more.
    stopped: Option<String>,
}

/// What [`Health`] comes down to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The state is fresh: it may be answered from.
    Fresh,
    /// It is not, since less than five seconds: commands are still tried.
    Stale(String),
    /// It has not been for five seconds: commands get this answer at once.
    Lost(Failure, String),
}

impl Health {
    /// Gives the condition now.
    ///
    /// The embedded store has one writer, this process: its state is the newest there is while
    /// appends are answered within a second.
    pub fn condition(&self) -> Condition {
        let inside = self.lock();
        if let Some(why) = &inside.stopped {
            return Condition::Lost(Failure::Unavailable(why.clone()), why.clone());
        }
        if let Some((since, failure, why)) = &inside.trouble {
            if since.elapsed() < GRACE {
                return Condition::Stale(why.clone());
            }
            return Condition::Lost(failure.clone(), why.clone());
        }
        let silence = inside.sent.map_or(Duration::ZERO, |sent| sent.elapsed());
        let why = || "the journal does not answer".to_owned();
        if silence >= FRESH + GRACE {
            return Condition::Lost(Failure::Unavailable(why()), why());
        }
        if silence >= FRESH {
            return Condition::Stale(why());
        }
        Condition::Fresh
    }

    /// Says whether something went wrong since the last exchange that succeeded.
    pub(crate) fn in_trouble(&self) -> bool {
        self.lock().trouble.is_some()
    }

    pub(crate) fn sent(&self, now: Instant) {
        self.lock().sent = Some(now);
    }

    pub(crate) fn answered(&self) {
        let mut inside = self.lock();
        inside.sent = None;
        inside.trouble = None;
    }

    pub(crate) fn trouble(&self, failure: Failure, why: String) {
        let mut inside = self.lock();
        inside.sent = None;
        let since = inside.trouble.as_ref().map_or_else(Instant::now, |(since, ..)| *since);
        inside.trouble = Some((since, failure, why));
    }

    pub(crate) fn stopped(&self, why: String) {
        self.lock().stopped = Some(why);
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
