//! A store that fails over to a copy which lags, or restarts from an older file, has lost its newest
//! entries. The nodes have them: they put them back.
//!
//! | What the store has | What a node does |
//! |---|---|
//! | its head is an ancestor of what I applied | puts the missing entries back whole, oldest first |
//! | its head is what I applied, or beyond it | waits a moment for nodes that saw more, goes on |
//! | its head is older than the entries I keep, and it is the same space | re-seeds it with my state |
//! | nothing of the space | waits for the word to re-seed it, the operator's or its own (`emptied`) |
//! | another entry where I applied one (a fork) | goes over to the store's history and brings what it lacks: `fork` |
//!
//! Several nodes may do so at once: every step is conditional on what its node saw.

pub(crate) mod emptied;
pub(crate) mod entering;
pub(crate) mod fork;
pub(crate) mod retransmit;
pub(crate) mod suspensions;

use crate::appender::applier::{Applier, Applying};
use crate::appender::batch::Batch;
use crate::event::log;
use crate::heal::fork::{Fork, Step, entry_in_store};
use crate::replica::Stop;
use firstcome_core::limits::{BATCH_BYTES, READ_ENTRIES};
use firstcome_core::{State, newest_level};
use firstcome_inject::{Mistake, inject};
use firstcome_journal::cluster::{Membership, Seed};
use firstcome_journal::{EntriesRead, Entry, Head, JournalError, Looked, Name};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

/// The pause before the journal is looked at again after a failure; it doubles up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);
/// How long a node waits for others that may have seen more, at least.
const OTHERS_AT_LEAST: Duration = Duration::from_millis(500);
/// How long it waits while a node that announced itself is beyond the head.
const OTHERS_AT_MOST: Duration = Duration::from_secs(5);
/// How often it looks meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Mends a journal that its store lost a part of.
pub(crate) struct Healer {
    /// Counts how often the store may have become another one.
    incarnations: watch::Receiver<u64>,
    /// The nodes that send heartbeats.
    membership: watch::Receiver<Option<Membership>>,
    fork: Fork,
}

impl Healer {
    pub(crate) fn new(
        incarnations: watch::Receiver<u64>,
        membership: watch::Receiver<Option<Membership>>,
        fork: Fork,
    ) -> Self {
        Self { incarnations, membership, fork }
    }

    /// Says whether the store may have lost something since this was last asked.
    pub(crate) fn may_have_lost(&self) -> bool {
        self.incarnations.has_changed().unwrap_or(false)
    }

    /// Goes over to the branch that the store has, once.
    pub(crate) async fn switch_branch(
        &mut self,
        applier: &mut Applier,
    ) -> Result<Result<Step, JournalError>, Stop> {
        self.fork.switch_branch(applier, None).await
    }

