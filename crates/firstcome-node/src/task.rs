//! Tasks that have an owner, and how they are told to stop.

use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// A task that ends with its owner: dropped, it goes no further than its next await.
///
/// What it holds then goes with it, and with that the tasks it spawned into sets of its own.
#[derive(Debug)]
pub struct Task<T>(JoinHandle<T>);

impl<T: Send + 'static> Task<T> {
    /// Spawns it.
    pub fn spawn(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }

    /// Spawns it on a runtime of another thread, or here if there is none.
    pub fn spawn_on(
        runtime: Option<&Handle>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Self {
        match runtime {
            Some(runtime) => Self(runtime.spawn(work)),
            None => Self::spawn(work),
        }
    }

    /// Says whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.0.is_finished()
    }

    /// Waits until it has ended by itself; gives nothing if it panicked.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the task ends like one whose owner is gone.
    pub async fn ended(mut self) -> Option<T> {
        (&mut self.0).await.ok()
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sleeps, or gives `true` as soon as the task is to stop.
///
/// # Cancel safety
///
/// Cancel safe.
pub async fn stopped_within(stop: &mut watch::Receiver<bool>, pause: Duration) -> bool {
    tokio::select! {
        () = sleep(pause) => false,
        () = stopped(stop) => true,
    }
}

/// Waits until the task is to stop.
///
/// # Cancel safety
///
/// Cancel safe.
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone stops its tasks as well.
    drop(stop.wait_for(|stop| *stop).await);
}
