//! The tree of all entries that any server ever had.
//!
//! An entry names the one before it, but a body that was lost and sent again has the name it had at the
//! time before and another content: then it shows on which server the one came to be after the
//! other.

use super::Broken;
use super::link::{Links, read};
use crate::history::{History, Moment, StoredEntry};
use firstcome_core::command::level_of;
use firstcome_core::{Command, LEVEL};
use std::collections::{BTreeMap, VecDeque};

/// An entry after a certain predecessor. Nearly every entry has one vertex.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vertex {
    /// The entry; none before the first.
    pub(super) stored: Option<usize>,
    /// The vertex before this; none before the first.
    pub(super) parent: Option<usize>,
}

/// The tree.
pub(super) struct Tree<'a> {
    pub(super) stored: &'a [StoredEntry],
    /// The commands of each stored entry.
    pub(super) commands: Vec<Vec<Command<'a>>>,
    /// The first vertex is the one before the first entry; parents stand before their children.
    pub(super) vertices: Vec<Vertex>,
    pub(super) children: Vec<Vec<usize>>,
    /// The vertices of the final journal, in order, from the one before the first entry.
    pub(super) journal: Vec<usize>,
    by_token: BTreeMap<(u32, u64), Vec<usize>>,
    heads: BTreeMap<usize, Vec<(Moment, Option<usize>)>>,
}

impl<'a> Tree<'a> {
    /// Puts the tree together; what does not fit is a broken promise.
    pub(super) fn build(history: &'a History) -> Result<Self, Vec<Broken>> {
        let stored = &history.stored[..];
        let mut wrong = Vec::new();
        let mut commands = Vec::with_capacity(stored.len());
        for one in stored {
            commands.push(read(one).unwrap_or_else(|why| {
                wrong.push(Broken::new("entries_readable", format!("{}: {why}", one.tell())));
                Vec::new()
            }));
        }
        let mut heads: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for change in &history.head_changes {
            heads.entry(change.server).or_default().push((change.moment, change.last));
        }
        let links = Links::find(history, &mut wrong);
        let mut tree = Self {
            stored,
            commands,
            vertices: vec![Vertex { stored: None, parent: None }],
            children: vec![Vec::new()],
            journal: vec![0],
            by_token: BTreeMap::from([((0, 0), vec![0])]),
            heads,
        };
        tree.add_entries(&links);
        tree.follow_journal(&history.end.journal, &mut wrong);
        if wrong.is_empty() { Ok(tree) } else { Err(wrong) }
    }

    fn add_entries(&mut self, links: &Links) {
        // An entry after two others has two vertices, and so has all after it: rare, and bounded here.
        let most = 8 * self.stored.len() + 64;
        let mut added = vec![false; self.stored.len()];
        let mut next = VecDeque::from([0]);
        while let Some(parent) = next.pop_front() {
            for child in links.after(self.vertices[parent].stored) {
                if added[child] && self.vertices.len() >= most {
                    continue;
                }
                added[child] = true;
                let vertex = self.vertices.len();
                self.vertices.push(Vertex { stored: Some(child), parent: Some(parent) });
                self.children.push(Vec::new());
                self.children[parent].push(vertex);
                let entry = &self.stored[child].entry;
                self.by_token.entry((entry.epoch, entry.position)).or_default().push(vertex);
                next.push_back(vertex);
            }
        }
    }

    fn follow_journal(&mut self, journal: &[usize], wrong: &mut Vec<Broken>) {
        let mut last = 0;
        for index in journal {
            let child = |vertex: &&usize| self.vertices[**vertex].stored == Some(*index);
            let Some(vertex) = self.children[last].iter().find(child).copied() else {
                let before = self.vertices[last].stored;
                let what = format!(
                    "in the final journal {} stands behind {}, where it does not belong",
                    self.tell(*index),
                    before.map_or("nothing".into(), |before| self.tell(before))
                );
                return wrong.push(Broken::new("journal_is_one_chain", what));
            };
            self.journal.push(vertex);
            last = vertex;
        }
    }

