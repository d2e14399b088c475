//! What most tests begin with.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Waits until `done`, looking every few milliseconds, and fails after 10 s: for what sends no signal.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut done: impl FnMut() -> F) {
    for _ in 0..2000 {
        if done().await {
            return;
        }
        tokio::time::sleep(ms(5)).await;
    }
    panic!("not within 10 s: {what}");
}

/// Counts who is inside of something that only one may be in.
#[derive(Debug, Default, Clone)]
pub(crate) struct Inside(Arc<(std::sync::atomic::AtomicI64, std::sync::atomic::AtomicI64)>);

impl Inside {
    pub(crate) async fn visit(&self) {
        self.enter();
        tokio::task::yield_now().await;
        self.leave();
    }

    fn enter(&self) {
        let now = self.0.0.fetch_add(1, SeqCst) + 1;
        self.0.1.fetch_max(now, SeqCst);
    }

    fn leave(&self) {
        self.0.0.fetch_sub(1, SeqCst);
    }

    /// Returns the most that were ever inside together.
    pub(crate) fn most(&self) -> i64 {
        self.0.1.load(SeqCst)
    }
}
