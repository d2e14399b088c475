//! Batches commands, sends them to the journal, reads back, applies, and answers.
//!
//! One task owns the batch under way and the queue behind it, so it alone decides which of two
//! answers a command gets whose time is over: still queued is `unavailable`, nothing changed; in a
//! batch that was sent is `unknown`, and the batch is sent again until it is seen.

use super::ask::{Answer, Decided, Waiting};
use super::health::Health;
use super::queue::Queue;
use super::replica::{Replica, Stop};
use crate::answer::Failure;
use crate::metrics::Metrics;
use firstcome_core::NodeId;
use firstcome_core::command::BodyWriter;
use firstcome_core::names::Position;
use firstcome_journal::{Append, Entry, Failure as Broken, Journal, Name};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, sleep_until};

/// The first pause before a batch is sent again; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Turns others get before a batch is taken, at most.
const MOST_TURNS: usize = 8;
/// How often commands whose time is over are looked for while the journal does not answer.
const LOOK_FOR_OVERDUE: Duration = Duration::from_millis(100);

pub(crate) struct Appender {
    pub(crate) node: NodeId,
    pub(crate) journal: Journal,
    pub(crate) queue: Arc<Queue>,
    pub(crate) replica: Arc<Replica>,
    pub(crate) health: Arc<Health>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) number: u64,
}

/// The batch under way.
struct Batch {
    name: Name,
    body: Arc<[u8]>,
    waiting: Vec<Option<Waiting>>,
    /// Whether a copy may be on its way to the journal.
    maybe_sent: bool,
}

impl Appender {
    /// Serves the queue until it is closed and empty, or until this node can apply nothing any more.
    pub(crate) async fn run(mut self) -> Result<(), Stop> {
        let stopped = loop {
            if !self.queue.any().await {
                break Ok(());
            }
            self.let_arrive().await;
            let batch = self.gather();
            if batch.waiting.is_empty() {
                continue;
            }
            if let Err(stop) = self.see_through(batch).await {
                break Err(stop);
            }
        };
        self.queue.close();
        if let Err(stop) = &stopped {
            self.health.stopped(stop.to_string());
            let why = stop.to_string();
            self.queue.take_while(|waiting| {
                answer(waiting, Err(Failure::Unavailable(why.clone())));
                Ok(())
            });
        }
        stopped
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
        let name = Name { node: self.node, number: self.number };
        let mut body = BodyWriter::new(self.node, self.number, mark.position);
        let mut waiting = Vec::new();
        self.queue.take_while(|next| {
            // Nobody waits for this one any more, and it was never sent.
            if next.reply.is_closed() {
                return Ok(());
            }
            if !body.push(&next.ask.command(mark)) {
                return Err(next);
            }
            waiting.push(Some(next));
            Ok(())
        });
        self.metrics.batch(waiting.len());
        Batch { name, body: body.finish().into(), waiting, maybe_sent: false }
    }