    /// Checks that a space is written at its level, and raised on an operator's word only.
    pub(super) fn check_levels(&self, wrong: &mut Vec<Broken>) {
        let mut raised = LEVEL;
        for (index, (one, commands)) in self.stored.iter().zip(&self.commands).enumerate() {
            for command in commands {
                if let Command::Raise { level, .. } = command {
                    raised = raised.max(*level);
                }
            }
            let level = level_of(&one.entry.body).unwrap_or_default();
            if !(LEVEL..=raised).contains(&level) {
                let what = format!(
                    "{} is of level {level}: the space began at {LEVEL}, and was raised to {raised} by then",
                    self.tell(index)
                );
                wrong.push(Broken::new("level_as_raised", what));
            }
        }
    }

    /// Names an entry for people.
    pub(super) fn tell(&self, index: usize) -> String {
        self.stored[index].tell()
    }

    /// Returns the vertices with that epoch and position.
    pub(super) fn at(&self, epoch: u32, position: u64) -> &[usize] {
        self.by_token.get(&(epoch, position)).map_or(&[], |vertices| vertices)
    }

    /// Returns a vertex and all before it, back to the one before the first entry.
    pub(super) fn back_from(&self, vertex: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(vertex), |vertex| self.vertices[*vertex].parent)
    }

    /// Returns the vertices of an entry.
    pub(super) fn vertices_of(&self, index: usize) -> impl Iterator<Item = usize> {
        let entry = &self.stored[index].entry;
        let vertices = self.at(entry.epoch, entry.position).iter().copied();
        vertices.filter(move |vertex| self.vertices[*vertex].stored == Some(index))
    }

    /// Marks, among the stored entries, those that a journal with this last entry has.
    pub(super) fn marked_from(&self, last: Option<usize>) -> Vec<bool> {
        let mut marked = vec![false; self.stored.len()];
        for vertex in last.into_iter().flat_map(|last| self.vertices_of(last)) {
            self.mark_back_from(vertex, &mut marked);
        }
        marked
    }

    /// Marks a vertex's entry and all before it, as far as they are not marked yet.
    pub(super) fn mark_back_from(&self, vertex: usize, marked: &mut [bool]) {
        for index in self.back_from(vertex).filter_map(|vertex| self.vertices[vertex].stored) {
            if std::mem::replace(&mut marked[index], true) {
                return;
            }
        }
    }

    fn position(&self, stored: Option<usize>) -> u64 {
        stored.map_or(0, |index| self.stored[index].entry.position)
    }

    /// Says whether any server had what a vertex stands for by a moment.
    pub(super) fn was_there(&self, vertex: usize, by: Moment) -> bool {
        self.vertices[vertex].stored.is_none_or(|index| self.stored[index].moment <= by)
    }

    /// Says whether a vertex was the end of what some server had at a moment between two, or beyond it.
    ///
    /// A server that takes several entries in one step passes those between at that moment. Who knows more than the
    /// server it asks is not too late: it puts that back.
    pub(super) fn was_head(&self, vertex: usize, from: Moment, to: Moment) -> bool {
        let wanted = self.vertices[vertex].stored;
        let position = self.position(wanted);
        self.heads.values().any(|heads| {
            let began = heads.partition_point(|(moment, _)| *moment <= from);
            let until = heads.partition_point(|(moment, _)| *moment <= to).max(began);
            let mut last = began.checked_sub(1).and_then(|before| heads[before].1);
            let beyond = |head: Option<usize>| {
                self.position(head) <= position
                    && self.back_from(vertex).any(|back| self.vertices[back].stored == head)
            };
            if beyond(last) && began > 0 {
                return true;
            }
            heads[began..until].iter().any(|(_, head)| {
                let passed = self.position(last) < position && position < self.position(*head);
                last = *head;
                let through = || head.is_some_and(|head| self.is_before(vertex, head, position));
                beyond(*head) || passed && through()
            })
        })
    }

    fn is_before(&self, vertex: usize, head: usize, position: u64) -> bool {
        self.vertices_of(head).any(|head| {
            let mut back = self.back_from(head);
            back.find(|back| self.position(self.vertices[*back].stored) == position) == Some(vertex)
        })
    }

    /// Counts the vertices after which histories part.
    pub(super) fn forks(&self) -> usize {
        self.children.iter().filter(|children| children.len() > 1).count()
    }
}
