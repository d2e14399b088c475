//! An index from a subject to its latest rank.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::{BuildHasher, RandomState};

/// Entries a table has on average: about as many move at once when a table grows or is split in two.
///
/// One table for all would stop every node at the same entry, for 200 ms at ten million, while it grows.
const TABLE_ENTRIES: usize = 1_024;

/// A subject's hash and its latest rank. With the hash beside it no table that grows needs the subject.
#[derive(Clone, Copy, Debug)]
struct Known {
    hash: u32,
    rank: u32,
}

/// Ranks by subject. It holds eight bytes an entry: the subjects themselves stay in the segments.
///
/// It grows by linear hashing: one table after the other is split in two, so that no single claim
/// pays for the growth, whatever capacity the pool was made with.
///
/// The hash is keyed at random so that nobody can choose subjects that collide. Nothing ever walks
/// the tables for an outcome, so their order, which differs from node to node, reaches none.
#[derive(Debug)]
pub(crate) struct SubjectIndex {
    tables: Vec<HashTable<Known>>,
    len: usize,
    /// Bytes of the tables.
    bytes: usize,
    key: RandomState,
}

impl SubjectIndex {
    pub(crate) fn new() -> Self {
        let tables = vec![HashTable::new()];
        Self { bytes: bytes_of(&tables[0]), tables, len: 0, key: RandomState::new() }
    }

    /// Returns the latest rank of a subject; `is` says whether a rank is the subject's.
    pub(crate) fn find(&self, subject: &[u8], is: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = self.hash(subject);
        let same = |known: &Known| known.hash == hash && is(known.rank);
        self.tables[self.table(hash)].find(spread(hash), same).map(|known| known.rank)
    }

    /// Sets the latest rank of a subject and gives the one it had.
    pub(crate) fn set(
        &mut self,
        subject: &[u8],
        rank: u32,
        is: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let hash = self.hash(subject);
        let same = |known: &Known| known.hash == hash && is(known.rank);
        let table = self.table(hash);
        let before = bytes_of(&self.tables[table]);
        let known = match self.tables[table].entry(spread(hash), same, |known| spread(known.hash)) {
            Entry::Occupied(mut known) => Some(std::mem::replace(&mut known.get_mut().rank, rank)),
            Entry::Vacant(free) => {
                free.insert(Known { hash, rank });
                None
            }
        };
        // A table makes room before it knows whether it needs any.
        self.bytes = self.bytes + bytes_of(&self.tables[table]) - before;
        if known.is_none() {
            self.len += 1;
            if self.len > self.tables.len() * TABLE_ENTRIES {
                self.split();
            }
        }
        known
    }

    /// Takes a subject out and gives the rank it had. Tables that were split stay so.
    pub(crate) fn remove(&mut self, subject: &[u8], is: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = self.hash(subject);
        let same = |known: &Known| known.hash == hash && is(known.rank);
        let table = self.table(hash);
        let found = self.tables[table].find_entry(spread(hash), same).ok()?;
        self.len -= 1;
        Some(found.remove().0.rank)
    }

    /// Returns the bytes it takes. They are counted as it changes: see [`State::memory`](crate::State::memory).
    pub(crate) fn memory(&self) -> usize {
        self.bytes
    }

    /// Returns [`Self::memory`] by looking at every table.
    pub(crate) fn walked_memory(&self) -> usize {
        self.tables.iter().map(bytes_of).sum()
    }

    fn hash(&self, subject: &[u8]) -> u32 {
        (self.key.hash_one(subject) >> 32) as u32
    }

    /// Returns which table a hash belongs to. Those before the next to be split have been split already.
    fn table(&self, hash: u32) -> usize {
        // Within a table the lowest bits count: the choice of the table takes the highest ones.
        let bits = hash.reverse_bits() as usize;
        let round = self.tables.len().next_power_of_two();
        let table = bits & (round - 1);
        if table < self.tables.len() { table } else { table - round / 2 }
    }

    fn split(&mut self) {
        let added = self.tables.len();
        let split = added - (added + 1).next_power_of_two() / 2;
        let old = std::mem::take(&mut self.tables[split]);
        let half = old.len() / 2;
        self.tables[split] = HashTable::with_capacity(half);
        self.tables.push(HashTable::with_capacity(half));
        self.bytes -= bytes_of(&old);
        for known in old {
            let table = self.table(known.hash);
            self.tables[table].insert_unique(spread(known.hash), known, |k| spread(k.hash));
        }
        self.bytes += bytes_of(&self.tables[split]) + bytes_of(&self.tables[added]);
    }
}

fn bytes_of(table: &HashTable<Known>) -> usize {
    size_of::<HashTable<Known>>() + table.allocation_size()
}

/// Makes the 64 bits of a table from 32: the lowest bits choose the slot, the seven highest distinguish slots.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 45 | u64::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_keeps_its_latest_rank_while_tables_split() {
        let mut index = SubjectIndex::new();
        for rank in 1..=100_000_u32 {
            assert_eq!(index.set(&rank.to_le_bytes(), rank, |known| known == rank), None);
        }
        for rank in (1..=100_000_u32).step_by(7) {
            let before = index.set(&rank.to_le_bytes(), rank + 100_000, |known| known == rank);
            assert_eq!(before, Some(rank));
        }
        for rank in 1..=100_000_u32 {
            let latest = if rank % 7 == 1 { rank + 100_000 } else { rank };
            assert_eq!(index.find(&rank.to_le_bytes(), |known| known == latest), Some(latest));
        }
        assert_eq!(index.len, 100_000);
        for rank in (1..=100_000_u32).step_by(7) {
            let latest = rank + 100_000;
            assert_eq!(index.remove(&rank.to_le_bytes(), |known| known == latest), Some(latest));
            assert_eq!(index.remove(&rank.to_le_bytes(), |known| known == latest), None);
        }
        assert_eq!(index.find(&2_u32.to_le_bytes(), |known| known == 2), Some(2));
        assert_eq!(index.memory(), index.walked_memory());
        let largest = index.tables.iter().map(HashTable::len).max();
        assert!(largest < Some(3 * TABLE_ENTRIES), "tables are split evenly: {largest:?}");
    }
}
