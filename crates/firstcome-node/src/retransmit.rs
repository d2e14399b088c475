//! The entries applied last, whole: what a store that lost its newest writes gets back.

use firstcome_inject::{Mistake, inject};
use firstcome_journal::{Entry, Name, Tip};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// How long an entry is kept.
const KEEP_FOR: Duration = Duration::from_secs(60);
/// Bytes of bodies kept at most.
const MAX_BYTES: usize = 64 << 20;
/// Bytes of bodies kept however old they are: where little happens, a replica of the store may lag for long.
const MIN_BYTES: usize = 4 << 20;

/// The entries applied last, in order and without a gap.
#[derive(Debug, Default)]
pub(crate) struct RetransmitBuffer {
    entries: VecDeque<(Instant, Entry, Name)>,
    bytes: usize,
}

/// An entry that was kept.
#[derive(Clone, Debug)]
pub(crate) struct Buffered {
    /// Since when.
    pub(crate) since: Instant,
    pub(crate) entry: Entry,
    pub(crate) name: Name,
}

impl RetransmitBuffer {
    /// Takes in the entry that was just applied.
    pub(crate) fn push(&mut self, entry: Entry, name: Name) {
        let now = Instant::now();
        self.bytes += entry.body.len();
        self.entries.push_back((now, entry, name));
        while let Some((since, oldest, _)) = self.entries.front()
            && (self.bytes > MAX_BYTES || self.bytes > MIN_BYTES && now - *since > KEEP_FOR)
        {
            self.bytes -= oldest.body.len();
            self.entries.pop_front();
        }
    }

    /// Says whether a store that has this entry has what was applied at its position; none if that is
    /// not known any more.
    ///
    /// The name alone does not tell: a body that was lost and sent again, or brought by another node,
    /// has the name it had, but another time, another epoch, or fewer commands.
    pub(crate) fn has(&self, found: &Entry) -> Option<bool> {
        let (_, first, _) = self.entries.front()?;
        let index = usize::try_from(found.position.checked_sub(first.position)?).ok()?;
        let (_, entry, _) = self.entries.get(index)?;
        if inject(Mistake::BackfillWithNewTime) {
            return Some(*entry == Entry { at: entry.at, ..found.clone() });
        }
        Some(entry == found)
    }

    /// Gives what stands at a position, if that is kept.
    pub(crate) fn tip_at(&self, position: u64) -> Option<Tip> {
        let (_, first, _) = self.entries.front()?;
        let index = usize::try_from(position.checked_sub(first.position)?).ok()?;
        let (_, entry, name) = self.entries.get(index)?;
        Some(Tip { position, name: *name, at: entry.at })
    }

    /// Gives the entries beyond a position that are kept, oldest first.
    pub(crate) fn after(&self, position: u64) -> impl Iterator<Item = (&Entry, Name)> {
        let kept = self.entries.iter().map(|(_, entry, name)| (entry, *name));
        kept.filter(move |(entry, _)| entry.position > position)
    }

    /// Gives the position of the oldest entry kept.
    pub(crate) fn first(&self) -> Option<u64> {
        self.entries.front().map(|(_, first, _)| first.position)
    }

    /// Gives all entries and keeps none.
    pub(crate) fn take(&mut self) -> Vec<Buffered> {
        self.bytes = 0;
        let kept = |(since, entry, name)| Buffered { since, entry, name };
        self.entries.drain(..).map(kept).collect()
    }
}
