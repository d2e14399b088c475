//! Going over to the store's history where it and this node's part, and bringing along what it lacks.
//!
//! The bodies this node has and the store's history does not are appended again, in their old order
//! and under their old names. The rules take a body whose number is not above its writer's last one
//! for a copy, so that two nodes which bring the same one harm nobody; and a node that went over
//! writes under a new identity from then on, so that what others bring of it is never below what it
//! wrote since.

mod over;

pub(super) use over::Over;

use super::appender::{Appender, Applying};
use super::batch::{Answers, Batch, keep_timeless};
use super::heal::Step;
use super::recent::Kept;
use super::replica::Stop;
use super::start::{self, CannotStart};
use firstcome_core::limits::{NODE_MEMORY_US, SERVICE_STEP_US};
use firstcome_core::names::NodeId;
use firstcome_inject::{Mistake, inject};
use firstcome_journal::{Append, Failure as Broken, Head, Shared};

/// An entry that the store's history lacks.
#[derive(Clone, Debug)]
pub(super) struct Lost {
    kept: Kept,
    /// The service time at which it was applied, in its own history.
    service: i64,
}

impl Appender {
    /// Goes over to the store's history, and notes what it lacks.
    pub(super) async fn go_over(
        &mut self,
        mut batch: Option<&mut Batch>,
    ) -> Result<Result<Step, Broken>, Stop> {
        let point = async {
            let head = self.journal.head().await?;
            self.fork_point(head).await
        };
        let fork = match self.patiently(batch.as_deref_mut(), point).await {
            Ok(fork) => fork,
            Err(broken) => return Ok(Err(broken)),
        };
        self.health.trouble(
            crate::failure::Failure::Unavailable("the journal forked: going over".into()),
            "the journal has another history than this node: going over to it".into(),
        );
        let mut tail = Vec::new();
        let loaded = start::state(
            &self.journal,
            |_, _| {},
            |entry, name| {
                tail.push((entry, name));
            },
        );
        let loaded = self.patiently(batch.as_deref_mut(), async { Ok(loaded.await) });
        let state = match loaded.await {
            Ok(Ok((state, _))) => state,
            Err(broken) | Ok(Err(CannotStart::Journal(broken))) => return Ok(Err(broken)),
            Ok(Err(CannotStart::Entry(stop))) => return Err(stop),
            Ok(Err(CannotStart::Snapshot(why))) => {
                let position = self.replica.applied().0;
                return Err(Stop::Unreadable { position, why: why.to_string() });
            }
        };
        // A question under way is about the history that is over.
        self.asked.abort_all();
        let ours = self.recent.take();
        let mut lost = self.replica.look(|ours_then| Lost::of(ours, ours_then.service()));
        lost.retain(|lost| fork.is_none_or(|fork| lost.kept.entry.position > fork));
        let is_missing = |lost: &Lost| !state.has_run(lost.kept.name.node, lost.kept.name.number);
        if fork.is_none() {
            lost.retain(is_missing);
        }
        let mut over = self.replica.look(|ours_then| Over::of(ours_then, fork, &lost));
        lost.retain(is_missing);
        for (entry, name) in tail {
            self.recent.push(entry, name);
        }
        let state = self.replica.replace(state);
        self.calls.went_over();
        if lost.is_empty() && fork.is_none_or(|fork| fork >= state.position()) {
            // This node was only behind.
            return Ok(Ok(Step::Again));
        }
        over.whole = fork.is_none().then_some(state);
        if !inject(Mistake::OrphansNotReproposed) {
            self.lost.extend(lost);
        }
        match &mut self.over {
            // Gone over twice: clients may have been told of either history.
            Some(first) => first.extend(over),
            None => self.over = Some(over),
        }
        if let Some(batch) = batch {
            batch.move_to_another_history();
        }
        if !inject(Mistake::WriterKeptAfterFork) {
            let NodeId(id) = &mut self.writer;
            let (_, count) = id.split_last_chunk_mut::<8>().expect("an identity has sixteen bytes");
            *count = u64::from_le_bytes(*count).wrapping_add(1).to_le_bytes();
            self.number = 0;
        }
        self.metrics.forks.inc();
        Ok(Ok(Step::Again))
    }

