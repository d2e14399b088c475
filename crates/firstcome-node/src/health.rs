//! Whether this node's state may be answered from, and what is wrong if not.

use crate::error::CommandError;
use firstcome_inject::{Mistake, inject};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How old an exchange may be that answers from memory rest on.
pub const FRESH: Duration = Duration::from_secs(1);
/// How long commands are still taken after the state stopped being fresh.
pub const GRACE: Duration = Duration::from_secs(5);

/// How the exchange with the journal goes.
#[derive(Debug)]
pub struct Health {
    observed: Mutex<Observed>,
    /// When the exchange was sent after which this node had applied all there was; none where this
    /// node is the only one that writes.
    caught_up: Option<watch::Sender<Instant>>,
}

#[derive(Debug, Default)]
struct Observed {
    /// When the exchange under way was sent.
    sent: Option<Instant>,
    /// What went wrong since the last exchange that succeeded, and since when.
    trouble: Option<(Instant, CommandError, String)>,
    /// What commands get since this node applies nothing any more, and why that is.
    stopped: Option<(CommandError, String)>,
}

/// What [`Health`] comes down to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The state is fresh: it may be answered from.
    Fresh,
    /// It is not, since less than five seconds: commands are still tried.
    Stale(String),
    /// It has not been for five seconds: commands get this answer at once.
    Lost(CommandError, String),
}

impl Health {
    /// Begins with a node that has just applied all there is, asked for at `asked`.
    ///
    /// `several` says whether others write to the journal too.
    pub(crate) fn new(several: bool, asked: Instant) -> Self {
        let caught_up = several.then(|| watch::Sender::new(asked));
        Self { observed: Mutex::default(), caught_up }
    }

    /// Says whether others write to the journal too.
    pub(crate) fn several(&self) -> bool {
        self.caught_up.is_some()
    }

    /// Returns the condition now.
    ///
    /// Where others write too, the state is fresh as of the last exchange that brought all there
    /// was. The embedded store has one writer, this process: its state is the newest there is while
    /// appends are answered within a second.
    pub fn condition(&self) -> Condition {
        let observed = self.lock();
        if let Some((failure, why)) = &observed.stopped {
            return Condition::Lost(failure.clone(), why.clone());
        }
        if let Some((since, failure, why)) = &observed.trouble {
            if since.elapsed() < GRACE {
                return Condition::Stale(why.clone());
            }
            return Condition::Lost(failure.clone(), why.clone());
        }
        let silence = match &self.caught_up {
            Some(caught_up) => caught_up.borrow().elapsed(),
            None => observed.sent.map_or(Duration::ZERO, |sent| sent.elapsed()),
        };
        let why = || {
            "the journal does not answer: see that its store, or the disk of the data folder, works; it goes on by itself"
                .to_owned()
        };
        if silence >= FRESH + GRACE {
            return Condition::Lost(CommandError::Unavailable(why()), why());
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
        let mut observed = self.lock();
        observed.sent = None;
        observed.trouble = None;
    }

    /// Notes that all there was is applied, as of an exchange sent at `asked`.
    pub(crate) fn caught_up(&self, asked: Instant) {
        if let Some(caught_up) = &self.caught_up {
            caught_up.send_if_modified(|last| {
                let later = *last < asked;
                *last = asked.max(*last);
                later
            });
        }
    }

    /// Waits until all there is at a moment is applied; where this node alone writes, that is now.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub(crate) async fn catches_up_with(&self, moment: Instant) {
        if let Some(caught_up) = &self.caught_up {
            let older = if inject(Mistake::BarrierByOlderLook) { FRESH } else { Duration::ZERO };
            let moment = moment.checked_sub(older).unwrap_or(moment);
            // The sender lives in this struct, so waiting ends with the moment or with the caller.
            drop(caught_up.subscribe().wait_for(|asked| *asked >= moment).await);
        }
    }

    pub(crate) fn trouble(&self, failure: CommandError, why: String) {
        let mut observed = self.lock();
        observed.sent = None;
        let since = observed.trouble.as_ref().map_or_else(Instant::now, |(since, ..)| *since);
        observed.trouble = Some((since, failure, why));
    }

    pub(crate) fn stopped(&self, failure: CommandError, why: String) {
        self.lock().stopped = Some((failure, why));
    }

    /// Takes back [`Health::stopped`].
    pub(crate) fn goes_on(&self) {
        self.lock().stopped = None;
    }

    fn lock(&self) -> MutexGuard<'_, Observed> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