    /// Sends a batch until it is seen in the journal, or is known not to be there.
    async fn see_through(&mut self, mut batch: Batch) -> Result<(), Stop> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.send(&mut batch).await {
                Ok(entries) => {
                    if self.apply(entries, Some(&mut batch))? {
                        return Ok(());
                    }
                    // More than one read lies between what was applied and the batch's own entry.
                    if self.catch_up(&mut batch).await? {
                        return Ok(());
                    }
                }
                Err(broken) => {
                    let failure = self.broken(&broken);
                    if !batch.maybe_sent {
                        batch.answer_all(failure);
                        return Ok(());
                    }
                }
            }
            self.pause(&mut batch, pause).await;
            if self.is_given_up(&batch) {
                return Ok(());
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Sends a batch once. Commands whose time is over while the journal is silent are answered.
    async fn send(&mut self, batch: &mut Batch) -> Result<Vec<Entry>, Broken> {
        let (applied, applied_name) = self.replica.applied();
        let append =
            Append { body: Arc::clone(&batch.body), name: batch.name, applied, applied_name };
        let begun = Instant::now();
        self.health.sent(begun);
        let answer = {
            let mut call = pin!(self.journal.append(append));
            loop {
                tokio::select! {
                    answer = &mut call => break answer,
                    () = sleep(LOOK_FOR_OVERDUE) => {
                        answer_overdue(&self.queue);
                        batch.answer_overdue();
                        if self.is_given_up(batch) {
                            break Err(Broken::Unknown("this node stops".into()));
                        }
                    }
                }
            }
        };
        match &answer {
            Ok(_) => {
                self.health.answered();
                self.metrics.appended(begun.elapsed());
            }
            Err(Broken::Unknown(_)) => batch.maybe_sent = true,
            Err(_) => {}
        }
        answer.map(|exchange| exchange.entries)
    }

    /// Reads on until the batch's own entry is applied, or there is nothing more to read.
    async fn catch_up(&mut self, batch: &mut Batch) -> Result<bool, Stop> {
        loop {
            let (applied, _) = self.replica.applied();
            match self.journal.read(applied).await {
                Ok(entries) if entries.is_empty() => return Ok(false),
                Ok(entries) => {
                    if self.apply(entries, Some(batch))? {
                        return Ok(true);
                    }
                }
                Err(broken) => {
                    self.broken(&broken);
                    batch.maybe_sent = true;
                    return Ok(false);
                }
            }
        }
    }

    /// Applies entries in order and answers the batch's commands when its entry is among them.
    fn apply(&self, entries: Vec<Entry>, mut batch: Option<&mut Batch>) -> Result<bool, Stop> {
        let mut seen = false;
        let mut outcomes = Vec::new();
        for entry in entries {
            outcomes.clear();
            let applied = match self.replica.apply(&entry, &mut outcomes) {
                Ok(applied) => applied,
                Err(stop) => {
                    if let Some(batch) = &mut batch {
                        batch.answer_all(Failure::Unknown);
                    }
                    return Err(stop);
                }
            };
            let (Some((name, position)), Some(batch)) = (applied, &mut batch) else { continue };
            if name == batch.name {
                seen = true;
                batch.answer_with(outcomes.drain(..), position);
            }
        }
        Ok(seen)
    }

    /// Says whether nobody waits any more for a batch of a node that stops.
    ///
    /// Whether it was stored shows at the next start; everybody it was for heard `unknown`.
    fn is_given_up(&self, batch: &Batch) -> bool {
        self.queue.is_over() && batch.waiting.iter().all(Option::is_none)
    }

    fn broken(&self, broken: &Broken) -> Failure {
        let failure = if let Broken::Full(_) = broken {
            Failure::StoreFull
        } else {
            Failure::Unavailable(broken.to_string())
        };
        self.health.trouble(failure.clone(), broken.to_string());
        self.metrics.journal_failures.inc();
        failure
    }

    async fn pause(&self, batch: &mut Batch, pause: Duration) {
        let end = Instant::now() + pause;
        loop {
            answer_overdue(&self.queue);
            batch.answer_overdue();
            let next = (Instant::now() + LOOK_FOR_OVERDUE).min(end);
            sleep_until(next).await;
            if next == end {
                return;
            }
        }
    }
}

impl Batch {
    fn answer_with(
        &mut self,
        outcomes: impl ExactSizeIterator<Item = firstcome_core::Outcome>,
        position: Position,
    ) {
        if outcomes.len() != self.waiting.len() {
            // The entry seen is a second copy: the first was answered when it was seen.
            return;
        }
        for (waiting, outcome) in self.waiting.drain(..).zip(outcomes) {
            if let Some(waiting) = waiting {
                answer(waiting, Ok(Answer { outcome, position, decided: Decided::Journal }));
            }
        }
    }

    fn answer_all(&mut self, failure: Failure) {
        for waiting in self.waiting.drain(..).flatten() {
            answer(waiting, Err(failure.clone()));
        }
    }

    /// Answers `unknown` to those whose time is over; the others keep their places.
    fn answer_overdue(&mut self) {
        let now = Instant::now();
        for slot in &mut self.waiting {
            if let Some(waiting) = slot.take_if(|waiting| waiting.until <= now) {
                answer(waiting, Err(Failure::Unknown));
            }
        }
    }
}

fn answer_overdue(queue: &Queue) {
    for waiting in queue.take_overdue(Instant::now()) {
        let why = "the journal did not take it in time".to_owned();
        answer(waiting, Err(Failure::Unavailable(why)));
    }
}

fn answer(waiting: Waiting, answer: Result<Answer, Failure>) {
    // A caller who is gone asks again and gets the same answer.
    drop(waiting.reply.send(answer));
}
