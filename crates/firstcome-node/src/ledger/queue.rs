//! The one task that changes a ledger in a database, and who asks it.

use super::{Batch, LedgerError, Standing};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

/// How many calls wait for the writer at most.
const QUEUE: usize = 64;

/// What changes a ledger: one call after the other.
pub(super) trait LedgerWrite: Send + 'static {
    /// Mints a term.
    fn mint_term(&mut self) -> impl Future<Output = Result<Standing, LedgerError>> + Send;

    /// Says where the ledger stands. It looks under a lock: a transaction whose COMMIT was sent and not heard of has
    /// ended by then.
    fn standing(&mut self) -> impl Future<Output = Result<Standing, LedgerError>> + Send;

    /// Writes a batch, all of it or nothing.
    fn settle(
        &mut self,
        batch: &Batch,
    ) -> impl Future<Output = Result<Standing, LedgerError>> + Send;

    /// Ends its connections.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// What the writer is asked.
#[derive(Debug)]
enum Asked {
    Term,
    /// After everything that is under way.
    Standing,
    Settle(Batch),
    Close,
}

#[derive(Debug)]
struct LedgerJob {
    asked: Asked,
    answer: oneshot::Sender<Result<Standing, LedgerError>>,
}

/// The calls that wait for the writer. Clones are the same queue.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    jobs: mpsc::Sender<LedgerJob>,
    writing: TaskTracker,
}

impl Queue {
    /// Starts the writer's task. It ends when it is told to, or when the last clone is gone.
    pub(super) fn start(writer: impl LedgerWrite) -> Self {
        let (jobs, queued) = mpsc::channel(QUEUE);
        let writing = TaskTracker::new();
        writing.spawn(run(writer, queued));
        writing.close();
        Self { jobs, writing }
    }

    pub(super) async fn mint_term(&self) -> Result<Standing, LedgerError> {
        self.ask(Asked::Term).await
    }

    pub(super) async fn standing(&self) -> Result<Standing, LedgerError> {
        self.ask(Asked::Standing).await
    }

    pub(super) async fn settle(&self, batch: Batch) -> Result<Standing, LedgerError> {
        self.ask(Asked::Settle(batch)).await
    }

    pub(super) async fn close(&self) {
        let (answer, _) = oneshot::channel();
        // With a writer that ended before there is nobody to tell.
        drop(self.jobs.send(LedgerJob { asked: Asked::Close, answer }).await);
        // A writer that panicked has ended, too.
        self.writing.wait().await;
    }

    async fn ask(&self, asked: Asked) -> Result<Standing, LedgerError> {
        let (answer, answered) = oneshot::channel();
        self.jobs.try_send(LedgerJob { asked, answer }).map_err(|refused| {
            LedgerError::Unavailable(match refused {
                mpsc::error::TrySendError::Full(_) => "as many calls wait as may".to_owned(),
                mpsc::error::TrySendError::Closed(_) => "it was closed".to_owned(),
            })
        })?;
        let lost = |_| LedgerError::Unknown("its task ended".to_owned());
        answered.await.map_err(lost)?
    }
}

/// Does what it is asked, in order, until it is told to end. What was asked is done whether anybody waits or not.
async fn run(mut writer: impl LedgerWrite, mut jobs: mpsc::Receiver<LedgerJob>) {
    while let Some(LedgerJob { asked, answer }) = jobs.recv().await {
        let answered = match asked {
            Asked::Term => writer.mint_term().await,
            Asked::Standing => writer.standing().await,
            Asked::Settle(batch) => writer.settle(&batch).await,
            Asked::Close => {
                jobs.close();
                continue;
            }
        };
        // Nobody waits any more if this fails, which is theirs to choose.
        drop(answer.send(answered));
    }
    writer.close().await;
}
