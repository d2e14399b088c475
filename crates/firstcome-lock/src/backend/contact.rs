//! When the store of a client answered last, and since when it does not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use firstcome_store::StoreError;
use tokio::time::Instant;

use crate::error::Error;
use crate::event::Event;
use crate::event::teller::Teller;

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

    /// Returns how long ago the store answered last.
    pub(crate) fn ago(&self) -> Duration {
        self.state().answered.elapsed()
    }

    /// Returns for how long it has not answered what it was asked; zero while it does.
    pub(crate) fn silent(&self) -> Duration {
        self.state().silent_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Notes what came of a request that was sent then.
    pub(crate) fn note(&self, sent: Instant, failure: Option<&Error>) {
        match failure {
            Some(failure) if is_silence(failure) => self.unanswered(sent),
            Some(Error::Store(StoreError::Closed)) => {}
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
    use StoreError::{NoTls, Tls, Unknown, Unreachable};
    matches!(failure, Error::Store(Unreachable { .. } | Unknown { .. } | Tls { .. } | NoTls { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::events::Events;

    fn no_answer() -> Error {
        let (place, reason) = ("the store".to_owned(), "a time-out".to_owned());
        StoreError::Unknown { place, reason }.into()
    }

    /// Of two requests under way together one is answered and the other is not: which is known first makes no difference.
    #[tokio::test(start_paused = true)]
    async fn a_store_that_answered_something_else_since_is_not_silent() {
        let teller = Arc::default();
        let (contact, mut events) = (Contact::new(&teller), Events::of(&teller, None));
        let sent = Instant::now();
        tokio::time::advance(Duration::from_secs(2)).await;
        contact.note(Instant::now(), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        contact.note(sent, Some(&no_answer()));
        assert_eq!((contact.silent(), contact.ago().as_secs()), (Duration::ZERO, 1));

        // In contrast, one that was sent after that answer.
        let sent = Instant::now();
        tokio::time::advance(Duration::from_secs(3)).await;
        contact.note(sent, Some(&no_answer()));
        contact.note(Instant::now(), Some(&no_answer()));
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!((contact.silent().as_secs(), contact.ago().as_secs()), (7, 8));
        // A refusal is an answer.
        let full = StoreError::Refused { code: "MISCONF".to_owned(), detail: "full".to_owned() };
        contact.note(sent, Some(&full.into()));
        assert_eq!((contact.silent(), contact.ago()), (Duration::ZERO, Duration::ZERO));
        let told = [events.next().await.unwrap(), events.next().await.unwrap()];
        assert_eq!(told.each_ref().map(Event::as_str), ["store_silent", "store_back"]);
        assert_eq!(told[1].to_string(), "the store answers again; it had not for 7s");
        teller.end();
        assert_eq!(events.next().await, None, "each was told once");
    }
}
