//! Batches commands, sends them to the journal, reads back, applies, and answers; follows the journal
//! while nobody asks for anything.
//!
//! One task owns the batch under way and the queue behind it. A caller whose time is over learns from its reply channel how far
//! its command came: still queued is `unavailable`, nothing changed; in a batch that was sent is `unknown`, and the batch
//! is sent again until it is seen. This task alone applies entries, and it alone has the [`Healer`] mend a journal that
//! lost some.

pub(crate) mod applier;
pub(crate) mod batch;
pub(crate) mod deliveries;
pub(crate) mod exact_pause;
pub(crate) mod pace;
pub(crate) mod queue;
pub(crate) mod reply;
pub(crate) mod signals;
pub(crate) mod slow;

use crate::appender::applier::{Applier, Applying};
use crate::appender::batch::{Batch, Gathering, reject_all};
use crate::appender::queue::QueuedRequest;
use crate::appender::slow::SlowBatches;
use crate::clock::StoreClock;
use crate::error::CommandError;
use crate::event::log;
use crate::follow::{Follower, Next};
use crate::heal::Healer;
use crate::replica::Stop;
use crate::says::Says;
use firstcome_core::command::BodyWriter;
use firstcome_core::newest_level;
use firstcome_inject::{Mistake, inject};
use firstcome_journal::cluster::News;
use firstcome_journal::{Append, EntriesRead, JournalError, Looked};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

/// The first pause before a batch is sent again; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Turns other tasks get before a batch is taken, at most.
const MAX_TURNS: usize = 8;
/// Batches whose answers wait for durability, at most.
const MAX_AWAITING: usize = 256;

pub(crate) struct Appender {
    pub(crate) applier: Applier,
    pub(crate) clock: Arc<StoreClock>,
    /// What several nodes on one journal need.
    pub(crate) several: Option<Several>,
    /// Before when nothing is appended.
    pub(crate) next_append_at: Instant,
    /// Pauses before batches, where this appender may block its thread.
    pub(crate) gathering: Option<Gathering>,
    pub(crate) slow: SlowBatches,
    pub(crate) says: Says,
}

/// What follows and mends a journal that several nodes share.
pub(crate) struct Several {
    pub(crate) follower: Follower,
    pub(crate) healer: Healer,
}

impl Appender {
    /// Serves the queue until it is closed and empty, or until this node can apply nothing any more.
    pub(crate) async fn run(mut self) -> Result<(), Stop> {
        let stopped = loop {
            if let Some(stuck) = self.applier.replica.stuck()
                && let Err(stop) = self.wait_before(stuck).await
            {
                break Err(stop);
            }
            let done = match self.next().await {
                Next::Over => break Ok(()),
                Next::Commands => self.append().await,
                Next::News(asked, news) => self.take(asked, news).await,
                Next::Look => self.look().await,
                Next::Suspicion => self.heal(None).await,
            };
            match done {
                Ok(()) => {}
                Err(Stop::Stuck(stuck)) => self.applier.replica.stop_before(stuck),
                Err(stop) => break Err(stop),
            }
        };
        self.applier.queue.close();
        if let Err(stop) = &stopped {
            let failure = stop.of_commands();
            match stop {
                Stop::Moved { position } => log!(
                    SpaceMoved,
                    position,
                    "{stop}; this server does nothing any more: stop it, and send requests to servers on that store"
                ),
                Stop::Unreadable { .. } | Stop::NotNext { .. } | Stop::Stuck(_) => {
                    log!(NodeStopped, "this node applies nothing any more: {stop}");
                }
            }
            self.applier.health.stopped(failure.clone(), stop.to_string());
            reject_all(&self.applier.queue, &failure);
        }
        // Each ends with the time of the commands it answers.
        while self.applier.awaiting_durability.join_next().await.is_some() {}
        stopped
    }

    async fn next(&mut self) -> Next {
        match &mut self.several {
            Some(several) => several.follower.next(&self.applier, self.next_append_at).await,
            None if self.applier.queue.any().await => Next::Commands,
            None => Next::Over,
        }
    }

    async fn append(&mut self) -> Result<(), Stop> {
        // While nothing becomes durable nothing more is taken: the queue fills, and says so.
        while self.applier.awaiting_durability.len() >= MAX_AWAITING {
            self.applier.awaiting_durability.join_next().await;
        }
        self.let_arrive().await;
        if let Some(gathering) = &self.gathering {
            gathering.pause(self.applier.queue.len());
        }
        let batch = self.gather();
        if let Some(gathering) = &mut self.gathering {
            gathering.took(batch.pending.len());
        }
        if batch.pending.is_empty() {
            return Ok(());
        }
        let (begun, commands) = (Instant::now(), batch.pending.len());
        let done = self.append_until_applied(batch).await;
        let now = Instant::now();
        self.slow.saw(commands, now - begun);
        self.next_append_at = now + self.applier.pace.pause(now).unwrap_or_default();
        // What an append brought back is what news would have brought.
        if let Some(several) = &mut self.several {
            several.follower.answered(&self.applier);
        }
        done
    }

