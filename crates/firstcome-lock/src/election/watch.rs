//! Following the current leader.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::leader::Leader;
use crate::backend::requests::Topic;
use crate::error::Error;
use crate::fence::Fence;
use crate::shared::Shared;
use crate::wait::signal::Signal;
use crate::wait::subscriber::Subscriber;
use firstcome_store::client::pause;

/// The longest time between two requests, and how long a leader is known whose lease should have ended while the store does
/// not answer.
const LONGEST: Duration = Duration::from_secs(30);

/// The current leader, kept up to date; stops when it is dropped.
#[derive(Debug)]
pub struct Watch {
    leaders: watch::Receiver<Option<Leader>>,
    task: JoinHandle<()>,
}

impl Watch {
    pub(crate) async fn start(shared: &Arc<Shared>, name: &str) -> Result<Self, Error> {
        // Subscribed before looking, so that no change in between is missed.
        let subscriber = shared.backend.subscribe(Topic::Leader(name)).await?;
        let (first, left) = look(shared, name).await?;
        let (sender, leaders) = watch::channel(first);
        let (shared, name) = (Arc::clone(shared), name.to_owned());
        let task = tokio::spawn(async move {
            tokio::select! {
                () = shared.closed() => {}
                () = sender.closed() => {}
                () = follow(&shared, &name, subscriber, left, &sender) => {}
            }
        });
        Ok(Self { leaders, task })
    }

    /// Returns the last known leader; `None` if there is none, or if the store has not answered for 30 s since the leader's
    /// lease should have ended.
    ///
    /// It may be out of date by the time it is read.
    #[must_use]
    pub fn current(&self) -> Option<Leader> {
        self.leaders.borrow().clone()
    }

    /// Waits until the leader changes, and gives the new one, or `None`, as [`Watch::current`].
    ///
    /// Fast changes may be seen as one.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`] after the client was closed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing is lost.
    pub async fn changed(&mut self) -> Result<Option<Leader>, Error> {
        self.leaders.changed().await.map_err(|_| Error::Closed)?;
        Ok(self.leaders.borrow_and_update().clone())
    }

    /// Waits until `wanted` is true for the leader, and gives it.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`] after the client was closed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing is lost.
    pub async fn until(
        &mut self,
        mut wanted: impl FnMut(Option<&Leader>) -> bool,
    ) -> Result<Option<Leader>, Error> {
        let found = self.leaders.wait_for(|leader| wanted(leader.as_ref())).await;
        found.map(|leader| leader.clone()).map_err(|_| Error::Closed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(
    shared: &Shared,
    name: &str,
    mut subscriber: Subscriber,
    mut left: Option<Duration>,
    leaders: &watch::Sender<Option<Leader>>,
) {
    let (mut failures, mut known_until) = (0, known_until(left));
    loop {
        // A leader that died is noticed when its lease should have ended.
        let rest = left.map_or(LONGEST, |left| left + Duration::from_millis(1));
        let rest = if subscriber.is_live() { rest } else { rest.min(pause(failures.max(4))) };
        tokio::select! {
            signal = subscriber.next() => if signal == Signal::Closed { return },
            () = tokio::time::sleep(rest) => {}
        }
        match tokio::time::timeout(LONGEST, look(shared, name)).await {
            Ok(Ok((leader, lasts))) => {
                (failures, left, known_until) = (0, lasts, self::known_until(lasts));
                leaders.send_if_modified(|known| {
                    let changed = *known != leader;
                    *known = leader;
                    changed
                });
            }
            Ok(Err(_)) | Err(_) => {
                left = Some(pause(failures));
                failures += 1;
                if Instant::now() >= known_until {
                    leaders.send_if_modified(|known| known.take().is_some());
                }
            }
        }
    }
}

/// Returns until when a leader is known, whose lease lasts so long, if nothing is heard of it any more.
fn known_until(lasts: Option<Duration>) -> Instant {
    Instant::now() + lasts.unwrap_or_default() + LONGEST
}

async fn look(shared: &Shared, name: &str) -> Result<(Option<Leader>, Option<Duration>), Error> {
    let (record, left) = shared.backend.leader(name).await?;
    let leader = record.map(|record| Leader { node: record.node, term: Fence(record.term) });
    Ok((leader, left))
}
