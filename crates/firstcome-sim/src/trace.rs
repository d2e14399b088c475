//! The story of a world: a line for each thing that happened, and a hash over all of them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use xxhash_rust::xxh3::Xxh3Default;

/// Who hears a story, line by line.
pub type Listener = Box<dyn FnMut(&str) + Send>;

/// Tells what happens. Clones tell the same story.
#[derive(Clone)]
pub struct Trace {
    begun: Instant,
    inside: Arc<Mutex<Inside>>,
}

struct Inside {
    hash: Xxh3Default,
    lines: u64,
    /// Where the story is written; `None` where only its hash is wanted.
    told: Option<Listener>,
    line: String,
}

impl Trace {
    /// Begins a story, told line by line to whoever wants to hear it.
    pub fn begin(told: Option<Listener>) -> Self {
        let inside = Inside { hash: Xxh3Default::new(), lines: 0, told, line: String::new() };
        Self { begun: Instant::now(), inside: Arc::new(Mutex::new(inside)) }
    }

    /// Gives how long the world has been there.
    pub fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Tells something.
    pub fn tell(&self, what: fmt::Arguments<'_>) {
        use fmt::Write;
        let now = self.now();
        let mut inside = self.lock();
        let Inside { hash, lines, told, line } = &mut *inside;
        line.clear();
        // Writing to a string cannot fail.
        let _written = write!(line, "{:>9.3} {what}", now.as_secs_f64());
        hash.update(line.as_bytes());
        *lines += 1;
        if let Some(told) = told {
            told(line);
        }
    }

    /// Gives the hash over everything told so far.
    pub fn hash(&self) -> u64 {
        self.lock().hash.digest()
    }

    /// Gives how many things happened so far.
    pub fn lines(&self) -> u64 {
        self.lock().lines
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}
