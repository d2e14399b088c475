//! Results: numbered outcomes that leave the system, kept until a ledger has them.

use std::collections::VecDeque;
use std::sync::Arc;

/// Results kept together.
const CHUNK: usize = 8_192;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A unit was won.
    Claim,
    /// A claim was undone.
    Cancel,
    /// A unit was paid for after its hold had expired and could not be had any more.
    RefundDue,
    /// A unit was exchanged for another.
    Moved,
}

impl Kind {
    /// Every kind once.
    pub const ALL: [Self; 4] = [Self::Claim, Self::Cancel, Self::RefundDue, Self::Moved];

    /// Gives the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Cancel => "cancel",
            Self::RefundDue => "refund_due",
            Self::Moved => "moved",
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Claim => 1,
            Self::Cancel => 2,
            Self::RefundDue => 3,
            Self::Moved => 4,
        }
    }

    pub(crate) fn of(code: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| u64::from(kind.code()) == code)
    }
}

/// Where a result's content stands; its number is its index in the list, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) campaign: u32,
    /// The claim's rank; of a refund due or a move its number among the campaign's.
    pub(crate) rank: u32,
    pub(crate) pool: u16,
    pub(crate) kind: Kind,
}

/// The results that no ledger is known to have, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    /// The last number that was settled.
    pub(crate) settled: u64,
    /// The term of the leader that settled it.
    pub(crate) term: u64,
    chunks: VecDeque<Arc<Vec<Record>>>,
    /// Records at the front of the first chunk that are settled already.
    skip: usize,
    len: usize,
}

impl Results {
    pub(crate) fn last(&self) -> u64 {
        self.settled + self.len as u64
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, record: Record) {
        match self.chunks.back_mut() {
            // A snapshot under way may hold the last chunk: then this copies it, 96 KiB at most.
            Some(chunk) if chunk.len() < CHUNK => Arc::make_mut(chunk).push(record),
            full => {
                // The first chunk grows as it must; after a full one the next will be full, too.
                let capacity = if full.is_some() { CHUNK } else { 0 };
                let mut chunk = Vec::with_capacity(capacity);
                chunk.push(record);
                self.chunks.push_back(Arc::new(chunk));
            }
        }
        self.len += 1;
    }

    /// Gives the unsettled results in runs, each with the number of its first records that are settled.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Arc<Vec<Record>>, usize)> + use<> {
        let mut skip = self.skip;
        self.chunks.clone().into_iter().map(move |chunk| (chunk, std::mem::take(&mut skip)))
    }

    /// Drops the first unsettled result and gives it.
    pub(crate) fn settle_one(&mut self) -> Option<Record> {
        let front = self.chunks.front()?;
        let record = *front.get(self.skip)?;
        self.skip += 1;
        if self.skip == front.len() {
            self.chunks.pop_front();
            self.skip = 0;
        }
        self.settled += 1;
        self.len -= 1;
        Some(record)
    }

    /// Gives unsettled results beyond a number, with their numbers.
    pub(crate) fn after(&self, number: u64) -> impl Iterator<Item = (u64, Record)> {
        let first = self.settled + 1;
        // The number is whatever a client asked for: beyond the last it is cut to the last.
        let given = number.saturating_sub(self.settled).min(self.len as u64);
        let mut chunks = self.chunks.iter();
        let mut begin = given as usize + self.skip;
        let mut rows: &[Record] = &[];
        let mut number = first + given;
        std::iter::from_fn(move || {
            loop {
                if let [record, rest @ ..] = rows {
                    rows = rest;
                    let at = number;
                    number += 1;
                    return Some((at, *record));
                }
                let chunk = chunks.next()?;
                if begin >= chunk.len() {
                    begin -= chunk.len();
                } else {
                    rows = &chunk[begin..];
                    begin = 0;
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_numbered_and_go_in_order() {
        let mut results = Results::default();
        let record = |rank| Record { campaign: 1, rank, pool: 0, kind: Kind::Claim };
        for rank in 1..=20_000 {
            results.push(record(rank));
        }
        for rank in 1..=9_000 {
            assert_eq!(results.settle_one(), Some(record(rank)));
        }
        assert_eq!((results.settled, results.last(), results.len()), (9_000, 20_000, 11_000));
        let from = |after| results.after(after).map(|(n, r)| (n, r.rank)).collect::<Vec<_>>();
        assert_eq!(from(0), (9_001..=20_000).map(|n| (n, n as u32)).collect::<Vec<_>>());
        assert_eq!(from(19_998), [(19_999, 19_999), (20_000, 20_000)]);
        assert_eq!(from(20_000), []);
        assert_eq!(from(30_000), []);
        assert_eq!(from(u64::MAX), []);
    }
}
