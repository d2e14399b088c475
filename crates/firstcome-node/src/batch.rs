//! The batch under way, and what its callers hear.

use super::ask::{Answer, Ask, Decided, Waiting};
use super::queue::Queue;
use super::replica::{Applied, Replica};
use crate::failure::Failure;
use firstcome_core::command::{Body, BodyWriter};
use firstcome_core::{Command, Outcome};
use firstcome_inject::{Mistake, inject};
use firstcome_journal::{Confirm, Name};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until};

/// The batch under way.
pub(super) struct Batch {
    pub(super) name: Name,
    pub(super) body: Arc<[u8]>,
    pub(super) waiting: Vec<Option<Waiting>>,
    /// Whether a copy may be on its way to the journal, or in it.
    pub(super) maybe_sent: bool,
    /// Whether the journal is asked to take it at this moment.
    pub(super) is_sent: bool,
    /// What the store said about the copy it took last.
    pub(super) confirm: Option<Confirm>,
}

impl Batch {
    /// Gives the answers of the batch's own entry to those who still wait.
    ///
    /// None if the entry is a second copy: the first was answered when it was seen.
    pub(super) fn answers(
        &mut self,
        outcomes: impl ExactSizeIterator<Item = Outcome>,
        applied: Applied,
    ) -> Answers {
        let position = applied.position;
        if outcomes.len() != self.waiting.len() {
            return Answers::default();
        }
        let both = self.waiting.drain(..).zip(outcomes);
        Answers(
            both.filter_map(|(waiting, outcome)| {
                let answer = Answer { outcome, position, decided: Decided::Journal };
                Some((waiting?, answer))
            })
            .collect(),
        )
    }

    pub(super) fn answer_all(&mut self, failure: &Failure) {
        for waiting in self.waiting.drain(..).flatten() {
            answer(waiting, Err(failure.clone()));
        }
    }

    /// Answers those whose time is over: `unknown` if it may have been sent, and they keep their places.
    ///
    /// Otherwise they hear that nothing changed, and nothing may: their commands leave the batch.
    pub(super) fn answer_overdue(&mut self) {
        let now = Instant::now();
        let is_over = |waiting: &mut Waiting| waiting.until <= now;
        if self.maybe_sent || self.is_sent {
            let wrong = inject(Mistake::UnavailableForUnknown);
            for slot in &mut self.waiting {
                if let Some(waiting) = slot.take_if(is_over) {
                    answer(waiting, Err(if wrong { not_taken() } else { Failure::Unknown }));
                }
            }
            return;
        }
        let mut stay = Vec::with_capacity(self.waiting.len());
        for slot in &mut self.waiting {
            if let Some(waiting) = slot.take_if(is_over) {
                answer(waiting, Err(not_taken()));
            }
            stay.push(slot.is_some());
        }
        if stay.contains(&false) {
            self.waiting.retain(Option::is_some);
            let mut stay = stay.into_iter();
            let kept = keep(self.name, &self.body, |_| stay.next().unwrap_or(false));
            self.body = kept.body.into();
        }
    }

    /// Makes another batch of it, of the same commands: see [`Mistake::NewNumberOnResend`].
    pub(super) fn renumber(&mut self, number: u64) {
        let body =
            Body::open(&self.body).and_then(|body| Ok((body.head.durable, body.commands()?)));
        let Ok((durable, commands)) = body else { return };
        self.name.number = number;
        let mut writer = BodyWriter::new(self.name.node, number, durable);
        // What fitted before does again.
        commands.iter().all(|command| writer.push(command));
        self.body = writer.finish().into();
    }

    /// Leaves out what only held in the history this batch was written in, now that it is over.
    pub(super) fn move_to_another_history(&mut self) {
        let kept = keep_timeless(self.name, &self.body);
        if self.waiting.len() != kept.kept.len() {
            // Nobody waits any more.
            self.body = kept.body.into();
            return;
        }
        let mut waiting = Vec::new();
        for (slot, kept) in self.waiting.drain(..).zip(&kept.kept) {
            match slot {
                slot if *kept => waiting.push(slot),
                Some(lost) => answer(lost, Err(Failure::Unknown)),
                None => {}
            }
        }
        self.waiting = waiting;
        self.body = kept.body.into();
    }
}

/// A body without the commands that only hold in the history they were written in.
pub(super) struct Kept {
    pub(super) body: Vec<u8>,
    /// Whether each command of the body as it was is still there.
    pub(super) kept: Vec<bool>,
}