    /// Lets what is ready to be received arrive before the batch is taken: no timer, only a turn for other tasks.
    ///
    /// Every commit costs the same, however many commands share it.
    async fn let_arrive(&self) {
        let mut waiting = self.applier.queue.len();
        for _ in 0..MAX_TURNS {
            yield_now().await;
            let now = self.applier.queue.len();
            if now == waiting {
                return;
            }
            waiting = now;
        }
    }

    /// Takes what waits into one body.
    fn gather(&mut self) -> Batch {
        let applier = &mut self.applier;
        let name = applier.next_name();
        let (mark, level) = applier.replica.look(|state| (state.mark(), state.level()));
        let level = if inject(Mistake::LevelOfBuild) { newest_level() } else { level };
        let current = applier.replica.durable();
        let durable = current.position.min(mark.position);
        let mut body = BodyWriter::at_level(level, name.node, name.number, durable);
        let mut pending = Vec::new();
        let now = Instant::now();
        applier.queue.take_batch(now, |next| {
            // Nobody waits for this one any more, and it was never sent.
            if next.reply.is_over() {
                return Ok(());
            }
            let of_another =
                matches!(next.request, QueuedRequest::Settled { branch, .. } if branch != current.branch);
            if of_another && !inject(Mistake::SettleMarkOfOtherBranch) {
                let why = "the node switched to another branch of the journal".to_owned();
                next.answer(Err(CommandError::Unavailable(why)));
                return Ok(());
            }
            let encoded = next.request.encoded(mark);
            let raises = next.request.is_raise();
            // Looked at when it came in; the space may be at a lower level since, on another branch. A raise in the same
            // batch does not count: its caller may give up before it is sent.
            if encoded.level() > level && !raises {
                let needed = encoded.level();
                next.answer(Err(CommandError::LevelTooLow { level, needed }));
                return Ok(());
            }
            if !body.push_encoded(&encoded) {
                drop(encoded);
                if body.commands() > 0 {
                    return Err(next);
                }
                // It fits no body at all. Where it was taken in that should have been noticed; the others go on.
                let size = next.request.size();
                next.answer(Err(CommandError::TooLarge(size)));
                return Ok(());
            }
            if raises {
                body.raise(encoded.level());
            }
            applier.metrics.queue_wait.took(now - next.since);
            pending.push(next);
            Ok(())
        });
        applier.metrics.batch(pending.len());
        let body = body.finish().into();
        Batch { of: name, name, level, body, pending, maybe_sent: false, confirm: None }
    }

    /// Sends a batch until it is seen in the journal, or is known not to be there.
    async fn append_until_applied(&mut self, mut batch: Batch) -> Result<(), Stop> {
        let done = self.send_until_seen(&mut batch).await;
        if let Err(stop) = &done {
            batch.answer_all(&stop.of_batch());
        }
        done
    }

