//! The entries applied last, whole: what a store that lost its newest writes gets back.

use firstcome_journal::{Entry, Name};
use std::collections::VecDeque;
use std::mem;
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
    entries: VecDeque<Buffered>,
    bytes: usize,
}

/// An entry that is kept.
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
        self.entries.push_back(Buffered { since: now, entry, name });
        while let Some(oldest) = self.entries.front()
            && (self.bytes > MAX_BYTES || self.bytes > MIN_BYTES && now - oldest.since > KEEP_FOR)
        {
            self.bytes -= oldest.entry.body.len();
            self.entries.pop_front();
        }
    }

    /// Takes in the entry before the oldest one.
    pub(crate) fn push_before(&mut self, before: Buffered) {
        self.bytes += before.entry.body.len();
        self.entries.push_front(before);
    }

    /// Says whether the entry before the oldest one would be kept too by a node that applied all of them when they came.
    pub(crate) fn reaches_further(&self) -> bool {
        let (Some(oldest), Some(newest)) = (self.entries.front(), self.entries.back()) else {
            return true;
        };
        let age = newest.entry.at.micros_since(oldest.entry.at);
        let is_young = u128::try_from(age).is_ok_and(|age| age <= KEEP_FOR.as_micros());
        self.bytes <= MIN_BYTES || self.bytes <= MAX_BYTES && is_young
    }

    /// Returns the name of the entry at a position, if it is kept.
    pub(crate) fn name_at(&self, position: u64) -> Option<Name> {
        let index = usize::try_from(position.checked_sub(self.first()?)?).ok()?;
        Some(self.entries.get(index)?.name)
    }

    /// Returns the entries beyond a position that are kept, oldest first.
    pub(crate) fn after(&self, position: u64) -> impl DoubleEndedIterator<Item = (&Entry, Name)> {
        let kept = self.entries.iter().map(|kept| (&kept.entry, kept.name));
        kept.filter(move |(entry, _)| entry.position > position)
    }

    /// Returns the position of the oldest entry kept.
    pub(crate) fn first(&self) -> Option<u64> {
        self.entries.front().map(|first| first.entry.position)
    }

    /// Returns the position and the name of the entry before the oldest one.
    pub(crate) fn before(&self) -> Option<(u64, Name)> {
        self.entries.front().map(|first| (first.entry.position - 1, first.entry.before))
    }

    /// Goes over to a branch of which `theirs` has the last entries, and which is the same as this one up to the fork, if that
    /// is known; gives the entries beyond it that were kept.
    pub(crate) fn switch_branch(&mut self, theirs: Self, fork: Option<u64>) -> Vec<Buffered> {
        let mut ours = mem::replace(self, theirs);
        let shared = ours.entries.partition_point(|kept| Some(kept.entry.position) <= fork);
        let lost = ours.entries.split_off(shared);
        if let Some(fork) = fork
            && self.first().is_none_or(|first| first <= fork + 1)
        {
            let next = self.first().unwrap_or(fork + 1);
            ours.entries.truncate(ours.entries.partition_point(|kept| kept.entry.position < next));
            while self.reaches_further()
                && let Some(older) = ours.entries.pop_back()
            {
                self.push_before(older);
            }
        }
        lost.into()
    }
}