/// Leaves out what a node said about its own history: ticks carry its digest, settle marks the
/// number up to which a ledger has *that* history's results.
///
/// # Panics
///
/// The body is not one that was applied or written here.
pub(super) fn keep_timeless(name: Name, body: &[u8]) -> Kept {
    keep(name, body, |command| match command {
        Command::Claim { .. }
        | Command::Cancel { .. }
        | Command::Put { .. }
        | Command::Steer { .. }
        | Command::Hold { .. }
        | Command::Change { .. }
        | Command::Extend { .. }
        | Command::Release { .. }
        | Command::Confirm { .. }
        | Command::Seats { .. }
        | Command::Block { .. }
        | Command::Move { .. } => true,
        Command::Tick { .. } | Command::Settled { .. } => inject(Mistake::MarksCarriedOver),
    })
}

/// Writes a body anew with the commands that stay.
fn keep(name: Name, body: &[u8], mut stays: impl FnMut(&Command<'_>) -> bool) -> Kept {
    let commands = Body::open(body).map(|body| body.commands());
    let Ok(Ok(commands)) = commands else { panic!("a body that was applied can be read again") };
    let mut writer = BodyWriter::new(name.node, name.number, 0);
    let mut kept = Vec::with_capacity(commands.len());
    for command in &commands {
        // What is left of a body fits where the whole body did.
        kept.push(stays(command) && writer.push(command));
    }
    Kept { body: writer.finish(), kept }
}

/// Answers on their way out.
#[derive(Default)]
pub(super) struct Answers(Vec<(Waiting, Answer)>);

impl Answers {
    /// Lets them go: what they rest on is durable.
    pub(super) fn leave(self) {
        for (waiting, said) in self.0 {
            answer(waiting, Ok(said));
        }
    }

    /// Lets them go when what they rest on is durable, or as `unknown` when their time is over or
    /// this node's history was replaced.
    pub(super) async fn leave_when_durable(
        mut self,
        history: u64,
        position: u64,
        confirm: Option<Confirm>,
        replica: Arc<Replica>,
        queue: Arc<Queue>,
    ) {
        let confirmed = async {
            let heard = match confirm {
                Some(Confirm::AtOnce) => true,
                Some(Confirm::Later(heard)) => heard.await.is_ok(),
                None => false,
            };
            if heard {
                replica.confirm(history, position);
                return;
            }
            // Only a later entry can confirm this one. The next one may lose its confirmation as well: without a
            // pause that would be an entry for each round trip.
            sleep(BEFORE_LATER_ENTRY).await;
            let (reply, ticked) = oneshot::channel();
            let until = Instant::now() + LATER_ENTRY;
            drop(queue.push(Waiting { ask: Ask::Tick, reply, until }));
            drop(ticked.await);
        };
        let mut confirmed = std::pin::pin!(confirmed);
        let mut done = false;
        loop {
            let first = self.0.iter().map(|(waiting, _)| waiting.until).min();
            // A confirmation is waited for even if nobody does: readers rest on it as well.
            let until = first.unwrap_or_else(|| Instant::now() + LATER_ENTRY);
            tokio::select! {
                same = replica.endures(history, position) => {
                    if same {
                        return self.leave();
                    }
                    for (waiting, _) in self.0 {
                        answer(waiting, Err(Failure::Unknown));
                    }
                    return;
                }
                () = &mut confirmed, if !done => done = true,
                () = sleep_until(until) => {
                    if first.is_none() {
                        return;
                    }
                    let now = Instant::now();
                    for (waiting, _) in self.0.extract_if(.., |(waiting, _)| waiting.until <= now) {
                        answer(waiting, Err(Failure::Unknown));
                    }
                }
            }
        }
    }
}

/// The pause before an entry is appended that is to confirm others.
const BEFORE_LATER_ENTRY: std::time::Duration = std::time::Duration::from_millis(50);
/// How long an entry that is to confirm others is waited for.
const LATER_ENTRY: std::time::Duration = std::time::Duration::from_secs(5);

/// Answers those whose time is over before anything of theirs was sent.
pub(super) fn answer_overdue(queue: &Queue) {
    for waiting in queue.take_overdue(Instant::now()) {
        answer(waiting, Err(not_taken()));
    }
}

/// Answers all that wait and were never sent.
pub(super) fn turn_away(queue: &Queue, why: &str) {
    queue.take_while(|waiting| {
        answer(waiting, Err(Failure::Unavailable(why.into())));
        Ok(())
    });
}

fn not_taken() -> Failure {
    Failure::Unavailable("the journal did not take it in time".into())
}

pub(super) fn answer(waiting: Waiting, answer: Result<Answer, Failure>) {
    // Whoever does not wait any more has gone: what they asked for stands all the same.
    drop(waiting.reply.send(answer));
}
