//! Who waits, by ticket: found by subject, counted by place.
//!
//! How many are in front of a ticket is a sum over a tree of fixed height: tickets of 32 bits, eight bits a step. At
//! most 256 numbers are added on each of its levels, however many wait.

use crate::index::SubjectIndex;
use crate::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bits of a ticket that one level counts.
const BITS: u32 = 8;

/// One who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub(crate) ticket: u32,
    pub(crate) subject: Box<str>,
    /// Since when.
    pub(crate) at: Timestamp,
    /// The limit that came with the wish; 0 if none did.
    pub(crate) limit: u32,
    /// The number of the kind of wish.
    pub(crate) kind: u32,
    /// How many offers were not taken.
    pub(crate) missed: u8,
}

impl Waiter {
    fn memory(&self) -> usize {
        size_of::<Self>() + self.subject.len()
    }
}

/// Those whose tickets are neighbours, by ticket: with the longest names they fit one piece of a snapshot.
pub(crate) type Neighbours = Vec<Waiter>;

/// Everybody who waits, in order.
#[derive(Debug)]
pub(crate) struct Order {
    chunks: BTreeMap<u32, Arc<Neighbours>>,
    /// How many have a ticket with these upper bits: 16 of them, and 8.
    counts: [BTreeMap<u32, u32>; 2],
    index: SubjectIndex,
    len: usize,
    bytes: usize,
}

impl Default for Order {
    fn default() -> Self {
        let (chunks, counts) = (BTreeMap::new(), [BTreeMap::new(), BTreeMap::new()]);
        Self { chunks, counts, index: SubjectIndex::new(), len: 0, bytes: 0 }
    }
}

impl Order {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn get(&self, ticket: u32) -> Option<&Waiter> {
        let chunk = self.chunks.get(&(ticket >> BITS))?;
        let at = chunk.binary_search_by_key(&ticket, |waiter| waiter.ticket).ok()?;
        chunk.get(at)
    }

    pub(crate) fn find(&self, subject: &str) -> Option<&Waiter> {
        if self.len == 0 {
            return None;
        }
        let is = |ticket| self.get(ticket).is_some_and(|waiter| *waiter.subject == *subject);
        self.get(self.index.find(subject.as_bytes(), is)?)
    }

    /// Returns the lowest ticket and its kind of wish.
    pub(crate) fn first(&self) -> Option<(u32, u32)> {
        let waiter = self.chunks.first_key_value()?.1.first()?;
        Some((waiter.ticket, waiter.kind))
    }

    /// Returns the highest ticket.
    pub(crate) fn last(&self) -> Option<u32> {
        Some(self.chunks.last_key_value()?.1.last()?.ticket)
    }

    /// Adds one whose ticket is above all others, and who does not wait yet.
    pub(crate) fn put(&mut self, waiter: Waiter) {
        let ticket = waiter.ticket;
        let before = self.index.set(waiter.subject.as_bytes(), ticket, |_| false);
        assert!(before.is_none(), "nobody waits twice");
        self.bytes += waiter.memory();
        self.len += 1;
        for (counts, level) in self.counts.iter_mut().zip(2..) {
            *counts.entry(ticket >> (level * BITS)).or_default() += 1;
        }
        // A snapshot under way may hold the chunk: then this copies it.
        let chunk = Arc::make_mut(self.chunks.entry(ticket >> BITS).or_default());
        assert!(chunk.last().is_none_or(|last| last.ticket < ticket), "tickets go up");
        chunk.push(waiter);
    }