    async fn send_until_seen(&mut self, batch: &mut Batch) -> Result<(), Stop> {
        let mut pause = FIRST_PAUSE;
        loop {
            if self.may_have_lost() {
                self.heal(Some(&mut *batch)).await?;
                // It was seen while the journal was mended; or this node stops, and nothing was mended.
                if batch.pending.is_empty() || self.applier.is_given_up(batch) {
                    return Ok(());
                }
            }
            batch.leave();
            if batch.pending.is_empty() && !batch.maybe_sent {
                return Ok(());
            }
            match self.send(batch).await {
                Ok(EntriesRead { entries, looked }) => {
                    match self.applier.apply(entries, Some(&mut *batch))? {
                        Applying::Broke => self.heal(Some(&mut *batch)).await?,
                        Applying::Done { seen } => {
                            self.applier.note_looked(looked);
                            // More than one read may lie between what was applied and the batch's own entry.
                            if seen || self.catch_up(batch).await? {
                                return Ok(());
                            }
                        }
                    }
                }
                Err(broken) if self.applier.is_lost(&broken) => {
                    self.heal(Some(&mut *batch)).await?;
                    if batch.pending.is_empty() || self.applier.is_given_up(batch) {
                        return Ok(());
                    }
                    continue;
                }
                Err(broken) => {
                    let failure = self.applier.failed(&broken)?;
                    // The journal can be read all the same, which commands that go on coming must not prevent.
                    let reads = matches!(broken, JournalError::LessDurable { .. });
                    if !batch.maybe_sent {
                        batch.answer_all(&failure);
                        return if reads { self.look().await } else { Ok(()) };
                    }
                    if reads && self.catch_up(batch).await? {
                        return Ok(());
                    }
                }
            }
            if batch.pending.is_empty() {
                // It was seen while the journal was mended.
                return Ok(());
            }
            sleep(pause).await;
            if self.applier.is_given_up(batch) {
                return Ok(());
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Sends a batch once: written anew, where it may have been sent before.
    async fn send(&mut self, batch: &mut Batch) -> Result<EntriesRead, JournalError> {
        if batch.maybe_sent && !inject(Mistake::NameKeptOnResend) {
            batch.write_again(self.applier.next_name());
        }
        let applier = &self.applier;
        let (applied, applied_name) = applier.replica.applied();
        let append =
            Append { body: Arc::clone(&batch.body), name: batch.name, applied, applied_name };
        let begun = Instant::now();
        applier.health.sent(begun);
        let answer =
            applier.until_answer_or_shutdown(Some(batch), applier.journal.append(append)).await;
        match &answer {
            Ok(_) => {
                // It is in the journal, until that loses it.
                batch.maybe_sent = true;
                applier.health.answered();
                applier.metrics.appended(begun.elapsed());
            }
            Err(JournalError::Unknown(_)) => batch.maybe_sent = true,
            Err(_) => batch.was_not_sent(),
        }
        let exchange = answer?;
        batch.confirm = Some(exchange.confirm);
        Ok(EntriesRead { entries: exchange.entries, looked: exchange.looked })
    }

    /// Reads on until the batch's own entry is applied, or there is nothing more to read.
    async fn catch_up(&mut self, batch: &mut Batch) -> Result<bool, Stop> {
        loop {
            let (applied, _) = self.applier.replica.applied();
            let read = self.applier.journal.read(applied);
            let read = self.applier.until_answer_or_shutdown(Some(batch), read).await;
            let may_have_lost = self.may_have_lost();
            let applier = &mut self.applier;
            match read {
                // It may be another branch's.
                Ok(_) if may_have_lost => {
                    batch.maybe_sent = true;
                    applier.signals.suspect();
                    return Ok(false);
                }
                Ok(EntriesRead { entries, looked }) => match applier.apply(entries, Some(batch))? {
                    Applying::Done { seen } => {
                        applier.note_looked(looked);
                        if seen || looked != Looked::More {
                            return Ok(seen);
                        }
                    }
                    Applying::Broke => {
                        batch.maybe_sent = true;
                        applier.signals.suspect();
                        return Ok(false);
                    }
                },
                Err(broken) => {
                    batch.maybe_sent = true;
                    if applier.is_lost(&broken) {
                        applier.signals.suspect();
                    } else {
                        applier.failed(&broken)?;
                    }
                    return Ok(false);
                }
            }
        }
    }

    /// Takes in what the journal had to tell.
    async fn take(&mut self, asked: Instant, news: Result<News, JournalError>) -> Result<(), Stop> {
        match news {
            Ok(News { read, now }) => {
                self.clock.heard(now, asked);
                self.take_entries(read).await
            }
            Err(broken) => {
                if let Some(several) = &mut self.several {
                    several.follower.failed();
                }
                self.read_failed(&broken).await
            }
        }
    }

    /// Reads what there is now.
    async fn look(&mut self) -> Result<(), Stop> {
        let (applied, _) = self.applier.replica.applied();
        let read =
            self.applier.until_answer_or_shutdown(None, self.applier.journal.read(applied)).await;
        match read {
            Ok(read) => self.take_entries(read).await,
            Err(broken) => self.read_failed(&broken).await,
        }
    }

    async fn take_entries(&mut self, read: EntriesRead) -> Result<(), Stop> {
        if self.may_have_lost() {
            return self.heal(None).await;
        }
        let EntriesRead { entries, looked } = read;
        if let Applying::Broke = self.applier.apply(entries, None)? {
            return self.heal(None).await;
        }
        if looked == Looked::More {
            // Whoever waits for what there is more is not served yet.
            self.applier.signals.look();
            return Ok(());
        }
        self.applier.health.answered();
        self.applier.note_looked(looked);
        if let Some(several) = &mut self.several {
            several.follower.answered(&self.applier);
        }
        Ok(())
    }

    /// Notes that the journal cannot be read; mends it if it is not the one this node followed.
    async fn read_failed(&mut self, broken: &JournalError) -> Result<(), Stop> {
        if self.applier.is_lost(broken) {
            return self.heal(None).await;
        }
        self.applier.failed(broken)?;
        Ok(())
    }

    fn may_have_lost(&self) -> bool {
        self.several.as_ref().is_some_and(|several| several.healer.may_have_lost())
    }

    /// Has the journal mended, where several nodes share it.
    async fn heal(&mut self, batch: Option<&mut Batch>) -> Result<(), Stop> {
        let Some(several) = &mut self.several else { return Ok(()) };
        let before = self.applier.replica.durable().branch;
        let healed = several.healer.heal(&mut self.applier, batch).await;
        if self.applier.replica.durable().branch != before {
            several.follower.drop_poll();
        }
        healed
    }

    /// Goes over to what the store has, and keeps what it lacks to append it again; says whether that worked.
    pub(crate) async fn switch_branch(&mut self) -> bool {
        let Some(several) = &mut self.several else { return false };
        let switched = several.healer.switch_branch(&mut self.applier).await;
        several.follower.drop_poll();
        matches!(switched, Ok(Ok(_)))
    }
}

impl Drop for Appender {
    /// Nobody serves the queue any more: whoever waits in it, or comes later, must not wait for ever.
    fn drop(&mut self) {
        self.applier.queue.close();
        reject_all(
            &self.applier.queue,
            &CommandError::Unavailable("this node has ended".to_owned()),
        );
    }
}
