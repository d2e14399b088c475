//! One word for each rank of a coded pool: what its code is made from, and how it stands.

use super::{TAG_BITS, TAG_MOST};
use crate::names::PieceName;
use std::sync::{Arc, OnceLock};

/// Ranks kept, and written, together.
pub(crate) const TOGETHER: usize = 8_192;

const REVOKED: u64 = 1 << TAG_BITS;
const SUSPENDED: u64 = 1 << (TAG_BITS + 1);
const ISSUE: u32 = 48;

/// What is kept of an issued code, in eight bytes: the tag or the unit in the lowest 43 bits, two marks, and in the
/// highest 16 bits the issue number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    pub(crate) fn new(number: u64, issue: u16) -> Self {
        Self(number & TAG_MOST | u64::from(issue) << ISSUE)
    }

    /// Reads one as stored.
    pub(crate) fn of(bits: u64) -> Option<Self> {
        let word = Self(bits);
        let known = TAG_MOST | REVOKED | SUSPENDED | u64::from(u16::MAX) << ISSUE;
        (bits & !known == 0 && word.issue() > 0).then_some(word)
    }

    /// Returns the tag of a generated code, or the unit of an imported one.
    pub(crate) fn number(self) -> u64 {
        self.0 & TAG_MOST
    }

    /// Returns the issue number: 1 at first.
    pub(crate) fn issue(self) -> u16 {
        (self.0 >> ISSUE) as u16
    }

    pub(crate) fn is_revoked(self) -> bool {
        self.0 & REVOKED != 0
    }

    pub(crate) fn is_suspended(self) -> bool {
        self.0 & SUSPENDED != 0
    }

    pub(crate) fn revoked(self) -> Self {
        Self((self.0 | REVOKED) & !SUSPENDED)
    }

    pub(crate) fn suspended(self, yes: bool) -> Self {
        Self(if yes { self.0 | SUSPENDED } else { self.0 & !SUSPENDED })
    }
}

/// The words of neighbouring ranks.
#[derive(Clone, Debug, Default)]
pub(crate) struct IssuedRun {
    pub(crate) words: Vec<Word>,
    /// The piece a full run was stored as, until it changes.
    pub(crate) stored: OnceLock<PieceName>,
}

impl IssuedRun {
    pub(crate) fn is_full(&self) -> bool {
        self.words.len() == TOGETHER
    }

    fn memory(&self) -> usize {
        self.words.capacity() * size_of::<Word>()
    }
}

/// The words of all ranks, from 1 without a gap.
#[derive(Debug, Default)]
pub(crate) struct Issued {
    pub(crate) runs: Vec<Arc<IssuedRun>>,
    /// Bytes of all runs but the last.
    full: usize,
}

impl Issued {
    /// Returns how many ranks have one.
    pub(crate) fn len(&self) -> u32 {
        self.runs.last().map_or(0, |last| (self.runs.len() - 1) * TOGETHER + last.words.len())
            as u32
    }

    pub(crate) fn get(&self, rank: u32) -> Option<Word> {
        let at = rank.checked_sub(1)? as usize;
        self.runs.get(at / TOGETHER)?.words.get(at % TOGETHER).copied()
    }

    /// Adds the word of the next rank.
    pub(crate) fn push(&mut self, word: Word) {
        if self.runs.last().is_none_or(|run| run.is_full()) {
            self.full += self.runs.last().map_or(0, |run| run.memory());
            self.runs.push(Arc::default());
        }
        let last = self.runs.last_mut().expect("there is one");
        // A snapshot under way may hold the run: then this copies it, 64 KiB at most.
        Arc::make_mut(last).words.push(word);
    }

    /// Changes the word of a rank that has one.
    pub(crate) fn set(&mut self, rank: u32, word: Word) {
        let at = rank as usize - 1;
        let last = self.runs.len() - 1;
        let run = &mut self.runs[at / TOGETHER];
        let before = run.memory();
        let changed = Arc::make_mut(run);
        changed.stored = OnceLock::new();
        changed.words[at % TOGETHER] = word;
        if at / TOGETHER != last {
            // A copy is only as large as it must be.
            self.full = self.full + run.memory() - before;
        }
    }

    pub(crate) fn memory(&self) -> usize {
        self.full + self.runs.last().map_or(0, |run| run.memory())
    }

    pub(crate) fn walked_memory(&self) -> usize {
        self.runs.iter().map(|run| run.memory()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_its_parts_apart() {
        let word = Word::new(TAG_MOST, u16::MAX);
        assert_eq!((word.number(), word.issue()), (TAG_MOST, u16::MAX));
        let marked = word.suspended(true);
        assert_eq!((marked.number(), marked.is_suspended()), (TAG_MOST, true));
        let revoked = marked.revoked();
        assert_eq!((revoked.is_suspended(), revoked.is_revoked()), (false, true));
        assert_eq!(Word::of(revoked.0), Some(revoked));
        assert_eq!((Word::of(0), Word::of(1 << 46)), (None, None));
    }

    #[test]
    fn every_rank_has_its_word_while_others_change() {
        let mut issued = Issued::default();
        for rank in 1..=20_000_u32 {
            issued.push(Word::new(u64::from(rank) * 3, 1));
        }
        let held: Vec<_> = issued.runs.clone();
        issued.set(8_192, Word::new(7, 2));
        issued.set(20_000, Word::new(8, 3));
        assert_eq!(
            (issued.get(8_192), issued.get(20_000)),
            (Some(Word::new(7, 2)), Some(Word::new(8, 3)))
        );
        assert_eq!((issued.get(0), issued.get(20_001), issued.len()), (None, None, 20_000));
        assert_eq!(issued.get(8_193), Some(Word::new(3 * 8_193, 1)));
        assert_eq!(
            held[0].words[8_191],
            Word::new(3 * 8_192, 1),
            "a snapshot keeps what it began with"
        );
        assert_eq!(issued.memory(), issued.walked_memory());
        assert!(issued.memory() <= 20_000 * 16, "at most 16 bytes a code");
    }
}
