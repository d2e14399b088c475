//! Going over to the store's history where it and this node's part, and bringing along what it lacks.
//!
//! The bodies this node has and the store's history does not are appended again, in their old order
//! and under their old names. The rules take a body whose number is not above its writer's last one
//! for a copy, so that two nodes which bring the same one harm nobody; and a node that went over
//! writes under a new identity from then on, so that what others bring of it is never below what it
//! wrote since.

use super::appender::{Appender, Applying};
use super::batch::{Answers, Batch, keep_timeless};
use super::heal::Step;
use super::replica::Stop;
use super::start::{self, CannotStart};
use crate::twins::{Protection, is_off};
use firstcome_core::command::{Body, Command};
use firstcome_core::limits::NODE_MEMORY_US;
use firstcome_core::names::NodeId;
use firstcome_core::pool::Pool;
use firstcome_core::state::State;
use firstcome_journal::{Append, Entry, Failure as Broken, Head, Name, Shared};
use std::collections::BTreeSet;

/// Bytes of a report.
const REPORT: usize = 1 << 20;

/// A history that is over, to be compared with the one that took its place.
pub(crate) struct Over {
    state: State,
    /// The last position both have, as far as this node could tell.
    fork: Option<u64>,
    /// Whom the entries that were lost are about: campaign, pool, subject.
    about: BTreeSet<(Box<str>, Box<str>, Box<str>)>,
    /// Entries too old to be brought: whether they ran cannot be told any more.
    too_old: u64,
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
            crate::answer::Failure::Unavailable("the journal forked: going over".into()),
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
            Ok(Ok(state)) => state,
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
        let beyond = |(entry, _): &(Entry, Name)| fork.is_none_or(|fork| entry.position > fork);
        let mut lost: Vec<_> = ours.into_iter().filter(beyond).collect();
        let known = fork.is_some().then(|| about(&lost, &state));
        lost.retain(|(_, name)| !state.has_run(name.node, name.number));
        for (entry, name) in tail {
            self.recent.push(entry, name);
        }
        let over = self.replica.replace(state);
        if lost.is_empty() && fork.is_none_or(|fork| fork >= over.position()) {
            // This node was only behind.
            return Ok(Ok(Step::Again));
        }
        let about = known.unwrap_or_else(|| about(&lost, &over));
        if !is_off(Protection::LostNotBrought) {
            self.lost.extend(lost);
        }
        match &mut self.over {
            // Gone over twice: what was true first is what clients were told.
            Some(first) => first.about.extend(about),
            None => self.over = Some(Over { state: over, fork, about, too_old: 0 }),
        }
        if let Some(batch) = batch {
            batch.move_to_another_history();
        }
        if !is_off(Protection::WriterKeptAfterFork) {
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
        let before = self.over.as_ref().map_or(head.epoch, |over| over.state.token().epoch);
        if head.epoch <= before {
            match self.patiently(batch.as_deref_mut(), shared.raise_epoch(head)).await {
                Ok(_) => {}
                Err(Broken::Moved { .. }) => return Ok(Ok(Step::Again)),
                Err(broken) => return Ok(Err(broken)),
            }
        }
        let mut brought = 0;
        for (entry, name) in self.lost.clone() {
            brought += 1;
            let (ran, at) =
                self.replica.look(|state| (state.has_run(name.node, name.number), state.at()));
            // Beyond that the rules forget which batches ran: see `NODE_MEMORY_US`.
            let too_old = at.micros_since(entry.at) >= NODE_MEMORY_US / 6 * 5;
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
        if is_off(Protection::ForkWithoutReport) {
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

/// Gives whom entries are about.
fn about(lost: &[(Entry, Name)], over: &State) -> BTreeSet<(Box<str>, Box<str>, Box<str>)> {
    let mut about = BTreeSet::new();
    for (entry, _) in lost {
        let commands = Body::open(&entry.body).map(|body| body.commands());
        let Ok(Ok(commands)) = commands else { continue };
        for command in commands {
            let (campaign, pool, subject) = match command {
                Command::Claim { campaign, pool, subject } => (campaign, pool, subject),
                Command::Cancel { campaign, pool, subject, .. } => (campaign, Some(pool), subject),
                Command::Confirm { step, .. } => {
                    // The units of a hold may be of any pool: those without a rank are left out later.
                    let pools = over.campaign(step.campaign).map(|campaign| campaign.pools());
                    let whose = |pool: &Pool| {
                        (step.campaign.into(), pool.name().into(), step.subject.into())
                    };
                    about.extend(pools.unwrap_or_default().iter().map(whose));
                    continue;
                }
                Command::Put { .. }
                | Command::Steer { .. }
                | Command::Hold { .. }
                | Command::Change { .. }
                | Command::Extend { .. }
                | Command::Release { .. }
                | Command::Seats { .. }
                | Command::Block { .. }
                | Command::Move { .. }
                | Command::Tick { .. }
                | Command::Settled { .. } => continue,
            };
            let only = || over.campaign(campaign).ok()?.pools().first().map(|pool| pool.name());
            let Some(pool) = pool.or_else(only) else { continue };
            about.insert((campaign.into(), pool.into(), subject.into()));
        }
    }
    about
}

impl Over {
    /// Says who kept, changed or lost a rank, a line each.
    fn compare(&self, now: &State) -> String {
        let live = |state: &State, campaign: &str, pool: &str, subject: &str| {
            let pool = state.campaign(campaign).ok()?.pool(pool)?;
            pool.latest(subject).filter(|rank| pool.is_live(*rank))
        };
        let mut lines = String::new();
        let (mut kept, mut changed, mut lost, mut revived) = (0, 0, 0, 0);
        for (campaign, pool, subject) in &self.about {
            let was = live(&self.state, campaign, pool, subject);
            let is = live(now, campaign, pool, subject);
            let what = match (was, is) {
                (None, None) => continue,
                (Some(was), Some(is)) if was == is => {
                    kept += 1;
                    format!("kept rank {was}")
                }
                (Some(was), Some(is)) => {
                    changed += 1;
                    format!("changed from rank {was} to {is}")
                }
                (Some(was), None) => {
                    lost += 1;
                    format!("lost rank {was}")
                }
                (None, Some(is)) => {
                    revived += 1;
                    format!("has rank {is} again")
                }
            };
            lines.push_str(&format!("{campaign}/{pool} {subject:?} {what}\n"));
        }
        let (from, to) = (self.state.token(), now.token());
        let fork = self.fork.map_or_else(|| "an unknown position".to_owned(), |at| at.to_string());
        let mut report = format!(
            "the journal forked after {fork}: this node had applied {from}, and is at {to} now; \
             {kept} claims kept their rank, {changed} changed it, {lost} lost it, {revived} came back, \
             {} entries were too old to be brought\n",
            self.too_old
        );
        for line in lines.lines() {
            if report.len() + line.len() >= REPORT {
                report.push_str("(cut here)\n");
                break;
            }
            report.push_str(line);
            report.push('\n');
        }
        report
    }
}
