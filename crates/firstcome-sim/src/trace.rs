//! Writes the story of a world: a line for each event, and a hash over all lines.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use xxhash_rust::xxh3::Xxh3Default;

/// A function that hears a story, line by line.
pub type Listener = Box<dyn FnMut(&str) + Send>;

/// Writes what happens. Clones write the same story.
#[derive(Clone)]
pub struct Trace {
    begun: Instant,
    state: Arc<Mutex<TraceState>>,
}

struct TraceState {
    hash: Xxh3Default,
    lines: u64,
    /// Receives the story; `None` where only its hash is wanted.
    listener: Option<Listener>,
    line: String,
}

impl Trace {
    /// Begins a story; the listener hears it line by line.
    pub fn begin(listener: Option<Listener>) -> Self {
        let state =
            TraceState { hash: Xxh3Default::new(), lines: 0, listener, line: String::new() };
        Self { begun: Instant::now(), state: Arc::new(Mutex::new(state)) }
    }

    /// Returns how long the world has been there.
    pub fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Writes a line.
    pub fn tell(&self, what: fmt::Arguments<'_>) {
        use fmt::Write;
        let now = self.now();
        let mut state = self.lock();
        let TraceState { hash, lines, listener, line } = &mut *state;
        line.clear();
        // Writing to a string cannot fail.
        let _written = write!(line, "{:>9.3} {what}", now.as_secs_f64());
        hash.update(line.as_bytes());
        *lines += 1;
        if let Some(listener) = listener {
            listener(line);
        }
    }

    /// Returns the hash over everything written so far.
    pub fn hash(&self) -> u64 {
        self.lock().hash.digest()
    }

    /// Returns how many things happened so far.
    pub fn lines(&self) -> u64 {
        self.lock().lines
    }

    fn lock(&self) -> MutexGuard<'_, TraceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}