    /// Mends the journal, or goes over to its history, until it and this node agree.
    ///
    /// Ends early, with nothing mended, when this node is to stop and nobody waits any more.
    pub(crate) async fn heal(
        &mut self,
        applier: &mut Applier,
        mut batch: Option<&mut Batch>,
    ) -> Result<(), Stop> {
        applier.metrics.heals.inc();
        let (begun, before) = (Instant::now(), applier.metrics.put_back.get());
        log!(HealingBegan, "the store may have lost entries: looking at the journal");
        let mut pause = FIRST;
        loop {
            self.incarnations.borrow_and_update();
            match self.mend(applier, batch.as_deref_mut()).await? {
                Ok(Step::Whole) if !self.may_have_lost() => {
                    applier.health.answered();
                    applier.signals.agrees();
                    let put_back = applier.metrics.put_back.get() - before;
                    let took_ms = begun.elapsed().as_millis() as u64;
                    log!(HealingEnded, put_back, took_ms, "journal and node agree");
                    return Ok(());
                }
                Ok(Step::Whole | Step::Again) => pause = FIRST,
                Err(broken) => {
                    applier.failed(&broken)?;
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST);
                }
            }
            let given_up = batch.as_ref().is_none_or(|batch| applier.is_given_up(batch));
            if given_up && applier.queue.is_over() {
                return Ok(());
            }
        }
    }

    /// Looks at the journal once and does what it needs.
    async fn mend(
        &mut self,
        applier: &mut Applier,
        batch: Option<&mut Batch>,
    ) -> Result<Result<Step, JournalError>, Stop> {
        let head = applier.until_answer_or_shutdown(batch.as_deref(), applier.journal.head()).await;
        let space = applier.replica.look(State::space);
        applier.signals.looked(&head, space);
        let head = match head {
            Ok(head) => head,
            Err(JournalError::Gone(space)) if !applier.signals.may_reseed() => {
                // The next heartbeat marks the store.
                applier.signals.endure();
                return Ok(Err(JournalError::Gone(space)));
            }
            Err(JournalError::Gone(space)) => {
                return Ok(match self.reseed(applier, None, batch).await {
                    Err(JournalError::Moved { .. }) => Err(JournalError::Gone(space)),
                    done => done,
                });
            }
            Err(broken) => return Ok(Err(broken)),
        };
        applier.signals.reseeded();
        if head.space != space {
            return Ok(Err(JournalError::OtherSpace { found: head.space, wanted: space }));
        }
        if head.level > newest_level() {
            let why = JournalError::TooNew(head.level).to_string();
            return Err(Stop::Unreadable { position: head.position, why });
        }
        if applier.signals.must_switch_branch() {
            return self.fork.switch_branch(applier, batch).await;
        }
        let ours = applier.replica.look(State::stamp);
        let common = head.position.min(ours.position);
        let found = applier
            .until_answer_or_shutdown(batch.as_deref(), entry_in_store(&applier.journal, common))
            .await;
        let found = match found {
            Ok(found) => found,
            Err(broken) => return Ok(Err(broken)),
        };
        if let Some(found) = found.as_ref().filter(|_| common == head.position)
            && found.name().ok() != Some(head.name)
        {
            // The store went on with another branch in between: what one has says nothing of the other.
            return Ok(Err(JournalError::Changed));
        }
        let applied = (common == ours.position).then_some(ours.name());
        let known = applied.or_else(|| applier.retransmit.name_at(common));
        let same = match &found {
            // Every history begins with nothing, but one that was seeded anew cannot be read from there.
            _ if common == 0 && head.first == 1 => Some(true),
            Some(entry) => known.map(|name| entry.name().is_ok_and(|found| found == name)),
            // Nothing stands there but what the head says: the store goes on behind a state.
            None if common == head.position => known.map(|name| name == head.name),
            None => None,
        };
        let same = match &found {
            Some(found) if inject(Mistake::HeightForName) => {
                if let Ok(name) = found.name()
                    && common == ours.position
                {
                    applier.replica.rename(name);
                }
                Some(true)
            }
            _ => same,
        };
        let lower = head.position < ours.position;
        // Who started from a snapshot does not have what was before it.
        let has_next = applier.retransmit.first().is_some_and(|first| first <= head.position + 1);
        match same {
            Some(true) if lower && !has_next => {
                return Ok(self.reseed(applier, Some(head), batch).await);
            }
            Some(true) if lower => return Ok(self.backfill(applier, head, batch).await),
            Some(true) => {}
            // A store that has less than this node can tell is older than what this node keeps.
            None if lower => return Ok(self.reseed(applier, Some(head), batch).await),
            Some(false) | None => return self.fork.switch_branch(applier, batch).await,
        }
        if self.fork.has_orphans() {
            return self.fork.repropose(applier, head, batch).await;
        }
        self.fork.report(applier).await;
        self.wait_for_others(applier, batch).await
    }

    /// Puts back, whole, what the store lost.
    async fn backfill(
        &mut self,
        applier: &mut Applier,
        head: Head,
        batch: Option<&mut Batch>,
    ) -> Result<Step, JournalError> {
        let (mut position, mut before) = (head.position, head.name);
        loop {
            let mut bytes = 0;
            let mut fits = |entry: &Entry| {
                bytes += entry.body.len();
                bytes <= BATCH_BYTES
            };
            let missing = applier.retransmit.after(position).take(READ_ENTRIES).enumerate();
            let part: Vec<(Entry, Name)> = missing
                .take_while(|(place, (entry, _))| fits(entry) || *place == 0)
                .map(|(_, (entry, name))| (entry.clone(), name))
                .collect();
            let Some((last, name)) = part.last().map(|(entry, name)| (entry.position, *name))
            else {
                return Ok(Step::Again);
            };
            let count = part.len() as u64;
            let restamped = |mut entry: Entry| {
                if inject(Mistake::BackfillWithNewTime) {
                    entry.at = entry.at.max(head.now);
                }
                entry
            };
            let entries = part.into_iter().map(|(entry, _)| restamped(entry)).collect();
            let put = applier.journal.put_back(position, before, entries);
            match applier.until_answer_or_shutdown(batch.as_deref(), put).await {
                Ok(()) => {
                    applier.metrics.put_back.inc_by(count);
                }
                // Somebody else puts back too, or appends.
                Err(JournalError::Moved { .. }) => return Ok(Step::Again),
                Err(broken) => return Err(broken),
            }
            (position, before) = (last, name);
        }
    }

    /// Has the store go on behind this node's state.
    ///
    /// The epoch is raised: whoever followed another history since must find out.
    async fn reseed(
        &mut self,
        applier: &mut Applier,
        seen: Option<Head>,
        batch: Option<&mut Batch>,
    ) -> Result<Step, JournalError> {
        let stamp = applier.replica.look(State::stamp);
        let mut frozen = applier.replica.look(|state| state.freeze(true));
        while let Some(mut piece) = frozen.next_piece() {
            let Some(bytes) = piece.bytes.take() else { continue };
            let put = applier.journal.put_piece(piece.name, bytes);
            applier.until_answer_or_shutdown(batch.as_deref(), put).await?;
        }
        let manifest = frozen.finish();
        let seed = Seed {
            position: stamp.position,
            name: stamp.name(),
            at: stamp.at,
            epoch: seen.map_or(stamp.epoch, |seen| seen.epoch.max(stamp.epoch)) + 1,
            level: stamp.level,
            pieces: manifest.pieces.clone(),
            manifest: manifest.encode(),
        };
        let reseeded = applier.journal.reseed(seen, seed);
        match applier.until_answer_or_shutdown(batch.as_deref(), reseeded).await {
            Ok(()) => {
                applier.metrics.reseeds.inc();
                let position = stamp.position;
                log!(StoreReseeded, position, "the store goes on behind the state of this node");
                applier.signals.reseeded();
                Ok(Step::Again)
            }
            Err(JournalError::Moved { .. }) if seen.is_some() => Ok(Step::Again),
            Err(broken) => Err(broken),
        }
    }

    /// Waits for nodes that may have seen more than the store has now, and takes in what they put back.
    async fn wait_for_others(
        &mut self,
        applier: &mut Applier,
        mut batch: Option<&mut Batch>,
    ) -> Result<Result<Step, JournalError>, Stop> {
        if inject(Mistake::AppendRightAfterFailover) {
            return Ok(Ok(Step::Whole));
        }
        let begun = Instant::now();
        let epoch = applier.replica.look(State::token).epoch;
        let mut beyond = 0;
        loop {
            if let Some(membership) = &*self.membership.borrow() {
                let others = membership.nodes.iter().filter(|(node, _)| node.epoch == epoch);
                beyond = others.map(|(node, _)| node.position).fold(beyond, u64::max);
            }
            let (applied, _) = applier.replica.applied();
            let asked = Instant::now();
            let read = applier.journal.read(applied);
            let EntriesRead { entries, looked } =
                match applier.until_answer_or_shutdown(batch.as_deref(), read).await {
                    Ok(read) => read,
                    Err(broken) => return Ok(Err(broken)),
                };
            if self.may_have_lost() {
                return Ok(Ok(Step::Again));
            }
            if let Applying::Broke = applier.apply(entries, batch.as_deref_mut())? {
                return Ok(Ok(Step::Again));
            }
            applier.note_looked(looked);
            if looked == Looked::More {
                continue;
            }
            let (applied, _) = applier.replica.applied();
            let waited = begun.elapsed();
            let enough = if applied < beyond { OTHERS_AT_MOST } else { OTHERS_AT_LEAST };
            if waited >= enough {
                return Ok(Ok(Step::Whole));
            }
            sleep_until(asked + LOOK_EVERY).await;
        }
    }
}
