//! The entries applied last, whole: what a store that lost its newest writes gets back.

use firstcome_journal::{Entry, Name, Tip};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// How long an entry is kept.
const KEEP_FOR: Duration = Duration::from_secs(60);
/// Bytes of bodies kept at most.
const MOST: usize = 64 << 20;
/// Bytes of bodies kept however old they are: where little happens, a copy may lag for long.
const LEAST: usize = 4 << 20;

/// The entries applied last, in order and without a gap.
#[derive(Debug, Default)]
pub(super) struct Recent {
    entries: VecDeque<(Instant, Entry, Name)>,
    bytes: usize,
}

impl Recent {
    /// Takes in the entry that was just applied.
    pub(super) fn push(&mut self, entry: Entry, name: Name) {
        let now = Instant::now();
        self.bytes += entry.body.len();
        self.entries.push_back((now, entry, name));
        while let Some((since, oldest, _)) = self.entries.front()
            && (self.bytes > MOST || self.bytes > LEAST && now - *since > KEEP_FOR)
        {
            self.bytes -= oldest.body.len();
            self.entries.pop_front();
        }
    }

    /// Says whether a store that has this at a position has what was applied there; none if that is
    /// not known any more.
    ///
    /// The name alone does not tell: a body that was lost and sent again has the name it had, but
    /// another time, and what is decided may depend on it.
    pub(super) fn has(&self, tip: Tip) -> Option<bool> {
        if tip.position == 0 {
            return Some(true);
        }
        let (_, first, _) = self.entries.front()?;
        let Some(place) = tip.position.checked_sub(first.position) else {
            let before = tip.position + 1 == first.position;
            return before.then(|| first.before == tip.name);
        };
        let (_, entry, name) = self.entries.get(usize::try_from(place).ok()?)?;
        Some(*name == tip.name && entry.at == tip.at)
    }

    /// Gives the entries beyond a position that are kept, oldest first.
    pub(super) fn after(&self, position: u64) -> impl Iterator<Item = (&Entry, Name)> {
        let kept = self.entries.iter().map(|(_, entry, name)| (entry, *name));
        kept.filter(move |(entry, _)| entry.position > position)
    }

    /// Gives the position of the oldest entry kept.
    pub(super) fn first(&self) -> Option<u64> {
        self.entries.front().map(|(_, first, _)| first.position)
    }

    /// Gives all entries and keeps none.
    pub(super) fn take(&mut self) -> Vec<(Entry, Name)> {
        self.bytes = 0;
        self.entries.drain(..).map(|(_, entry, name)| (entry, name)).collect()
    }
}
