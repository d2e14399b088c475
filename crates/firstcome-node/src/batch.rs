//! The batch under way, and what its callers hear.

use crate::failure::Failure;
use crate::queue::Queue;
use crate::replica::{Applied, Replica};
use crate::request::{Answer, Decided, Pending, Request};
use firstcome_core::command::{Body, BodyWriter};
use firstcome_core::{Command, Outcome};
use firstcome_inject::{Mistake, inject};
use firstcome_journal::{Confirm, Name};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until};

/// The batch under way.
pub(crate) struct Batch {
    pub(crate) name: Name,
    pub(crate) body: Arc<[u8]>,
    pub(crate) pending: Vec<Option<Pending>>,
    /// Whether a copy may be on its way to the journal, or in it.
    pub(crate) maybe_sent: bool,
    /// Whether the journal is asked to take it at this moment.
    pub(crate) is_sent: bool,
    /// What the store said about the copy it took last.
    pub(crate) confirm: Option<Confirm>,
}

impl Batch {
    /// Gives the answers of the batch's own entry to those who still wait.
    ///
    /// None if the entry is a second copy: the first was answered when it was seen.
    pub(crate) fn answers(
        &mut self,
        outcomes: impl ExactSizeIterator<Item = Outcome>,
        applied: Applied,
    ) -> Answers {
        let position = applied.position;
        if outcomes.len() != self.pending.len() {
            return Answers::default();
        }
        let both = self.pending.drain(..).zip(outcomes);
        Answers(
            both.filter_map(|(pending, outcome)| {
                let answer = Answer { outcome, position, decided: Decided::Journal };
                Some((pending?, answer))
            })
            .collect(),
        )
    }

    pub(crate) fn answer_all(&mut self, failure: &Failure) {
        for pending in self.pending.drain(..).flatten() {
            pending.answer(Err(failure.clone()));
        }
    }

    /// Answers those whose time is over: `unknown` if it may have been sent, and they keep their places.
    ///
    /// Otherwise they hear that nothing changed, and nothing may: their commands leave the batch.
    pub(crate) fn answer_overdue(&mut self) {
        let now = Instant::now();
        let is_over = |pending: &mut Pending| pending.until <= now;
        if self.maybe_sent || self.is_sent {
            let wrong = inject(Mistake::UnavailableForUnknown);
            for slot in &mut self.pending {
                if let Some(pending) = slot.take_if(is_over) {
                    pending.answer(Err(if wrong { not_taken() } else { Failure::Unknown }));
                }
            }
            return;
        }
        let mut stay = Vec::with_capacity(self.pending.len());
        for slot in &mut self.pending {
            if let Some(pending) = slot.take_if(is_over) {
                pending.answer(Err(not_taken()));
            }
            stay.push(slot.is_some());
        }
        if stay.contains(&false) {
            self.pending.retain(Option::is_some);
            let mut stay = stay.into_iter();
            let kept = keep(self.name, &self.body, |_| stay.next().unwrap_or(false));
            self.body = kept.body.into();
        }
    }

    /// Makes another batch of it, of the same commands: see [`Mistake::NewNumberOnResend`].
    pub(crate) fn renumber(&mut self, number: u64) {
        let body = Body::open(&self.body).and_then(|body| Ok((body.head, body.commands()?)));
        let Ok((head, commands)) = body else { return };
        self.name.number = number;
        let mut writer = BodyWriter::at_level(head.level, self.name.node, number, head.durable);
        // What fitted before does again.
        commands.iter().all(|command| writer.push(command));
        self.body = writer.finish().into();
    }

    /// Leaves out what only held on the branch this batch was written on, now that it is abandoned.
    pub(crate) fn move_to_another_branch(&mut self) {
        let kept = keep_unbound(self.name, &self.body);
        if self.pending.len() != kept.kept.len() {
            // Nobody waits any more.
            self.body = kept.body.into();
            return;
        }
        let mut pending = Vec::new();
        for (slot, kept) in self.pending.drain(..).zip(&kept.kept) {
            match slot {
                slot if *kept => pending.push(slot),
                Some(lost) => lost.answer(Err(Failure::Unknown)),
                None => {}
            }
        }
        self.pending = pending;
        self.body = kept.body.into();
    }
}

/// A body without the commands that only hold in the branch they were written in.
pub(crate) struct Kept {
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
pub(crate) fn keep_unbound(name: Name, body: &[u8]) -> Kept {
    keep(name, body, |command| {
        !command.is_bound_to_its_branch() || inject(Mistake::MarksCarriedOver)
    })
}

/// Writes a body anew with the commands that stay.
fn keep(name: Name, body: &[u8], mut stays: impl FnMut(&Command<'_>) -> bool) -> Kept {
    let read = Body::open(body).and_then(|body| Ok((body.head.level, body.commands()?)));
    let Ok((level, commands)) = read else { panic!("a body that was applied can be read again") };
    // Its commands were written at this level, and a raise of the space must not be lost with a branch.
    let mut writer = BodyWriter::at_level(level, name.node, name.number, 0);
    let mut kept = Vec::with_capacity(commands.len());
    for command in &commands {
        // What is left of a body fits where the whole body did.
        kept.push(stays(command) && writer.push(command));
    }
    Kept { body: writer.finish(), kept }
}

/// Answers on their way out.
#[derive(Default)]
pub(crate) struct Answers(Vec<(Pending, Answer)>);

impl Answers {
    /// Sends them: what they rest on is durable.
    pub(crate) fn send(self) {
        for (pending, said) in self.0 {
            pending.answer(Ok(said));
        }
    }

    /// Sends them when what they rest on is durable, or as `unknown` when their time is over or
    /// this node switched to another branch.
    pub(crate) async fn send_when_durable(
        mut self,
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
            let (reply, ticked) = oneshot::channel();
            let since = Instant::now();
            let until = since + LATER_ENTRY;
            drop(queue.push(Pending { request: Request::Tick, reply, since, until }));
            drop(ticked.await);
        };
        let mut confirmed = std::pin::pin!(confirmed);
        let mut done = false;
        loop {
            let first = self.0.iter().map(|(pending, _)| pending.until).min();
            // A confirmation is waited for even if nobody does: readers rest on it as well.
            let until = first.unwrap_or_else(|| Instant::now() + LATER_ENTRY);
            tokio::select! {
                same = replica.endures(branch, position) => {
                    if same {
                        return self.send();
                    }
                    for (pending, _) in self.0 {
                        pending.answer(Err(Failure::Unknown));
                    }
                    return;
                }
                () = &mut confirmed, if !done => done = true,
                () = sleep_until(until) => {
                    if first.is_none() {
                        return;
                    }
                    let now = Instant::now();
                    for (pending, _) in self.0.extract_if(.., |(pending, _)| pending.until <= now) {
                        pending.answer(Err(Failure::Unknown));
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
pub(crate) fn answer_overdue(queue: &Queue) {
    for pending in queue.take_overdue(Instant::now()) {
        pending.answer(Err(not_taken()));
    }
}

/// Answers all that wait and were never sent.
pub(crate) fn reject_all(queue: &Queue, why: &str) {
    queue.take_while(|pending| {
        pending.answer(Err(Failure::Unavailable(why.into())));
        Ok(())
    });
}

fn not_taken() -> Failure {
    Failure::Unavailable("the journal did not take it in time".into())
}
