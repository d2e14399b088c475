//! When the store of a client answered last, and since when it does not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use firstcome_store::Failure;
use tokio::time::Instant;

use crate::error::Error;
use crate::event::Event;
use crate::teller::Teller;

/// When the store answered last, and since when it does not.
#[derive(Debug)]
pub(crate) struct Contact {
    state: Mutex<State>,
    teller: Arc<Teller>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// When it answered last, a refusal among the answers; at first, when the client was made.
    answered: Instant,
    /// When the first request was sent that has not been answered, nor any since.
    silent_since: Option<Instant>,
}

impl Contact {
    pub(crate) fn new(teller: &Arc<Teller>) -> Self {
        let state = State { answered: Instant::now(), silent_since: None };
        Self { state: Mutex::new(state), teller: Arc::clone(teller) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change under this lock is a plain assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives how long ago the store answered last.
    pub(crate) fn ago(&self) -> Duration {
        self.state().answered.elapsed()
    }

    /// Gives for how long it has not answered what it was asked; zero while it does.
    pub(crate) fn silent(&self) -> Duration {
        self.state().silent_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Notes what came of a request that was sent then.
    pub(crate) fn note(&self, sent: Instant, failure: Option<&Error>) {
        match failure {
            Some(failure) if is_silence(failure) => self.unanswered(sent),
            Some(Error::Store(Failure::Closed)) => {}
            Some(_) | None => self.answered(),
        }
    }

    fn answered(&self) {
        let silent_since = {
            let mut state = self.state();
            state.answered = Instant::now();
            state.silent_since.take()
        };
        if let Some(since) = silent_since {
            self.teller.tell(|| Event::StoreBack { silent: since.elapsed() });
        }
    }

    /// Notes that there was no answer, in time, to a request that was sent then.
    pub(crate) fn unanswered(&self, sent: Instant) {
        {
            let mut state = self.state();
            // Where it has answered something else meanwhile it is not silent.
            if state.silent_since.is_some() || state.answered > sent {
                return;
            }
            state.silent_since = Some(sent);
        }
        self.teller.tell(|| Event::StoreSilent { silent: sent.elapsed() });
    }
}

/// Tells whether a failure is that nothing was heard of the store.
pub(crate) fn is_silence(failure: &Error) -> bool {
    use Failure::{NoTls, Tls, Unknown, Unreachable};
    matches!(failure, Error::Store(Unreachable { .. } | Unknown { .. } | Tls { .. } | NoTls { .. }))
}
