//! Batches commands, sends them to the journal, reads back, applies, and answers; follows the journal
//! while nobody asks for anything.
//!
//! One task owns the batch under way and the queue behind it, so it alone decides which of two
//! answers a command gets whose time is over: still queued is `unavailable`, nothing changed; in a
//! batch that was sent is `unknown`, and the batch is sent again until it is seen. It alone applies
//! entries, and it alone mends a journal that lost some: see `heal`.

use super::Says;
use super::ask::Ask;
use super::batch::{Answers, Batch, answer_overdue, turn_away};
use super::calls::Calls;
use super::clock::StoreClock;
use super::follow::Next;
use super::fork::{Lost, Over};
use super::health::Health;
use super::pace::Pace;
use super::queue::Queue;
use super::recent::Recent;
use super::replica::{Replica, Stop};
use super::silence::LOOK_FOR_OVERDUE;
use crate::failure::Failure;
use crate::metrics::Metrics;
use firstcome_core::NodeId;
use firstcome_core::command::BodyWriter;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_inject::{Mistake, inject};
use firstcome_journal::shared::{News, Roll};
use firstcome_journal::{Append, Confirm, Entry, Failure as Broken, Journal, Name, Shared};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep};

/// The first pause before a batch is sent again; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Turns others get before a batch is taken, at most.
const MOST_TURNS: usize = 8;
/// Batches whose answers wait for durability, at most.
const MOST_PARKED: usize = 256;

pub(crate) struct Appender {
    /// Who writes this node's batches: drawn anew when its history is replaced.
    pub(crate) writer: NodeId,
    pub(crate) number: u64,
    pub(crate) journal: Journal,
    /// The journal once more, where several nodes share it.
    pub(crate) shared: Option<Shared>,
    pub(crate) incarnations: Option<watch::Receiver<u64>>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) replica: Arc<Replica>,
    pub(crate) health: Arc<Health>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) roll: watch::Receiver<Option<Roll>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) says: Says,
    pub(super) recent: Recent,
    /// Entries of a history that is over which the journal does not have yet.
    pub(super) lost: Vec<Lost>,
    /// The history that is over, until it was told what became of it.
    pub(super) over: Option<Over>,
    pub(super) pace: Pace,
    /// Before when nothing is appended.
    pub(super) rests: Instant,
    /// Before when news are not asked for.
    pub(super) pauses: Instant,
    /// The question for news under way, with when it was asked.
    pub(super) asked: JoinSet<(Instant, Result<News, Broken>)>,
    /// Answers that wait until they are durable.
    pub(super) parked: JoinSet<()>,
}

/// What applying entries came to.
pub(super) enum Applying {
    /// They were applied.
    Done {
        /// Whether the batch under way was among them.
        seen: bool,
    },
    /// An entry does not follow what this node applied: the journal is not the one it followed.
    Broke,
}

impl Appender {
    /// Serves the queue until it is closed and empty, or until this node can apply nothing any more.
    pub(crate) async fn run(mut self) -> Result<(), Stop> {
        let stopped = loop {
            let done = match self.next().await {
                Next::Over => break Ok(()),
                Next::Commands => self.append().await,
                Next::News(asked, news) => self.take(asked, news).await,
                Next::Look => self.look().await,
                Next::Suspicion => self.heal(None).await,
            };
            if let Err(stop) = done {
                break Err(stop);
            }
        };
        self.queue.close();
        if let Err(stop) = &stopped {
            self.health.stopped(stop.to_string());
            turn_away(&self.queue, &stop.to_string());
        }
        // Each ends with the time of the commands it answers.
        while self.parked.join_next().await.is_some() {}
        stopped
    }

    /// Says whether a failure means that the journal is not the one this node followed.
    pub(super) fn is_lost(&self, broken: &Broken) -> bool {
        let lost = matches!(
            broken,
            Broken::Behind { .. }
                | Broken::Forked { .. }
                | Broken::Trimmed { .. }
                | Broken::Changed
                | Broken::Gone(_)
                | Broken::OtherSpace { .. }
        );
        lost && self.shared.is_some()
    }

