//! Which run of a server answers: after a failover or a restart it is another one.

use crate::error::JournalError;
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;

/// The run of the server that was seen last.
///
/// A run is known by when its process started, in microseconds: a standby that took over has another time, and so has a
/// server that was started again. It comes with each answer, so that it is also noticed behind a pooler.
#[derive(Debug)]
pub(crate) struct Run {
    seen: Mutex<i64>,
    times: watch::Sender<u64>,
}

impl Run {
    /// Begins with the run that was seen when the journal was opened.
    pub(crate) fn new(seen: i64) -> Self {
        Self { seen: Mutex::new(seen), times: watch::Sender::new(0) }
    }

    /// Returns the run that was seen last.
    pub(crate) fn seen(&self) -> i64 {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches a number that changes with each other run.
    pub(crate) fn times(&self) -> watch::Receiver<u64> {
        self.times.subscribe()
    }

    /// Takes another number for the run that was seen last.
    pub(crate) fn forget(&self, run: i64) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = run;
    }

    /// Takes the same run for another one: it has lost something all the same.
    pub(crate) fn note_again(&self) -> Result<(), JournalError> {
        self.times.send_modify(|times| *times += 1);
        Err(JournalError::Changed)
    }

    /// Takes in which run answered; fails with [`JournalError::Changed`] once for each that is another one than before.
    pub(crate) fn note(&self, answered: i64) -> Result<(), JournalError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *seen, answered) == answered {
            return Ok(());
        }
        drop(seen);
        self.times.send_modify(|times| *times += 1);
        Err(JournalError::Changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_run_is_noticed_once() {
        let run = Run::new(1);
        let times = run.times();
        run.note(1).unwrap();
        assert!(!times.has_changed().unwrap());
        assert!(matches!(run.note(2), Err(JournalError::Changed)));
        assert!(times.has_changed().unwrap() && run.seen() == 2);
        run.note(2).unwrap();
        assert_eq!(*times.borrow(), 1);
    }
}