    /// Appends what the store's history lacks, oldest first.
    pub(super) async fn bring(
        &mut self,
        shared: &Shared,
        head: Head,
        mut batch: Option<&mut Batch>,
    ) -> Result<Result<Step, Broken>, Stop> {
        let before = self.over.as_ref().map_or(head.epoch, |over| over.applied.epoch);
        if head.epoch <= before {
            match self.patiently(batch.as_deref_mut(), shared.raise_epoch(head)).await {
                Ok(_) => {}
                Err(Broken::Moved { .. }) => return Ok(Ok(Step::Again)),
                Err(broken) => return Ok(Err(broken)),
            }
        }
        let mut brought = 0;
        for lost in self.lost.clone() {
            brought += 1;
            let Kept { name, ref entry, .. } = lost.kept;
            let (ran, service) =
                self.replica.look(|state| (state.has_run(name.node, name.number), state.service()));
            let too_old = lost.is_too_old(service);
            if too_old
                && !ran
                && let Some(over) = &mut self.over
            {
                over.too_old += 1;
            }
            if ran || too_old {
                continue;
            }
            let (applied, applied_name) = self.replica.applied();
            let body = keep_timeless(name, &entry.body).body.into();
            let append = self.journal.append(Append { body, name, applied, applied_name });
            match self.patiently(batch.as_deref_mut(), append).await {
                Ok(exchange) => {
                    self.metrics.put_back.inc();
                    let history = self.apply(exchange.entries, batch.as_deref_mut())?;
                    if let Applying::Broke = history {
                        brought -= 1;
                        self.lost.drain(..brought);
                        return Ok(Ok(Step::Again));
                    }
                    let (applied, _) = self.replica.applied();
                    self.let_leave(Answers::default(), applied, Some(exchange.confirm));
                }
                Err(broken) => {
                    self.lost.drain(..brought - 1);
                    return Ok(if self.is_lost(&broken) { Ok(Step::Again) } else { Err(broken) });
                }
            }
        }
        self.lost.clear();
        Ok(Ok(Step::Again))
    }

    /// Says, once the journal has all this node could bring, who kept, changed or lost a rank.
    pub(super) async fn tell_of_fork(&mut self, shared: &Shared) {
        let Some(over) = self.over.take() else { return };
        if inject(Mistake::ForkWithoutReport) {
            return;
        }
        let (epoch, report) = self.replica.look(|state| (state.token().epoch, over.compare(state)));
        (self.says)(&report);
        let stored = self.patiently(None, shared.report(epoch, self.writer, report)).await;
        if stored.is_err() {
            (self.says)("the report of the fork could not be stored: keep what stands above");
        }
    }
}

impl Lost {
    /// Gives entries without a gap, the last of which was applied at this service time.
    fn of(kept: Vec<Kept>, mut service: i64) -> Vec<Self> {
        let mut lost: Vec<Self> = Vec::with_capacity(kept.len());
        for kept in kept.into_iter().rev() {
            if let Some(after) = lost.last() {
                let step = after.kept.entry.at.micros_since(kept.entry.at);
                service -= step.min(SERVICE_STEP_US);
            }
            lost.push(Self { kept, service });
        }
        lost.reverse();
        lost
    }

    /// Says whether another node may have brought this so long ago that the rules forgot it: they do after
    /// `NODE_MEMORY_US`.
    ///
    /// A history that heard nothing for long counts little of that time, so this node's own clock has a say;
    /// and who read this late from a store that others had left must go by their history.
    fn is_too_old(&self, service: i64) -> bool {
        let here = i64::try_from(self.kept.since.elapsed().as_micros()).unwrap_or(i64::MAX);
        here.max(service - self.service) >= NODE_MEMORY_US / 6 * 5
    }
}