    /// Takes the one with this ticket off.
    pub(crate) fn remove(&mut self, ticket: u32) -> Option<Waiter> {
        let chunk = self.chunks.get_mut(&(ticket >> BITS))?;
        let at = chunk.binary_search_by_key(&ticket, |waiter| waiter.ticket).ok()?;
        let neighbours = Arc::make_mut(chunk);
        let waiter = neighbours.remove(at);
        if neighbours.is_empty() {
            self.chunks.remove(&(ticket >> BITS));
        }
        for (counts, level) in self.counts.iter_mut().zip(2..) {
            let upper = ticket >> (level * BITS);
            if let Some(count) = counts.get_mut(&upper) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&upper);
                }
            }
        }
        self.index.remove(waiter.subject.as_bytes(), |known| known == ticket);
        self.bytes -= waiter.memory();
        self.len -= 1;
        Some(waiter)
    }

    /// Returns how many have a lower ticket.
    pub(crate) fn before(&self, ticket: u32) -> u32 {
        let [by_16, by_8] = &self.counts;
        let within =
            |level: u32| (ticket >> ((level + 1) * BITS)) << BITS..ticket >> (level * BITS);
        let far: u32 = by_8.range(..ticket >> (3 * BITS)).map(|(_, count)| count).sum();
        let near: u32 = by_16.range(within(2)).map(|(_, count)| count).sum();
        let chunks: usize = self.chunks.range(within(1)).map(|(_, chunk)| chunk.len()).sum();
        let beside = self
            .chunks
            .get(&(ticket >> BITS))
            .map_or(0, |chunk| chunk.partition_point(|waiter| waiter.ticket < ticket));
        far + near + (chunks + beside) as u32
    }

    /// Returns those with a higher ticket, in order.
    pub(crate) fn after(&self, ticket: u32) -> impl Iterator<Item = &Waiter> {
        let chunks = self.chunks.range(ticket >> BITS..);
        let waiters = chunks.flat_map(|(_, chunk)| chunk.iter());
        waiters.filter(move |waiter| waiter.ticket > ticket)
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &Arc<Neighbours>> {
        self.chunks.values()
    }

    /// Returns about how many bytes they take. They are counted as they change.
    pub(crate) fn memory(&self) -> usize {
        self.bytes + self.index.memory()
    }

    /// Returns [`Self::memory`] by looking at everybody.
    pub(crate) fn walked_memory(&self) -> usize {
        let waiters = self.chunks.values().flat_map(|chunk| chunk.iter());
        waiters.map(Waiter::memory).sum::<usize>() + self.index.walked_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn waiter(ticket: u32) -> Waiter {
        let (subject, at) = (format!("s{ticket}").into(), Timestamp::default());
        Waiter { ticket, subject, at, limit: 0, kind: 0, missed: 0 }
    }

    proptest! {
        #[test]
        fn a_place_is_what_counting_gives(
            steps in proptest::collection::vec((0..3_u8, 1..70_000_u32), 1..400),
            far: bool,
        ) {
            let (mut order, mut plain, mut last) = (Order::default(), Vec::<u32>::new(), 0_u32);
            if far { last = u32::MAX / 2; }
            for (what, n) in steps {
                if what > 0 || plain.is_empty() {
                    // Mostly neighbours, sometimes far away.
                    last += if what == 1 { n } else { 1 };
                    order.put(waiter(last));
                    plain.push(last);
                } else {
                    let gone = plain.remove(n as usize % plain.len());
                    prop_assert_eq!(order.remove(gone), Some(waiter(gone)));
                    prop_assert_eq!(order.remove(gone), None);
                }
                let at = n as usize % plain.len().max(1);
                if let Some(ticket) = plain.get(at) {
                    prop_assert_eq!(order.before(*ticket), at as u32);
                    prop_assert_eq!(order.find(&format!("s{ticket}")), Some(&waiter(*ticket)));
                    let rest: Vec<u32> = order.after(*ticket).map(|w| w.ticket).collect();
                    prop_assert_eq!(&rest[..], &plain[at + 1..]);
                }
                prop_assert_eq!(order.first().map(|first| first.0), plain.first().copied());
                prop_assert_eq!((order.len(), order.memory()), (plain.len(), order.walked_memory()));
            }
        }
    }
}
