//! Who left a waitlist without a unit and without asking to: kept for the results that say so.

use crate::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Entries kept and written together: with the longest names they fit one piece of a snapshot.
const TOGETHER: u32 = 256;

/// Why somebody left a waitlist without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The campaign was over.
    Ended,
    /// They let as many offers go as one may.
    NotTaken,
    /// Their turn came, and they may have no more units.
    LimitReached,
}

impl Why {
    const ALL: [Self; 3] = [Self::Ended, Self::NotTaken, Self::LimitReached];

    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::NotTaken => "not_taken",
            Self::LimitReached => "limit_reached",
        }
    }

    pub(crate) fn code(self) -> u64 {
        match self {
            Self::Ended => 1,
            Self::NotTaken => 2,
            Self::LimitReached => 3,
        }
    }

    pub(crate) fn of(code: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.code() == code)
    }
}

/// One who left a waitlist without a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unserved {
    pub(crate) pool: u16,
    pub(crate) subject: Box<str>,
    /// How many units they wanted.
    pub quantity: u32,
    /// When.
    pub at: Timestamp,
    pub why: Why,
}

impl Unserved {
    fn memory(&self) -> usize {
        size_of::<Self>() + self.subject.len()
    }
}

/// All of one campaign, in order: results point at them by their number, from 1.
#[derive(Debug, Default)]
pub(crate) struct UnservedLog {
    chunks: BTreeMap<u32, Arc<Vec<Unserved>>>,
    len: u32,
    bytes: usize,
}

impl UnservedLog {
    /// Returns the last number.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn push(&mut self, gone: Unserved) {
        self.bytes += gone.memory();
        let chunk = self.chunks.entry(self.len / TOGETHER).or_default();
        // A snapshot under way may hold the chunk: then this copies it.
        Arc::make_mut(chunk).push(gone);
        self.len += 1;
    }

    /// Returns the one of a number, from 1.
    pub(crate) fn get(&self, number: u32) -> Option<&Unserved> {
        let at = number.checked_sub(1)?;
        self.chunks.get(&(at / TOGETHER))?.get((at % TOGETHER) as usize)
    }

    /// Returns the parts that a snapshot writes together, each with its first number.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (u32, &Arc<Vec<Unserved>>)> {
        self.chunks.iter().map(|(chunk, parts)| (chunk * TOGETHER + 1, parts))
    }

    pub(crate) fn memory(&self) -> usize {
        self.bytes
    }

    pub(crate) fn walked_memory(&self) -> usize {
        self.chunks.values().flat_map(|chunk| chunk.iter()).map(Unserved::memory).sum()
    }
}
