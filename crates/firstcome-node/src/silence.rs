//! While the journal does not do as asked: what is noted of it, and what those who wait hear meanwhile.

use super::appender::Appender;
use super::batch::{Batch, answer_overdue};
use super::replica::Stop;
use crate::failure::Failure;
use firstcome_core::command::BadBody;
use firstcome_journal::Failure as Broken;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// How often commands whose time is over are looked for while the journal does not answer.
pub(super) const LOOK_FOR_OVERDUE: Duration = Duration::from_millis(100);

impl Appender {
    /// Says whether nobody waits any more for a batch of a node that stops.
    ///
    /// Whether it was stored shows at the next start; everybody it was for heard `unknown`.
    pub(super) fn is_given_up(&self, batch: &Batch) -> bool {
        self.queue.is_over() && batch.waiting.iter().all(Option::is_none)
    }

    /// Notes that the journal failed; what the next try cannot change ends this node.
    pub(super) fn broken(&self, broken: &Broken) -> Result<Failure, Stop> {
        self.metrics.journal_failures.inc();
        // Sent again, a batch would be stored again and never be seen.
        if let Broken::TooNew(level) = broken {
            let position = self.replica.applied().0 + 1;
            return Err(Stop::Unreadable { position, why: BadBody::TooNew(*level).to_string() });
        }
        if let Broken::Damaged { position, why } = broken {
            return Err(Stop::Unreadable {
                position: *position,
                why: format!("is damaged: {why}"),
            });
        }
        let failure = if let Broken::Full(_) = broken {
            Failure::StoreFull
        } else {
            Failure::Unavailable(broken.to_string())
        };
        self.health.trouble(failure.clone(), broken.to_string());
        Ok(failure)
    }

    /// Waits for the journal; commands whose time is over meanwhile are answered.
    ///
    /// Gives up when this node is to stop and nobody waits any more.
    pub(super) async fn patiently<T>(
        &self,
        mut batch: Option<&mut Batch>,
        call: impl Future<Output = Result<T, Broken>>,
    ) -> Result<T, Broken> {
        let mut call = pin!(call);
        loop {
            tokio::select! {
                answer = &mut call => return answer,
                () = sleep(LOOK_FOR_OVERDUE) => {
                    answer_overdue(&self.queue);
                    if let Some(batch) = &mut batch {
                        batch.answer_overdue();
                    }
                    let nobody = batch.as_ref().is_none_or(|batch| self.is_given_up(batch));
                    if nobody && self.queue.is_over() {
                        return Err(Broken::Unknown("this node stops".into()));
                    }
                }
            }
        }
    }

    /// Waits until a moment; commands whose time is over meanwhile are answered.
    pub(super) async fn wait_with(&self, mut batch: Option<&mut Batch>, end: Instant) {
        loop {
            answer_overdue(&self.queue);
            if let Some(batch) = &mut batch {
                batch.answer_overdue();
            }
            let next = (Instant::now() + LOOK_FOR_OVERDUE).min(end);
            sleep_until(next).await;
            if next == end {
                return;
            }
        }
    }
}
