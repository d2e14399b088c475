//! The clock of a server for tests (`firstcome dev`), which its users move forward.

use firstcome_core::Timestamp;
use firstcome_journal::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::sync::{Mutex, MutexGuard};

/// A clock that goes on as the operating system's does, and is moved forward beside that.
#[derive(Clone, Debug, Default)]
pub struct DevClock {
    /// Microseconds before the operating system's clock.
    ahead: Arc<AtomicI64>,
    /// Held by who moves it: steps of two together would be longer than service time counts.
    moving: Arc<Mutex<()>>,
}

impl DevClock {
    /// Returns the clock that the journal reads.
    pub fn clock(&self) -> Clock {
        let (ahead, system) = (Arc::clone(&self.ahead), Clock::system());
        Clock::of(move || system.now().as_micros().saturating_add(ahead.load(Ordering::Relaxed)))
    }

    /// Sets it forward, or back before anything was decided by it.
    pub fn start_at(&self, at: Timestamp) {
        let ahead = at.micros_since(Clock::system().now());
        self.ahead.store(ahead, Ordering::Relaxed);
    }

    /// Waits until nobody else moves it.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub(crate) async fn alone(&self) -> MutexGuard<'_, ()> {
        self.moving.lock().await
    }

    /// Sets it forward.
    pub(crate) fn forward(&self, micros: i64) {
        self.ahead.fetch_add(micros, Ordering::Relaxed);
    }
}
