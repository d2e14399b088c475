//! How long no server could be reached, as the connections together saw it.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Measures the outages: stretches during which every server refused connections.
#[derive(Debug, Default)]
pub(crate) struct Outages {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    since: Option<Instant>,
    past: Vec<Duration>,
}

impl Outages {
    /// A connection found no server.
    pub(crate) fn lost(&self) {
        self.lock().since.get_or_insert_with(Instant::now);
    }

    /// A connection found one.
    pub(crate) fn found(&self) {
        let mut state = self.lock();
        if let Some(since) = state.since.take() {
            state.past.push(since.elapsed());
        }
    }

    /// How long the present outage has lasted, if there is one.
    pub(crate) fn now(&self) -> Option<Duration> {
        self.lock().since.map(|since| since.elapsed())
    }

    /// The outages that are over.
    pub(crate) fn past(&self) -> Vec<Duration> {
        self.lock().past.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds this")
    }
}

/// Whole milliseconds, as reports for machines have them.
pub(crate) fn whole_ms(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
