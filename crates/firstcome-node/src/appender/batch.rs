//! The batch under way, how long it waits for more commands, and what its callers hear.
//!
//! Each commit costs about the same, however many commands share it, and a file is written so quickly that a flood over
//! many connections comes in pieces of a few commands. A pause of a fraction of a millisecond makes them fewer and larger.
//! Where the batches are small, no pause: other threads that could run now, those of the connections above all, run first.

use crate::answer::{Answer, Decided};
use crate::appender::queue::Queue;
use crate::appender::queue::{Pending, QueuedRequest};
use crate::appender::reply::{Wakeups, reply_channel};
use crate::error::CommandError;
use crate::replica::{AppliedEntry, Replica};
use firstcome_core::command::{Body, BodyWriter, level_of};
use firstcome_core::{Command, Outcome};
use firstcome_inject::{Mistake, inject};
use firstcome_journal::{Confirm, Name};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The batch under way.
pub(crate) struct Batch {
    /// Its own name: that of the first body that was written of it.
    pub(crate) of: Name,
    /// The name of the body that is sent now.
    pub(crate) name: Name,
    /// The level of the space when it was gathered. Its body is of a higher one while it has a command that raises the space.
    pub(crate) level: u32,
    pub(crate) body: Arc<[u8]>,
    pub(crate) pending: Vec<Pending>,
    /// Whether a copy may be on its way to the journal, or in it.
    pub(crate) maybe_sent: bool,
    /// What the store said about the copy it took last.
    pub(crate) confirm: Option<Confirm>,
}

impl Batch {
    /// Returns the answers of the batch's own entry.
    ///
    /// None if the entry is a second copy: the first was answered when it was seen.
    pub(crate) fn answers(
        &mut self,
        outcomes: impl ExactSizeIterator<Item = Outcome>,
        applied: AppliedEntry,
    ) -> Answers {
        let position = applied.position;
        if outcomes.len() != self.pending.len() {
            return Answers::default();
        }
        let both = self.pending.drain(..).zip(outcomes);
        let answer = |outcome| Answer { outcome, position, decided: Decided::Journal };
        Answers(both.map(|(pending, outcome)| (pending, answer(outcome))).collect())
    }

    pub(crate) fn answer_all(&mut self, failure: &CommandError) {
        let mut wakeups = Wakeups::default();
        for pending in self.pending.drain(..) {
            pending.reply.answer(Err(failure.clone()), &mut wakeups);
        }
        wakeups.send();
    }

    /// Says whether nobody waits any more.
    pub(crate) fn is_over(&self) -> bool {
        self.pending.iter().all(|pending| pending.reply.is_over())
    }

    /// Notes that it is about to be sent: whoever gives up from now on hears `unknown`.
    ///
    /// Whoever gave up before heard that nothing changed, and nothing may: their commands leave the batch. Once a copy
    /// may be in the journal they keep their places.
    pub(crate) fn leave(&mut self) {
        if self.maybe_sent {
            return;
        }
        let stay: Vec<bool> = self.pending.iter().map(|pending| pending.reply.send()).collect();
        if stay.contains(&false) {
            let mut stays = stay.iter();
            self.pending.retain(|_| *stays.next().unwrap_or(&false));
            let mut stays = stay.into_iter();
            let kept = keep((self.name, self.of, self.level), &self.body, |_| {
                stays.next().unwrap_or(false)
            });
            self.body = kept.body.into();
        }
    }

    /// Notes that the journal has not taken it, unless an earlier copy may be there.
    pub(crate) fn was_not_sent(&self) {
        if !self.maybe_sent {
            self.pending.iter().for_each(|pending| pending.reply.was_not_sent());
        }
    }

    /// Writes its body under another name. Of the branches that a failover leaves, one may have the body that was sent before,
    /// and this one comes to another: no name may stand for both.
    pub(crate) fn write_again(&mut self, name: Name) {
        self.name = name;
        let Ok(body) = BodyWriter::again(&self.body, name) else {
            panic!("a body that was written here can be read again")
        };
        self.body = body.into();
        if inject(Mistake::NewNumberOnResend) {
            self.of = name;
            self.body = keep((name, name, self.level), &self.body, |_| true).body.into();
        }
    }

    /// Leaves out what only held on the branch this batch was written on, now that it is abandoned.
    pub(crate) fn move_to_another_branch(&mut self) {
        let kept = keep_unbound((self.name, self.of), &self.body);
        if self.pending.len() != kept.kept.len() {
            // Nobody waits any more.
            self.body = kept.body.into();
            return;
        }
        let mut pending = Vec::new();
        for (waits, kept) in self.pending.drain(..).zip(&kept.kept) {
            if *kept {
                pending.push(waits);
            } else {
                waits.answer(Err(CommandError::Unknown));
            }
        }
        self.pending = pending;
        self.body = kept.body.into();
    }
}

/// A body without the commands that only hold in the branch they were written in.
pub(crate) struct KeptBody {
    pub(crate) body: Vec<u8>,
    /// Whether each command of the body as it was is still there.
    pub(crate) kept: Vec<bool>,
}

