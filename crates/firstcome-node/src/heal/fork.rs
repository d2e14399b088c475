//! Forks: switching to the store's branch where it and this node's differ, and re-proposing what it lacks.
//!
//! The bodies this node has and the store's branch lacks, the orphaned entries, are appended again, in their old order
//! and each names the batch that it is of. The rules take a batch whose number is not above its node's last one
//! for a copy, so that two nodes which re-propose the same one harm nobody; and a node that switched
//! writes under a new identity from then on, so that what others re-propose of it is never below what it
//! wrote since.

mod codes;
mod orphan;
mod report;

use crate::appender::applier::{Applier, Applying};
use crate::appender::batch::{Answers, Batch, keep_unbound};
use crate::error::CommandError;
use crate::event::Event;
use crate::event::log;
use crate::heal::suspensions::Suspensions;
use crate::replica::Stop;
use crate::replica::load::{self, Branch, CannotStart};
use crate::says::Says;
use firstcome_core::State;
use firstcome_core::limits::NODE_MEMORY_US;
use firstcome_core::names::NodeId;
use firstcome_inject::{Mistake, inject};
use firstcome_journal::{Append, Entry, Head, Journal, JournalError};
use orphan::Orphan;
use report::AbandonedBranch;
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

/// What one look at the journal came to.
pub(crate) enum Step {
    /// It is the journal this node follows, and has what this node applied.
    Whole,
    /// Something was done, or another node did: look again.
    Again,
}

/// What this node still has of a branch it left.
pub(crate) struct Fork {
    /// Entries of the abandoned branch which the journal does not have yet.
    orphans: Vec<Orphan>,
    /// The abandoned branch, until it was reported what became of it.
    abandoned: Option<AbandonedBranch>,
    says: Says,
    /// Codes that changed hands.
    suspensions: Arc<Suspensions>,
    /// The last reports of this node: the store may lose them as it may lose entries.
    reports: VecDeque<SaidReport>,
}

/// What this node said of a fork.
struct SaidReport {
    epoch: u32,
    writer: NodeId,
    text: String,
}

/// Reports that are kept, of at most 1 MiB each.
const REPORTS: usize = 4;

impl Fork {
    pub(crate) fn new(says: Says, suspensions: Arc<Suspensions>) -> Self {
        let (orphans, reports) = (Vec::new(), VecDeque::new());
        Self { orphans, abandoned: None, says, suspensions, reports }
    }

    /// Says whether entries are left that the journal lacks.
    pub(crate) fn has_orphans(&self) -> bool {
        !self.orphans.is_empty()
    }

    /// Switches to the store's branch, and notes what it lacks.
    pub(crate) async fn switch_branch(
        &mut self,
        applier: &mut Applier,
        batch: Option<&mut Batch>,
    ) -> Result<Result<Step, JournalError>, Stop> {
        applier.health.trouble(
            CommandError::Unavailable("the journal forked: this node switches branches".into()),
            "the journal has another branch than this node, which switches to it".into(),
        );
        let loaded = load::branch(&applier.journal, |_, _| {}, u64::MAX, &applier.retransmit);
        let loaded = applier.until_answer_or_shutdown(batch.as_deref(), async { Ok(loaded.await) });
        let Branch { state, kept, fork, .. } = match loaded.await {
            Ok(Ok(branch)) => branch,
            Err(broken) | Ok(Err(CannotStart::Journal(broken))) => return Ok(Err(broken)),
            // The store went on with another branch while this one was read.
            Ok(Err(CannotStart::Entry(Stop::NotNext { .. })))
                if !inject(Mistake::MixedBranchesStop) =>
            {
                return Ok(Err(JournalError::Changed));
            }
            Ok(Err(CannotStart::Entry(stop))) => return Err(stop),
            Ok(Err(CannotStart::Snapshot(why))) => {
                let position = applier.replica.applied().0;
                return Err(Stop::Unreadable { position, why: why.to_string() });
            }
        };
        let lost = applier.retransmit.switch_branch(kept, fork);
        let mut orphans = applier.replica.look(|ours_then| Orphan::of(lost, ours_then.service()));
        let is_missing = |orphan: &Orphan| !state.has_run(orphan.batch);
        if fork.is_none() {
            orphans.retain(is_missing);
        }
        let mut abandoned =
            applier.replica.look(|ours_then| AbandonedBranch::of(ours_then, fork, &orphans));
        orphans.retain(is_missing);
        let state = applier.replica.replace(state);
        applier.signals.switched_branch();
        let is_behind = |now: &State| match fork {
            Some(fork) => fork >= state.position(),
            None => may_lead_to(&state, now),
        };
        if orphans.is_empty() && applier.replica.look(is_behind) {
            // Nothing of it is over.
            return Ok(Ok(Step::Again));
        }
        if fork.is_none() {
            abandoned.codes.note_all(&state);
            abandoned.whole.push(state);
        }
        self.leave(abandoned, orphans);
        if let Some(batch) = batch {
            batch.move_to_another_branch();
        }
        if !inject(Mistake::WriterKeptAfterFork) {
            let NodeId(id) = &mut applier.writer;
            let (_, count) = id.split_last_chunk_mut::<8>().expect("an identity has sixteen bytes");
            *count = u64::from_le_bytes(*count).wrapping_add(1).to_le_bytes();
            applier.number = 0;
        }
        applier.metrics.forks.inc();
        let lacking = self.orphans.len();
        log!(
            ForkFound,
            lacking,
            "the store has another branch of the journal: this node switched to it"
        );
        Ok(Ok(Step::Again))
    }

