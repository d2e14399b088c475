//! Decides when an acknowledged yes may be lost: a fork's list names it, or the durability allows it.
//!
//! What may be lost, of what a caller heard, after `docs/GUARANTEES.md`:
//!
//! | The store goes on with less | `memory` | `copies=n` of m | `fsync` |
//! |---|---|---|---|
//! | a copy took over, and a node ran that had applied it | nothing | nothing | nothing |
//! | a copy took over, and none did | what the copy had not received | nothing if n = m: each has it; else as `memory` | as `memory` |
//! | an older file, and a node ran that had applied it | nothing | nothing | nothing |
//! | an older file, and none did | what the file lacks | what the file lacks | nothing |
//! | an emptied one, and none did | everything | everything | everything: the disk is lost |
//!
//! "A node ran" means longer than [`TO_REPAIR`] after the loss, and was not asked to stop meanwhile: so long
//! it may take to put back what is missing.
//!
//! A node that began behind a snapshot, where the store had dropped the entries before it, has those as state only. It
//! can put its state back, but brings none of them to another branch: a claim or a hold must then be in the list.

use super::replay::Replay;
use super::tree::Tree;
use crate::history::{Cause, Durability, History, Loss, Moment, NodeRun};
use firstcome_journal::Name;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long after a loss a node that knows more must have run to have repaired it.
const TO_REPAIR: Duration = Duration::from_secs(60);

/// What excuses a promise.
pub(super) struct Excuses<'h> {
    history: &'h History,
    tree: &'h Tree<'h>,
    lines: Vec<&'h str>,
    /// Which stored entries the final journal has, and the batches of those.
    journal: Vec<bool>,
    batches: BTreeSet<Name>,
    by_batch: BTreeMap<Name, Vec<usize>>,
    /// For each loss, what it took away.
    lost: Vec<OnceCell<Vec<bool>>>,
    /// For each run of a node, what it ever had applied.
    applied: Vec<OnceCell<Vec<bool>>>,
}

/// How a node had what an entry decided, at least.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Had {
    AsState,
    AsEntry,
}

/// What a fork's list says of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Kept(u32),
    Changed(u32, u32),
    Lost(u32),
    Again(u32),
    MayHaveLost,
}

/// The lines about one subject in one pool.
pub(super) struct Lines(Vec<Line>);

/// What became of a rank as the lists have it.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// The ranks it may have become.
    pub(super) ranks: BTreeSet<u32>,
    /// Whether it was lost.
    pub(super) lost: bool,
}

impl Line {
    fn read(what: &str) -> Option<Self> {
        let rank = |text: &str| text.parse().ok();
        if let Some(rest) = what.strip_prefix("kept rank ") {
            return Some(Self::Kept(rank(rest)?));
        }
        if let Some(rest) = what.strip_prefix("changed from rank ") {
            let (from, to) = rest.split_once(" to ")?;
            return Some(Self::Changed(rank(from)?, rank(to)?));
        }
        if let Some(rest) = what.strip_prefix("lost rank ") {
            return Some(Self::Lost(rank(rest)?));
        }
        if what == "may have lost a rank: the campaign had left memory" {
            return Some(Self::MayHaveLost);
        }
        let rest = what.strip_prefix("has rank ")?.strip_suffix(" again")?;
        Some(Self::Again(rank(rest)?))
    }
}

impl Lines {
    /// Follows a rank through all lists.
    pub(super) fn after(&self, rank: u32) -> Listed {
        let mut listed = Listed::default();
        let mut next = vec![rank];
        // A subject that comes back is named with the rank they have: from wherever they came.
        next.extend(self.0.iter().filter_map(|line| match line {
            Line::Again(rank) => Some(*rank),
            Line::Kept(_) | Line::Changed(..) | Line::Lost(_) | Line::MayHaveLost => None,
        }));
        while let Some(rank) = next.pop() {
            if !listed.ranks.insert(rank) {
                continue;
            }
            for line in &self.0 {
                match line {
                    Line::Changed(from, to) if *from == rank => next.push(*to),
                    Line::Lost(from) if *from == rank => listed.lost = true,
                    Line::MayHaveLost => listed.lost = true,
                    Line::Kept(_) | Line::Changed(..) | Line::Lost(_) | Line::Again(_) => {}
                }
            }
        }
        listed
    }

    /// Says whether a list ends with this rank for the subject.
    pub(super) fn is_named(&self, rank: u32) -> bool {
        self.0.iter().any(|line| match line {
            Line::Kept(to) | Line::Changed(_, to) | Line::Again(to) => *to == rank,
            Line::Lost(_) | Line::MayHaveLost => false,
        })
    }
}

impl<'h> Excuses<'h> {
    pub(super) fn new(history: &'h History, tree: &'h Tree<'h>) -> Self {
        let mut journal = vec![false; tree.stored.len()];
        for index in &history.end.journal {
            journal[*index] = true;
        }
        let mut by_batch: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (index, stored) in tree.stored.iter().enumerate() {
            by_batch.entry(stored.batch).or_default().push(index);
        }
        let ended = history.end.journal.iter().map(|index| tree.stored[*index].batch);
        Self {
            history,
            tree,
            lines: history.end.reports.iter().flat_map(|report| report.lines()).collect(),
            journal,
            batches: ended.collect(),
            by_batch,
            lost: vec![OnceCell::new(); history.losses.len()],
            applied: vec![OnceCell::new(); history.node_runs.len()],
        }
    }

