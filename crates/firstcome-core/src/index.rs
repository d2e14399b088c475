//! From a subject to its latest rank.

use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};

/// Entries one table is meant to hold: growing it moves at most about this many at once.
///
/// One table for all would stop every node at the same entry, for 200 ms at ten million, while it grows.
const TABLE_ENTRIES: u32 = 4_096;
/// Tables at most.
const TABLES: u32 = 1 << 14;

/// Ranks by subject. It holds four bytes an entry: the subjects themselves stay in the segments.
///
/// The hash is keyed at random so that nobody can choose subjects that collide. Nothing ever walks
/// the tables, so their order, which differs from node to node, reaches no outcome.
#[derive(Debug)]
pub(crate) struct SubjectIndex {
    tables: Box<[HashTable<u32>]>,
    hash: RandomState,
}

impl SubjectIndex {
    /// Makes an index that grows smoothly up to about `capacity` entries, and beyond it in larger steps.
    pub(crate) fn new(capacity: u32) -> Self {
        let tables = capacity.div_ceil(TABLE_ENTRIES).clamp(1, TABLES).next_power_of_two();
        Self { tables: (0..tables).map(|_| HashTable::new()).collect(), hash: RandomState::new() }
    }

    pub(crate) fn hash(&self, subject: &[u8]) -> u64 {
        self.hash.hash_one(subject)
    }

    fn table(&self, hash: u64) -> usize {
        // A table uses the lowest and the highest bits of the hash: these are others.
        (hash >> 32) as usize & (self.tables.len() - 1)
    }

    pub(crate) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        self.tables[self.table(hash)].find(hash, |rank| is(*rank)).copied()
    }

    /// Sets the latest rank of a subject; `before` is the one it had, `hash_of` hashes any rank's subject.
    pub(crate) fn set(
        &mut self,
        hash: u64,
        before: Option<u32>,
        rank: u32,
        hash_of: impl Fn(&RandomState, u32) -> u64,
    ) {
        let table = self.table(hash);
        let (table, keyed) = (&mut self.tables[table], &self.hash);
        match before.and_then(|before| table.find_mut(hash, |known| *known == before)) {
            Some(known) => *known = rank,
            None => {
                table.insert_unique(hash, rank, |rank| hash_of(keyed, *rank));
            }
        }
    }

    pub(crate) fn memory(&self) -> usize {
        self.tables.iter().map(|t| size_of::<HashTable<u32>>() + t.allocation_size()).sum()
    }
}