    /// Notes the branch that this node left, and what the store's branch lacks of it.
    fn leave(&mut self, abandoned: AbandonedBranch, orphans: Vec<Orphan>) {
        if !inject(Mistake::OrphansNotReproposed) {
            // What this node had already put back on the branch it leaves now comes before what it had
            // not: a writer's bodies run in the order of their numbers or not at all.
            let not_yet = mem::replace(&mut self.orphans, orphans);
            self.orphans.extend(not_yet);
        }
        match &mut self.abandoned {
            // Switched twice: clients may have been told of either branch.
            Some(first) => first.extend(abandoned),
            None => self.abandoned = Some(abandoned),
        }
    }

    /// Appends what the store's branch lacks, oldest first.
    pub(crate) async fn repropose(
        &mut self,
        applier: &mut Applier,
        head: Head,
        mut batch: Option<&mut Batch>,
    ) -> Result<Result<Step, JournalError>, Stop> {
        let before =
            self.abandoned.as_ref().map_or(head.epoch, |abandoned| abandoned.applied.epoch);
        if head.epoch <= before {
            let raised = applier.journal.raise_epoch(head);
            match applier.until_answer_or_shutdown(batch.as_deref(), raised).await {
                Ok(epoch) if epoch > before => {}
                Ok(_) | Err(JournalError::Moved { .. }) => return Ok(Ok(Step::Again)),
                Err(broken) => return Ok(Err(broken)),
            }
        }
        let mut done = 0;
        for orphan in self.orphans.clone() {
            done += 1;
            let batch_of = orphan.batch;
            let (ran, service) =
                applier.replica.look(|state| (state.has_run(batch_of), state.service()));
            let too_old = orphan.is_too_old(service);
            if too_old
                && !ran
                && let Some(abandoned) = &mut self.abandoned
            {
                abandoned.too_old += 1;
            }
            if ran || too_old {
                continue;
            }
            let (applied, applied_name) = applier.replica.applied();
            let name = applier.next_name();
            let body = keep_unbound((name, batch_of), &orphan.kept.entry.body).body.into();
            let append = applier.journal.append(Append { body, name, applied, applied_name });
            match applier.until_answer_or_shutdown(batch.as_deref(), append).await {
                Ok(exchange) => {
                    applier.metrics.put_back.inc();
                    let applied = applier.apply(exchange.entries, batch.as_deref_mut())?;
                    // More than one read may lie between: then the journal may lose it before this node has it.
                    let has_it = applier.replica.look(|state| state.has_run(batch_of));
                    if !has_it || matches!(applied, Applying::Broke) {
                        self.orphans.drain(..done - 1);
                        return Ok(Ok(Step::Again));
                    }
                    let (applied, _) = applier.replica.applied();
                    applier.release(Answers::default(), applied, Some(exchange.confirm));
                }
                Err(broken) => {
                    self.orphans.drain(..done - 1);
                    return Ok(if applier.is_lost(&broken) {
                        Ok(Step::Again)
                    } else {
                        Err(broken)
                    });
                }
            }
        }
        self.orphans.clear();
        Ok(Ok(Step::Again))
    }

    /// Says, once the journal has all this node could re-propose, who kept, changed or lost a rank.
    ///
    /// What it said before is stored again: whoever calls this knows that the store may have lost something.
    pub(crate) async fn report(&mut self, applier: &mut Applier) {
        let is_new = self.compare(applier);
        for (number, report) in self.reports.iter().rev().enumerate() {
            let SaidReport { epoch, writer, text } = report;
            let stored = applier.journal.report(*epoch, *writer, text.clone());
            let stored = applier.until_answer_or_shutdown(None, stored).await;
            if stored.is_err() && number == 0 && is_new {
                log!(
                    ForkReportNotStored,
                    "the report of the fork could not be stored: keep it\n{text}"
                );
            }
        }
    }

    /// Compares the branch that this node left with the one it is on now, if it left one; says whether it did.
    fn compare(&mut self, applier: &Applier) -> bool {
        let Some(abandoned) = self.abandoned.take() else { return false };
        if inject(Mistake::ForkWithoutReport) {
            return false;
        }
        let suspend = applier.replica.look(|state| abandoned.codes.suspend(state));
        if !inject(Mistake::SharedCodesCount) {
            self.suspensions.add(suspend, &applier.queue);
        }
        let (epoch, text) =
            applier.replica.look(|state| (state.token().epoch, abandoned.compare(state)));
        let summary = text.lines().next().unwrap_or_default();
        log!(ForkMended, "{summary}; `firstcome nodes forks` lists whose");
        (self.says)(Event::ForkReport, &text);
        self.reports.push_back(SaidReport { epoch, writer: applier.writer, text });
        if self.reports.len() > REPORTS {
            self.reports.pop_front();
        }
        true
    }
}

/// Says whether a state may be of the same branch as a later one: nothing shows that it is not.
fn may_lead_to(state: &State, later: &State) -> bool {
    if let Some(digest) = later.digest_at(state.position()) {
        return digest == state.digest();
    }
    // Forks were resolved since, or the store was seeded anew: this one may be of a branch that is over, although all its
    // batches were brought to the other one.
    if later.token().epoch != state.token().epoch {
        return false;
    }
    let last = state.stamp();
    let forgets = later.service() - state.service() >= NODE_MEMORY_US;
    // Of an entry that brought a batch again only its own name is known here: then this may miss, and more is reported.
    later.has_run(last.name()) || forgets
}

/// Returns the entry the store has at a position at or below its head; none before the first, or if
/// it was trimmed.
pub(crate) async fn entry_in_store(
    journal: &Journal,
    position: u64,
) -> Result<Option<Entry>, JournalError> {
    let Some(before) = position.checked_sub(1) else { return Ok(None) };
    match journal.read(before).await {
        Ok(read) => Ok(read.entries.into_iter().next()),
        Err(JournalError::Trimmed { .. }) => Ok(None),
        Err(broken) => Err(broken),
    }
}
