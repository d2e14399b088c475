//! Forks: switching to the store's branch where it and this node's differ, and re-proposing what it lacks.
//!
//! The bodies this node has and the store's branch lacks, the orphaned entries, are appended again, in their old order
//! and under their old names. The rules take a body whose number is not above its writer's last one
//! for a copy, so that two nodes which re-propose the same one harm nobody; and a node that switched
//! writes under a new identity from then on, so that what others re-propose of it is never below what it
//! wrote since.

mod codes;
mod orphan;
mod report;

use crate::applier::{Applier, Applying};
use crate::batch::{Answers, Batch, keep_unbound};
use crate::event::Event;
use crate::event::log;
use crate::failure::Failure;
use crate::load::{self, CannotStart};
use crate::replica::Stop;
use crate::retransmit::Buffered;
use crate::says::Says;
use crate::suspensions::Suspensions;
use firstcome_core::names::NodeId;
use firstcome_inject::{Mistake, inject};
use firstcome_journal::{Append, Entry, Failure as Broken, Head, Journal, Shared};
use orphan::Orphan;
use report::AbandonedBranch;
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
}

impl Fork {
    pub(crate) fn new(says: Says, suspensions: Arc<Suspensions>) -> Self {
        Self { orphans: Vec::new(), abandoned: None, says, suspensions }
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
    ) -> Result<Result<Step, Broken>, Stop> {
        let point = async {
            let head = applier.journal.head().await?;
            fork_point(applier, head).await
        };
        let fork = match applier.patiently(batch.as_deref(), point).await {
            Ok(fork) => fork,
            Err(broken) => return Ok(Err(broken)),
        };
        applier.health.trouble(
            Failure::Unavailable("the journal forked: this node switches branches".into()),
            "the journal has another branch than this node, which switches to it".into(),
        );
        let mut tail = Vec::new();
        let loaded = load::state(
            &applier.journal,
            |_, _| {},
            |entry, name| {
                tail.push((entry, name));
            },
            u64::MAX,
        );
        let loaded = applier.patiently(batch.as_deref(), async { Ok(loaded.await) });
        let state = match loaded.await {
            Ok(Ok((state, _))) => state,
            Err(broken) | Ok(Err(CannotStart::Journal(broken))) => return Ok(Err(broken)),
            Ok(Err(CannotStart::Entry(stop))) => return Err(stop),
            Ok(Err(CannotStart::Snapshot(why))) => {
                let position = applier.replica.applied().0;
                return Err(Stop::Unreadable { position, why: why.to_string() });
            }
        };
        let ours = applier.retransmit.take();
        let mut orphans = applier.replica.look(|ours_then| Orphan::of(ours, ours_then.service()));
        orphans.retain(|orphan| fork.is_none_or(|fork| orphan.kept.entry.position > fork));
        let is_missing =
            |orphan: &Orphan| !state.has_run(orphan.kept.name.node, orphan.kept.name.number);
        if fork.is_none() {
            orphans.retain(is_missing);
        }
        let mut abandoned =
            applier.replica.look(|ours_then| AbandonedBranch::of(ours_then, fork, &orphans));
        orphans.retain(is_missing);
        for (entry, name) in tail {
            applier.retransmit.push(entry, name);
        }
        let state = applier.replica.replace(state);
        applier.signals.switched_branch();
        if orphans.is_empty() && fork.is_none_or(|fork| fork >= state.position()) {
            // This node was only behind.
            return Ok(Ok(Step::Again));
        }
        if fork.is_none() {
            abandoned.codes.note_all(&state);
        }
        abandoned.whole = fork.is_none().then_some(state);
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

    /// Appends what the store's branch lacks, oldest first.
    pub(crate) async fn repropose(
        &mut self,
        applier: &mut Applier,
        shared: &Shared,
        head: Head,
        mut batch: Option<&mut Batch>,
    ) -> Result<Result<Step, Broken>, Stop> {
        let before =
            self.abandoned.as_ref().map_or(head.epoch, |abandoned| abandoned.applied.epoch);
        if head.epoch <= before {
            match applier.patiently(batch.as_deref(), shared.raise_epoch(head)).await {
                Ok(_) => {}
                Err(Broken::Moved { .. }) => return Ok(Ok(Step::Again)),
                Err(broken) => return Ok(Err(broken)),
            }
        }
        let mut done = 0;
        for orphan in self.orphans.clone() {
            done += 1;
            let Buffered { name, ref entry, .. } = orphan.kept;
            let (ran, service) = applier
                .replica
                .look(|state| (state.has_run(name.node, name.number), state.service()));
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
            let body = keep_unbound(name, &entry.body).body.into();
            let append = applier.journal.append(Append { body, name, applied, applied_name });
            match applier.patiently(batch.as_deref(), append).await {
                Ok(exchange) => {
                    applier.metrics.put_back.inc();
                    let applied = applier.apply(exchange.entries, batch.as_deref_mut())?;
                    if let Applying::Broke = applied {
                        done -= 1;
                        self.orphans.drain(..done);
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
    pub(crate) async fn report(&mut self, applier: &mut Applier, shared: &Shared) {
        let Some(abandoned) = self.abandoned.take() else { return };
        if inject(Mistake::ForkWithoutReport) {
            return;
        }
        let suspend = applier.replica.look(|state| abandoned.codes.suspend(state));
        self.suspensions.add(suspend, &applier.queue);
        let (epoch, report) =
            applier.replica.look(|state| (state.token().epoch, abandoned.compare(state)));
        let summary = report.lines().next().unwrap_or_default();
        log!(ForkMended, "{summary}; `firstcome nodes forks` lists whose");
        (self.says)(Event::ForkReport, &report);
        let kept = report.clone();
        let stored = applier.patiently(None, shared.report(epoch, applier.writer, report)).await;
        if stored.is_err() {
            log!(
                ForkReportNotStored,
                "the report of the fork could not be stored: keep it\n{kept}"
            );
        }
    }
}

/// Gives the entry the store has at a position at or below its head; none before the first, or if
/// it was trimmed.
pub(crate) async fn entry_in_store(
    journal: &Journal,
    position: u64,
) -> Result<Option<Entry>, Broken> {
    let Some(before) = position.checked_sub(1) else { return Ok(None) };
    match journal.read(before).await {
        Ok(read) => Ok(read.entries.into_iter().next()),
        Err(Broken::Trimmed { .. }) => Ok(None),
        Err(broken) => Err(broken),
    }
}

/// Gives the last position at which the store has what this node has, if the entries kept tell.
async fn fork_point(applier: &Applier, head: Head) -> Result<Option<u64>, Broken> {
    let Some(first) = applier.retransmit.first() else { return Ok(None) };
    let (applied, _) = applier.replica.applied();
    let (mut same, mut other) = (first, applied.min(head.position) + 1);
    if same > head.position || !is_in_store(applier, same).await? {
        // From the very first entry on they may differ.
        return Ok((first == 1).then_some(0));
    }
    // A branch is the same up to the fork and nowhere beyond it.
    while other - same > 1 {
        let middle = same + (other - same) / 2;
        if is_in_store(applier, middle).await? {
            same = middle;
        } else {
            other = middle;
        }
    }
    Ok(Some(same))
}

/// Says whether the store has what this node has at a position.
async fn is_in_store(applier: &Applier, position: u64) -> Result<bool, Broken> {
    let found = entry_in_store(&applier.journal, position).await?;
    Ok(found.is_some_and(|found| applier.retransmit.has(&found) == Some(true)))
}