/// Leaves out what a node said about its own branch: ticks carry its digest, settle marks the
/// number up to which a ledger has *that* branch's results.
///
/// # Panics
///
/// The body is not one that was applied or written here.
pub(crate) fn keep_unbound((name, batch): (Name, Name), body: &[u8]) -> KeptBody {
    // Its commands were written at its level, and a raise of the space must not be lost with a branch.
    let level = level_of(body).expect("a body that was applied says its level");
    keep((name, batch, level), body, |command| {
        !command.is_bound_to_its_branch() || inject(Mistake::MarksCarriedOver)
    })
}

/// Writes a body anew with the commands that stay, under a name and of a batch: at this level, or at the one to which one of
/// them raises the space.
fn keep(
    (name, batch, level): (Name, Name, u32),
    body: &[u8],
    mut stays: impl FnMut(&Command<'_>) -> bool,
) -> KeptBody {
    let commands = Body::open(body).and_then(|body| Ok(body.commands()?));
    let Ok(commands) = commands else { panic!("a body that was applied can be read again") };
    let mut writer = BodyWriter::at_level(level, name.node, name.number, 0);
    if batch != name {
        writer = writer.again_of(batch);
    }
    let mut kept = Vec::with_capacity(commands.len());
    for command in &commands {
        let stays = stays(command);
        if let (true, Command::Raise { level, .. }) = (stays, command) {
            writer.raise(*level);
        }
        // What is left of a body fits where the whole body did.
        kept.push(stays && writer.push(command));
    }
    KeptBody { body: writer.finish(), kept }
}

/// Answers on their way out.
#[derive(Default)]
pub(crate) struct Answers(Vec<(Pending, Answer)>);

impl Answers {
    /// Sends them: what they rest on is durable. Each thread that waits for some is woken once.
    pub(crate) fn send(self) {
        let mut wakeups = Wakeups::default();
        for (pending, said) in self.0 {
            pending.reply.answer(Ok(said), &mut wakeups);
        }
        wakeups.send();
    }

    /// Sends them when what they rest on is durable, or as `unknown` when this node switched to another branch.
    ///
    /// Whoever gives up meanwhile has heard `unknown`. Ends when nobody waits any more and no confirmation can come.
    pub(crate) async fn send_when_durable(
        self,
        branch: u64,
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
                replica.confirm(branch, position);
                return;
            }
            // Only a later entry can confirm this one. The next one may lose its confirmation as well: without a
            // pause that would be an entry for each round trip.
            sleep(BEFORE_LATER_ENTRY).await;
            let (reply, ticked) = reply_channel();
            let since = Instant::now();
            drop(queue.push(Pending { request: QueuedRequest::Tick, reply, since }));
            drop(ticked.until(since + LATER_ENTRY).await);
        };
        let mut confirmed = std::pin::pin!(confirmed);
        let mut done = false;
        loop {
            tokio::select! {
                same = replica.endures(branch, position) => {
                    if same {
                        return self.send();
                    }
                    for (pending, _) in self.0 {
                        pending.answer(Err(CommandError::Unknown));
                    }
                    return;
                }
                () = &mut confirmed, if !done => done = true,
                // A confirmation is waited for even if nobody does: readers rest on it as well.
                () = sleep(LATER_ENTRY) => {
                    if self.0.iter().all(|(pending, _)| pending.reply.is_over()) {
                        return;
                    }
                }
            }
        }
    }
}

/// The pause before an entry is appended that is to confirm others.
const BEFORE_LATER_ENTRY: Duration = Duration::from_millis(50);
/// How long an entry that is to confirm others is waited for.
const LATER_ENTRY: Duration = Duration::from_secs(5);

/// Answers all that wait and were never sent.
pub(crate) fn reject_all(queue: &Queue, failure: &CommandError) {
    for pending in queue.take_all() {
        pending.answer(Err(failure.clone()));
    }
}

/// The pause before a batch.
const PAUSE: Duration = Duration::from_micros(250);
/// Commands in the batch before, from which on there is a pause. Fewer come from few callers, who would only wait longer: with
/// 64 connections that wait for their answers a pause saved processor time and cost claims per second.
const BUSY: usize = 48;
/// Commands in the batch before, below which other threads come first. An idle machine has none, so nobody waits.
const FEW: usize = 16;
/// Commands that wait, from which on there is no pause: the share of a commit that each of them bears is small.
const ENOUGH: usize = 256;

/// Pauses between the batches of an appender that has a thread of its own.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    /// How many commands the batch before had.
    before: usize,
}

impl Gathering {
    /// Lets more commands arrive: a moment, where a batch is due soon after a large one. It blocks the thread, because a
    /// runtime's timer counts in milliseconds.
    pub(crate) fn pause(&self, waiting: usize) {
        if self.is_busy(waiting) {
            thread::sleep(PAUSE);
        } else if self.before < FEW {
            thread::yield_now();
        }
    }

    /// Notes how many commands a batch had.
    pub(crate) fn took(&mut self, commands: usize) {
        self.before = commands;
    }

    fn is_busy(&self, waiting: usize) -> bool {
        self.before >= BUSY && waiting < ENOUGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_pause_in_a_flood_only_and_not_where_enough_wait() {
        let mut gathering = Gathering::default();
        assert!(!gathering.is_busy(1), "the first command does not wait");
        gathering.took(1);
        assert!(!gathering.is_busy(BUSY), "nor do those of one caller after the other");
        gathering.took(BUSY);
        assert!(gathering.is_busy(1));
        assert!(!gathering.is_busy(ENOUGH));
        gathering.took(0);
        assert!(!gathering.is_busy(1));
    }
}