    fn said<'s>(&'s self, name: (&str, &str, &str)) -> impl Iterator<Item = &'h str> + 's {
        let (campaign, pool, subject) = name;
        let begins = format!("{campaign}/{pool} {subject:?} ");
        self.lines.iter().filter_map(move |line| line.strip_prefix(&begins))
    }

    /// Returns what the lists say of a subject: campaign, pool, subject.
    pub(super) fn listed(&self, name: (&str, &str, &str)) -> Lines {
        Lines(self.said(name).filter_map(Line::read).collect())
    }

    /// Says whether the lists have it that a campaign is gone, or is at this version again.
    pub(super) fn went_back(&self, campaign: &str, now: Option<u32>) -> bool {
        let begins = match now {
            None => format!("campaign {campaign} is gone, "),
            Some(version) => format!("campaign {campaign} has version {version}, "),
        };
        self.lines.iter().any(|line| line.starts_with(&begins))
    }

    /// Says whether the lists have what became of a hold.
    pub(super) fn names_hold(&self, campaign: &str, id: &str) -> bool {
        let begins = format!("{campaign} hold {id:?} ");
        self.lines.iter().any(|line| line.starts_with(&begins))
    }

    /// Says whether the lists have what became of a reference's use of a code.
    pub(super) fn names_reference(&self, campaign: &str, reference: &str) -> bool {
        let (begins, of) = (format!("{campaign}/"), format!(" reference {reference:?} "));
        let mut lines = self.lines.iter().filter(|line| line.starts_with(&begins));
        lines.any(|line| line.contains(&of))
    }

    /// Says whether the final journal has an entry.
    pub(super) fn is_final(&self, entry: usize) -> bool {
        self.journal[entry]
    }

    /// Tells people what the lists say of a subject.
    pub(super) fn tell(&self, name: (&str, &str, &str)) -> String {
        let said: Vec<&str> = self.said(name).collect();
        if said.is_empty() {
            return "no fork's list names them".into();
        }
        format!("the lists of forks say: {}", said.join("; "))
    }

    /// Says whether a batch runs in the final journal, as another entry than this.
    pub(super) fn is_brought(&self, entry: usize, replay: &Replay<'_>) -> bool {
        let batch = self.tree.stored[entry].batch;
        let vertices = &self.tree.journal;
        !self.journal[entry]
            && vertices.iter().any(|vertex| {
                let found = self.tree.vertices[*vertex].stored;
                let same = found.is_some_and(|found| self.tree.stored[found].batch == batch);
                same && replay.decisions[*vertex].is_some()
            })
    }

    /// Says whether the batch of an entry ran in the final journal, as far as it could be brought there.
    pub(super) fn was_tried(&self, entry: usize, replay: &Replay<'_>) -> bool {
        self.is_final(entry) || self.is_brought(entry, replay) || self.nobody_could_bring(entry)
    }

    /// Says whether what an entry decided may have been lost: no node had it.
    pub(super) fn loss_is_allowed(&self, entry: usize) -> bool {
        self.was_lost(entry, Had::AsState)
    }

    /// Says whether an entry may have been lost that no node had otherwise than as state.
    pub(super) fn nobody_could_bring(&self, entry: usize) -> bool {
        self.was_lost(entry, Had::AsEntry)
    }

    fn was_lost(&self, entry: usize, had: Had) -> bool {
        if self.journal[entry] {
            return false;
        }
        if self.was_lost_as_allowed(&[entry], had) {
            return true;
        }
        let batch = self.tree.stored[entry].batch;
        !self.batches.contains(&batch) && self.was_lost_as_allowed(&self.by_batch[&batch], had)
    }

    fn was_lost_as_allowed(&self, entries: &[usize], had: Had) -> bool {
        self.history.losses.iter().zip(&self.lost).any(|(loss, lost)| {
            let lost = lost.get_or_init(|| self.taken_by(loss));
            let survivor = |(node_run, applied): (&NodeRun, &OnceCell<Vec<bool>>)| {
                ran_long_enough(node_run, loss.moment) && {
                    let applied = applied.get_or_init(|| self.applied_by(node_run));
                    let first = if had == Had::AsEntry { node_run.first } else { 0 };
                    let is_kept = |entry: usize| self.tree.stored[entry].entry.position >= first;
                    entries.iter().any(|entry| applied[*entry] && is_kept(*entry))
                }
            };
            allows(self.history.durability, loss)
                && entries.iter().any(|entry| lost[*entry])
                && !self.history.node_runs.iter().zip(&self.applied).any(survivor)
        })
    }

    fn taken_by(&self, loss: &Loss) -> Vec<bool> {
        let kept = self.tree.marked_from(loss.to);
        let mut lost = self.tree.marked_from(loss.from);
        for (lost, kept) in lost.iter_mut().zip(kept) {
            *lost &= !kept;
        }
        lost
    }

    fn applied_by(&self, node_run: &NodeRun) -> Vec<bool> {
        let mut marked = vec![false; self.tree.stored.len()];
        for (_, last) in &node_run.applied {
            for vertex in self.tree.vertices_of(*last) {
                self.tree.mark_back_from(vertex, &mut marked);
            }
        }
        marked
    }
}

/// Says whether a node that ran when the store lost something ran long enough to repair it.
fn ran_long_enough(node_run: &NodeRun, loss: Moment) -> bool {
    let gone = node_run.reply.or(node_run.ended);
    node_run.began <= loss && gone.is_none_or(|gone| gone > loss + TO_REPAIR)
}

/// The table above, for a loss that no server outlived.
pub(super) fn allows(durability: Durability, loss: &Loss) -> bool {
    match (durability, loss.cause) {
        (Durability::Memory, Cause::Promotion | Cause::OlderFile) => true,
        (Durability::Copies { wanted, of }, Cause::Promotion) => wanted < of,
        (Durability::Copies { .. }, Cause::OlderFile) => true,
        (Durability::Fsync, Cause::Promotion) => true,
        (Durability::Fsync, Cause::OlderFile) => loss.to.is_none(),
    }
}
