//! How long no server could be reached, as the connections together saw it.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Keeps the stretches during which every server refused connections.
#[derive(Debug, Default)]
pub struct Away {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    since: Option<Instant>,
    past: Vec<Duration>,
}

impl Away {
    /// A connection found no server.
    pub(super) fn lost(&self) {
        self.lock().since.get_or_insert_with(Instant::now);
    }

    /// A connection found one.
    pub(super) fn found(&self) {
        let mut state = self.lock();
        if let Some(since) = state.since.take() {
            state.past.push(since.elapsed());
        }
    }

    /// How long it has been by now, if there is none.
    pub fn now(&self) -> Option<Duration> {
        self.lock().since.map(|since| since.elapsed())
    }

    /// The stretches that are over.
    pub fn past(&self) -> Vec<Duration> {
        self.lock().past.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds this")
    }
}
