//! The subjects that an operator barred from one campaign.

use crate::index::SubjectIndex;
use crate::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bars whose numbers are neighbours, kept and written together: with the longest texts they fit one piece.
const TOGETHER: u32 = 256;

/// A subject that may not have anything more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    pub subject: Box<str>,
    /// Since when.
    pub at: Timestamp,
    /// Why, as the operator gave it.
    pub reason: Box<str>,
    /// The name of the key it was given with.
    pub who: Box<str>,
}

impl Bar {
    fn memory(&self) -> usize {
        size_of::<Self>() + 32 + self.subject.len() + self.reason.len() + self.who.len()
    }
}

pub(crate) type NeighbourBars = BTreeMap<u32, Bar>;

/// All bars of a campaign. Numbers go up from 1 in the order of barring and are never used twice.
#[derive(Debug)]
pub(crate) struct Bars {
    pub(crate) chunks: BTreeMap<u32, Arc<NeighbourBars>>,
    pub(crate) last: u32,
    index: SubjectIndex,
    len: usize,
    /// Bytes of all.
    bytes: usize,
}

impl Bars {
    pub(crate) fn new() -> Self {
        Self { chunks: BTreeMap::new(), last: 0, index: SubjectIndex::new(), len: 0, bytes: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn get(&self, number: u32) -> Option<&Bar> {
        self.chunks.get(&(number / TOGETHER))?.get(&number)
    }

    /// Says whether there is a bar of this number.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.get(number).is_some()
    }

    fn number(&self, subject: &str) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let is = |number| self.get(number).is_some_and(|bar| *bar.subject == *subject);
        self.index.find(subject.as_bytes(), is)
    }

    pub(crate) fn of(&self, subject: &str) -> Option<&Bar> {
        self.get(self.number(subject)?)
    }

    /// Returns the bars beyond a number, in the order of barring.
    pub(crate) fn after(&self, number: u32) -> impl Iterator<Item = (u32, &Bar)> {
        let chunks = self.chunks.range(number / TOGETHER..);
        let bars = chunks.flat_map(|(_, chunk)| chunk.iter());
        bars.map(|(number, bar)| (*number, bar)).filter(move |(known, _)| *known > number)
    }

    /// Adds a bar of a subject that has none.
    pub(crate) fn add(&mut self, bar: Bar) {
        self.put(self.last + 1, bar);
    }

    /// Adds a bar, new or from a snapshot, of a subject that has none.
    pub(crate) fn put(&mut self, number: u32, bar: Bar) {
        self.last = self.last.max(number);
        let before = self.index.set(bar.subject.as_bytes(), number, |_| false);
        assert!(before.is_none(), "a number is given once");
        self.bytes += bar.memory();
        self.len += 1;
        // A snapshot under way may hold the chunk: then this copies it.
        Arc::make_mut(self.chunks.entry(number / TOGETHER).or_default()).insert(number, bar);
    }

    /// Takes a bar away.
    pub(crate) fn remove(&mut self, subject: &str) -> Option<Bar> {
        let number = self.number(subject)?;
        self.index.remove(subject.as_bytes(), |known| known == number);
        let chunk = self.chunks.get_mut(&(number / TOGETHER))?;
        let neighbours = Arc::make_mut(chunk);
        let bar = neighbours.remove(&number)?;
        if neighbours.is_empty() {
            self.chunks.remove(&(number / TOGETHER));
        }
        self.len -= 1;
        self.bytes -= bar.memory();
        Some(bar)
    }

    /// Returns about how many bytes they take. They are counted as they change.
    pub(crate) fn memory(&self) -> usize {
        self.bytes + self.index.memory()
    }

    /// Returns [`Self::memory`] by looking at every bar.
    pub(crate) fn walked_memory(&self) -> usize {
        self.after(0).map(|(_, bar)| bar.memory()).sum::<usize>() + self.index.walked_memory()
    }
}