    async fn append(&mut self) -> Result<(), Stop> {
        // While nothing becomes durable nothing more is taken: the queue fills, and says so.
        while self.parked.len() >= MOST_PARKED {
            tokio::select! {
                _ = self.parked.join_next() => {}
                () = sleep(LOOK_FOR_OVERDUE) => answer_overdue(&self.queue),
            }
        }
        self.let_arrive().await;
        let batch = self.gather();
        if batch.waiting.is_empty() {
            return Ok(());
        }
        let done = self.see_through(batch).await;
        let now = Instant::now();
        self.rests = now + self.pace.pause(now).unwrap_or_default();
        // What an append brought back is what news would have brought.
        self.pauses = now + self.calls.pause_before_news();
        done
    }

    /// Lets what is ready to be received arrive before the batch is taken: no timer, only a turn for others.
    ///
    /// Every commit costs the same, however many commands share it.
    async fn let_arrive(&self) {
        let mut waiting = self.queue.len();
        for _ in 0..MOST_TURNS {
            yield_now().await;
            let now = self.queue.len();
            if now == waiting {
                return;
            }
            waiting = now;
        }
    }

    /// Takes what waits into one body: natural group commit, with no pause to let a batch grow.
    fn gather(&mut self) -> Batch {
        self.number += 1;
        let mark = self.replica.look(|state| state.mark());
        let current = self.replica.durable();
        let durable = current.position.min(mark.position);
        let name = Name { node: self.writer, number: self.number };
        let mut body = BodyWriter::new(name.node, name.number, durable);
        let mut waiting = Vec::new();
        self.queue.take_while(|next| {
            // Nobody waits for this one any more, and it was never sent.
            if next.reply.is_closed() {
                return Ok(());
            }
            let of_another =
                matches!(next.ask, Ask::Settled { history, .. } if history != current.history);
            if of_another && !inject(Mistake::SettleMarkOfOtherBranch) {
                let why = "the journal's history was replaced".to_owned();
                super::batch::answer(next, Err(Failure::Unavailable(why)));
                return Ok(());
            }
            if !body.push(&next.ask.command(mark)) {
                return Err(next);
            }
            waiting.push(Some(next));
            Ok(())
        });
        self.metrics.batch(waiting.len());
        Batch {
            name,
            body: body.finish().into(),
            waiting,
            maybe_sent: false,
            is_sent: false,
            confirm: None,
        }
    }

