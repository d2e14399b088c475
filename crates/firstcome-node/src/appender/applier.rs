//! Applies entries in order, answers the batch under way, and waits for the journal.
//!
//! The appender, the follower and the healer all do their work through it: nobody else applies entries.

use crate::appender::batch::{Answers, Batch};
use crate::appender::pace::Pace;
use crate::appender::queue::Queue;
use crate::appender::signals::Signals;
use crate::error::CommandError;
use crate::heal::retransmit::RetransmitBuffer;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::replica::{Replica, Stop};
use firstcome_core::NodeId;
use firstcome_core::command::BadBody;
use firstcome_inject::{Mistake, inject};
use firstcome_journal::{Confirm, Entry, Journal, JournalError, Looked, Name};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// How often to check, while the journal is silent, whether this node is to stop and nobody waits any more.
const LOOK_FOR_STOP: Duration = Duration::from_millis(100);

pub(crate) struct Applier {
    /// Who writes this node's batches: drawn anew when it switches to another branch.
    pub(crate) writer: NodeId,
    /// The number of the writer's last body.
    pub(crate) number: u64,
    pub(crate) journal: Journal,
    pub(crate) queue: Arc<Queue>,
    pub(crate) replica: Arc<Replica>,
    pub(crate) health: Arc<Health>,
    pub(crate) signals: Arc<Signals>,
    pub(crate) metrics: Arc<Metrics>,
    /// Whether several nodes share the journal.
    pub(crate) several: bool,
    /// The entries applied last; none where this node is alone.
    pub(crate) retransmit: RetransmitBuffer,
    /// How long this node waits between two appends.
    pub(crate) pace: Pace,
    /// Answers that wait until they are durable.
    pub(crate) awaiting_durability: JoinSet<()>,
}

/// What applying entries came to.
pub(crate) enum Applying {
    /// They were applied.
    Done {
        /// Whether the batch under way was among them.
        seen: bool,
    },
    /// An entry does not follow what this node applied: the journal is not the one it followed.
    Broke,
}

impl Applier {
    /// Returns a name that no entry has had.
    pub(crate) fn next_name(&mut self) -> Name {
        self.number += 1;
        Name { node: self.writer, number: self.number }
    }

    /// Applies entries in order and answers the batch's commands when its entry is among them; where this node stops, they
    /// are the caller's to answer.
    pub(crate) fn apply(
        &mut self,
        entries: Vec<Entry>,
        mut batch: Option<&mut Batch>,
    ) -> Result<Applying, Stop> {
        let mut seen = false;
        let mut outcomes = Vec::new();
        let now = Instant::now();
        for entry in entries {
            outcomes.clear();
            let applied = match self.replica.apply(&entry, &mut outcomes) {
                Ok(applied) => applied,
                Err(Stop::NotNext { .. }) if self.several => return Ok(Applying::Broke),
                Err(stop) => return Err(stop),
            };
            let Some(applied) = applied else { continue };
            if let Some(difference) = applied.differs {
                self.signals.divergence(difference);
            }
            if self.several {
                if applied.name.node != self.writer {
                    self.pace.saw(applied.name.node, now);
                }
                self.retransmit.push(entry, applied.name);
            }
            let Some(batch) = &mut batch else { continue };
            if applied.batch == batch.of {
                seen = true;
                let answers = batch.answers(outcomes.drain(..), applied);
                let confirm = batch.confirm.take();
                self.release(answers, applied.position.position, confirm);
            }
        }
        Ok(Applying::Done { seen })
    }

    /// Notes how far the store had looked when it gave what is applied now.
    pub(crate) fn note_looked(&self, looked: Looked) {
        match looked {
            Looked::ToEnd { as_of, .. } => self.health.caught_up(as_of),
            Looked::Partly if inject(Mistake::PartialReadIsCaughtUp) => {
                self.health.caught_up(Instant::now());
            }
            Looked::More | Looked::Partly => {}
        }
    }

    /// Releases answers, at once or when they are durable.
    pub(crate) fn release(&mut self, answers: Answers, position: u64, confirm: Option<Confirm>) {
        let durable = self.replica.durable();
        if let Some(Confirm::AtOnce) = confirm {
            self.replica.confirm(durable.branch, position);
        }
        let wait = self.metrics.durable_wait.clone();
        if self.replica.durable().position >= position {
            wait.took(Duration::ZERO);
            return answers.send();
        }
        let answers = if inject(Mistake::AnswerBeforeDurable) {
            answers.send();
            Answers::default()
        } else {
            answers
        };
        while self.awaiting_durability.try_join_next().is_some() {}
        let (replica, queue) = (Arc::clone(&self.replica), Arc::clone(&self.queue));
        let send = answers.send_when_durable(durable.branch, position, confirm, replica, queue);
        let begun = Instant::now();
        self.awaiting_durability.spawn(async move {
            send.await;
            wait.took(begun.elapsed());
        });
    }

    /// Says whether a failure means that the journal is not the one this node followed.
    pub(crate) fn is_lost(&self, broken: &JournalError) -> bool {
        let lost = matches!(
            broken,
            JournalError::Behind { .. }
                | JournalError::Forked { .. }
                | JournalError::Trimmed { .. }
                | JournalError::Changed
                | JournalError::Gone(_)
                | JournalError::OtherSpace { .. }
        );
        lost && self.several
    }

    /// Notes that the journal failed; what the next try cannot change ends this node.
    pub(crate) fn failed(&self, broken: &JournalError) -> Result<CommandError, Stop> {
        self.metrics.journal_failures.inc();
        // Sent again, a batch would be stored again and never be seen.
        if let JournalError::TooNew(level) = broken {
            let position = self.replica.applied().0 + 1;
            return Err(Stop::Unreadable { position, why: BadBody::TooNew(*level).to_string() });
        }
        if let JournalError::Damaged { position, why } = broken {
            return Err(Stop::Unreadable {
                position: *position,
                why: format!("is damaged: {why}"),
            });
        }
        // The journal can be read as before, and whoever asks it for its settings says this of it.
        if let JournalError::LessDurable { .. } = broken {
            return Ok(CommandError::Unavailable(broken.with_cure()));
        }
        let failure = if let JournalError::Full(_) = broken {
            CommandError::StoreFull
        } else {
            CommandError::Unavailable(broken.with_cure())
        };
        self.health.trouble(failure.clone(), broken.with_cure());
        Ok(failure)
    }

    /// Says whether nobody waits any more for a batch of a node that stops.
    ///
    /// Whether it was stored shows at the next start; everybody it was for heard `unknown`.
    pub(crate) fn is_given_up(&self, batch: &Batch) -> bool {
        self.queue.is_over() && batch.is_over()
    }

    /// Waits for the journal. Gives up when this node is to stop and nobody waits any more.
    pub(crate) async fn until_answer_or_shutdown<T>(
        &self,
        batch: Option<&Batch>,
        call: impl Future<Output = Result<T, JournalError>>,
    ) -> Result<T, JournalError> {
        let mut call = pin!(call);
        loop {
            tokio::select! {
                answer = &mut call => return answer,
                () = sleep(LOOK_FOR_STOP) => {
                    if self.queue.is_over() && batch.is_none_or(Batch::is_over) {
                        return Err(JournalError::Unknown("this node stops".into()));
                    }
                }
            }
        }
    }
}
