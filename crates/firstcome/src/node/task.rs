//! A task that has an owner.

use tokio::task::JoinHandle;

/// A task that ends with its owner: dropped, it goes no further than its next await.
///
/// What it holds then goes with it, and with that the tasks it spawned into sets of its own.
#[derive(Debug)]
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T: Send + 'static> Task<T> {
    pub(crate) fn spawn(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }

    /// Says whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.is_finished()
    }

    /// Waits until it has ended by itself; gives nothing if it panicked.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the task ends like one whose owner is gone.
    pub(crate) async fn ended(mut self) -> Option<T> {
        (&mut self.0).await.ok()
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