    /// Sends a batch until it is seen in the journal, or is known not to be there.
    async fn see_through(&mut self, mut batch: Batch) -> Result<(), Stop> {
        let mut pause = FIRST_PAUSE;
        loop {
            if self.may_have_lost() {
                self.heal(Some(&mut batch)).await?;
                // It was seen while the journal was mended; or this node stops, and nothing was mended.
                if batch.waiting.is_empty() || self.is_given_up(&batch) {
                    return Ok(());
                }
            }
            match self.send(&mut batch).await {
                Ok((asked, entries)) => {
                    let all = entries.len() < READ_ENTRIES;
                    match self.apply(entries, Some(&mut batch))? {
                        Applying::Broke => self.heal(Some(&mut batch)).await?,
                        Applying::Done { seen } => {
                            if all {
                                self.health.caught_up(asked);
                            }
                            // More than one read may lie between what was applied and the batch's own entry.
                            if seen || self.catch_up(&mut batch).await? {
                                return Ok(());
                            }
                        }
                    }
                }
                Err(broken) if self.is_lost(&broken) => {
                    self.heal(Some(&mut batch)).await?;
                    if batch.waiting.is_empty() || self.is_given_up(&batch) {
                        return Ok(());
                    }
                    continue;
                }
                Err(broken) => {
                    let failure = self.broken(&broken)?;
                    if !batch.maybe_sent {
                        batch.answer_all(&failure);
                        return Ok(());
                    }
                }
            }
            if batch.waiting.is_empty() {
                // It was seen while the journal was mended.
                return Ok(());
            }
            self.pause(&mut batch, pause).await;
            if self.is_given_up(&batch) {
                return Ok(());
            }
            if batch.maybe_sent && inject(Mistake::NewNumberOnResend) {
                self.number += 1;
                batch.renumber(self.number);
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Sends a batch once. Commands whose time is over while the journal is silent are answered.
    async fn send(&mut self, batch: &mut Batch) -> Result<(Instant, Vec<Entry>), Broken> {
        let (applied, applied_name) = self.replica.applied();
        let append =
            Append { body: Arc::clone(&batch.body), name: batch.name, applied, applied_name };
        let begun = Instant::now();
        self.health.sent(begun);
        batch.is_sent = true;
        let answer = self.patiently(Some(batch), self.journal.append(append)).await;
        batch.is_sent = false;
        match &answer {
            Ok(_) => {
                // It is in the journal, until that loses it.
                batch.maybe_sent = true;
                self.health.answered();
                self.metrics.appended(begun.elapsed());
            }
            Err(Broken::Unknown(_)) => batch.maybe_sent = true,
            Err(_) => {}
        }
        let exchange = answer?;
        batch.confirm = Some(exchange.confirm);
        Ok((begun, exchange.entries))
    }

    /// Reads on until the batch's own entry is applied, or there is nothing more to read.
    async fn catch_up(&mut self, batch: &mut Batch) -> Result<bool, Stop> {
        loop {
            let (applied, _) = self.replica.applied();
            let read = self.patiently(Some(batch), self.journal.read(applied)).await;
            match read {
                Ok(entries) if entries.is_empty() => return Ok(false),
                Ok(entries) => match self.apply(entries, Some(batch))? {
                    Applying::Done { seen: true } => return Ok(true),
                    Applying::Done { seen: false } => {}
                    Applying::Broke => {
                        batch.maybe_sent = true;
                        self.calls.suspect();
                        return Ok(false);
                    }
                },
                Err(broken) => {
                    batch.maybe_sent = true;
                    if self.is_lost(&broken) {
                        self.calls.suspect();
                    } else {
                        self.broken(&broken)?;
                    }
                    return Ok(false);
                }
            }
        }
    }

    /// Applies entries in order and answers the batch's commands when its entry is among them.
    pub(super) fn apply(
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
                Err(Stop::NotNext { .. }) if self.shared.is_some() => return Ok(Applying::Broke),
                Err(stop) => {
                    if let Some(batch) = &mut batch {
                        batch.answer_all(&Failure::Unknown);
                    }
                    return Err(stop);
                }
            };
            let Some(applied) = applied else { continue };
            if let Some(difference) = applied.differs {
                self.calls.doubt(difference);
            }
            if self.shared.is_some() {
                if applied.name.node != self.writer {
                    self.pace.saw(applied.name.node, now);
                }
                self.recent.push(entry, applied.name);
            }
            let Some(batch) = &mut batch else { continue };
            if applied.name == batch.name {
                seen = true;
                let answers = batch.answers(outcomes.drain(..), applied);
                let confirm = batch.confirm.take();
                self.let_leave(answers, applied.position.position, confirm);
            }
        }
        Ok(Applying::Done { seen })
    }

    /// Lets answers go, at once or when they are durable.
    pub(super) fn let_leave(&mut self, answers: Answers, position: u64, confirm: Option<Confirm>) {
        let durable = self.replica.durable();
        if let Some(Confirm::AtOnce) = confirm {
            self.replica.confirm(durable.history, position);
        }
        if self.replica.durable().position >= position {
            return answers.leave();
        }
        let answers = if inject(Mistake::AnswerBeforeDurable) {
            answers.leave();
            Answers::default()
        } else {
            answers
        };
        while self.parked.try_join_next().is_some() {}
        let (replica, queue) = (Arc::clone(&self.replica), Arc::clone(&self.queue));
        let leave = answers.leave_when_durable(durable.history, position, confirm, replica, queue);
        self.parked.spawn(leave);
    }

    async fn pause(&self, batch: &mut Batch, pause: Duration) {
        self.wait_with(Some(batch), Instant::now() + pause).await;
    }
}

impl Drop for Appender {
    /// Nobody serves the queue any more: whoever waits in it, or comes later, must not wait for ever.
    fn drop(&mut self) {
        self.queue.close();
        turn_away(&self.queue, "this node has ended");
    }
}
