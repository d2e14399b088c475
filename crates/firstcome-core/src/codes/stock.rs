//! Imported codes: their keyed hashes and sealed texts, in the order of their files.

use super::{ALIKE_BYTES, any_spelling};
use crate::index::SubjectIndex;
use crate::limits::{CODE_DUPLICATES_NAMED, CODES_ALIKE};
use crate::names::PieceName;
use crate::time::Timestamp;
use firstcome_inject::{Mistake, inject};
use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Units kept, and written, together: with the longest codes they fit one piece.
pub(crate) const TOGETHER: u32 = 1_024;

/// Units of an abandoned import that are taken out of the stock at once.
const CLEARED: u32 = 8_000;

/// Stands for the rank of a unit that was revoked before anybody had it.
pub(crate) const NOBODY: u32 = u32::MAX;
/// Stands for the rank of a unit that was suspended before anybody had it.
pub(crate) const HELD_BACK: u32 = u32::MAX - 1;

/// How an imported code stands that nobody has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InStock {
    /// It will be issued.
    Free,
    /// It will not, until somebody decides.
    Suspended,
    /// It never will.
    Revoked,
}

/// Neighbouring units.
#[derive(Clone, Debug, Default)]
pub(crate) struct StockRun {
    pub(crate) hashes: Vec<[u8; 16]>,
    /// How many bytes of `sealed` are of each: at most 80.
    lengths: Vec<u8>,
    sealed: Vec<u8>,
    /// The rank each was issued at; 0 while nobody has it.
    pub(crate) ranks: Vec<u32>,
    /// The piece a full run was stored as, until it changes.
    pub(crate) stored: OnceLock<PieceName>,
}

impl StockRun {
    /// Begins the run after another, which is full: with room for as much, so that nothing grows.
    fn after(full: &Self) -> Self {
        Self {
            hashes: Vec::with_capacity(full.hashes.len()),
            lengths: Vec::with_capacity(full.lengths.len()),
            sealed: Vec::with_capacity(full.sealed.len()),
            ranks: Vec::with_capacity(full.ranks.len()),
            stored: OnceLock::new(),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.hashes.len() == TOGETHER as usize
    }

    pub(crate) fn sealed(&self, at: usize) -> &[u8] {
        // Only a code that is shown is looked for here: adding up costs less than a place for each.
        let start = self.lengths[..at].iter().map(|length| usize::from(*length)).sum();
        &self.sealed[start..][..self.lengths[at].into()]
    }

    /// Returns hash, sealed text and rank of each unit, in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[u8; 16], &[u8], u32)> {
        let mut rest = &*self.sealed;
        self.hashes.iter().zip(&self.lengths).zip(&self.ranks).map(move |((hash, length), rank)| {
            let (sealed, after) = rest.split_at((*length).into());
            rest = after;
            (hash, sealed, *rank)
        })
    }

    fn push(&mut self, hash: [u8; 16], sealed: &[u8], rank: u32) {
        self.hashes.push(hash);
        self.sealed.extend_from_slice(sealed);
        // The limit of a sealed text is far below 255.
        self.lengths.push(sealed.len() as u8);
        self.ranks.push(rank);
        if self.is_full() {
            self.hashes.shrink_to_fit();
            self.lengths.shrink_to_fit();
            self.sealed.shrink_to_fit();
            self.ranks.shrink_to_fit();
        }
    }

    fn pop(&mut self) {
        self.hashes.pop();
        self.ranks.pop();
        let length = self.lengths.pop().map_or(0, usize::from);
        self.sealed.truncate(self.sealed.len() - length);
        self.stored = OnceLock::new();
    }

    fn memory(&self) -> usize {
        let rows = self.hashes.capacity() * 16 + self.lengths.capacity();
        rows + self.ranks.capacity() * 4 + self.sealed.capacity() + size_of::<Self>() + 16
    }
}

/// An import whose codes are in stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    pub id: Box<str>,
    /// A checksum over the keyed hashes of all its lines, in order: the same file has the same.
    pub digest: u64,
    /// Lines of its file.
    pub lines: u32,
    /// Lines that were codes the pool had not.
    pub added: u32,
    /// The first lines that were not, from 0: at most 100.
    pub duplicates: Vec<u32>,
    /// The unit of its first code.
    pub first_unit: u32,
    /// When it was committed.
    pub at: Timestamp,
    /// The name of the key it was committed with.
    pub who: Box<str>,
    /// Whether all its codes were revoked.
    pub revoked: bool,
}

impl Import {
    fn memory(&self) -> usize {
        size_of::<Self>() + self.id.len() + self.who.len() + self.duplicates.len() * 4
    }
}

/// An import whose codes are not in stock yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenImport {
    pub(crate) id: Box<str>,
    /// When it began, in service time.
    pub(crate) began: i64,
    pub(crate) lines: u32,
    pub(crate) duplicates: Vec<u32>,
    pub(crate) digest: u64,
}

/// The imported codes of a pool. Units are numbered from 0; those from `committed` on are of an import under way.
#[derive(Debug)]
pub(crate) struct Stock {
    pub(crate) runs: Vec<Arc<StockRun>>,
    pub(crate) committed: u32,
    /// The first unit that may be free.
    pub(crate) next: u32,
    index: SubjectIndex,
    pub(crate) open: Option<OpenImport>,
    pub(crate) imports: Vec<Import>,
    /// Bytes of all runs.
    bytes: usize,
    imports_memory: usize,
}

impl Default for Stock {
    fn default() -> Self {
        Self {
            runs: Vec::new(),
            committed: 0,
            next: 0,
            index: SubjectIndex::new(),
            open: None,
            imports: Vec::new(),
            bytes: 0,
            imports_memory: 0,
        }
    }
}

impl Stock {
    /// Returns how many units there are, those of an import under way included.
    pub(crate) fn len(&self) -> u32 {
        let full =
            |last: &Arc<StockRun>| (self.runs.len() - 1) * TOGETHER as usize + last.hashes.len();
        self.runs.last().map_or(0, full) as u32
    }

    fn run(&self, unit: u32) -> (&StockRun, usize) {
        (&self.runs[(unit / TOGETHER) as usize], (unit % TOGETHER) as usize)
    }

    pub(crate) fn sealed(&self, unit: u32) -> &[u8] {
        let (run, at) = self.run(unit);
        run.sealed(at)
    }

    pub(crate) fn hash(&self, unit: u32) -> [u8; 16] {
        let (run, at) = self.run(unit);
        run.hashes[at]
    }

    pub(crate) fn raw_rank(&self, unit: u32) -> u32 {
        let (run, at) = self.run(unit);
        run.ranks[at]
    }

    /// Returns the rank a unit was issued at.
    pub(crate) fn rank(&self, unit: u32) -> Option<u32> {
        Some(self.raw_rank(unit)).filter(|rank| (1..HELD_BACK).contains(rank))
    }

    /// Returns the hash of each unit that was issued, with the rank.
    pub(crate) fn issued(&self) -> impl Iterator<Item = ([u8; 16], u32)> {
        let rows = self.runs.iter().flat_map(|run| run.hashes.iter().zip(&run.ranks));
        let issued = rows.filter(|(_, rank)| (1..HELD_BACK).contains(*rank));
        issued.map(|(hash, rank)| (*hash, *rank))
    }

    /// Says whether a unit was revoked with its import.
    pub(crate) fn is_revoked(&self, unit: u32) -> bool {
        self.import_of(unit).is_some_and(|import| import.revoked)
    }

    /// Says how a unit stands that nobody has.
    pub(crate) fn standing(&self, unit: u32) -> InStock {
        match self.raw_rank(unit) {
            _ if self.is_revoked(unit) => InStock::Revoked,
            NOBODY => InStock::Revoked,
            HELD_BACK => InStock::Suspended,
            _ => InStock::Free,
        }
    }

    /// Takes a unit that nobody has out of stock, or puts it back.
    pub(crate) fn withdraw(&mut self, unit: u32, standing: InStock) {
        match standing {
            InStock::Revoked => self.set_rank(unit, NOBODY),
            InStock::Suspended => self.set_rank(unit, HELD_BACK),
            InStock::Free => {
                self.set_rank(unit, 0);
                self.next = self.next.min(unit);
            }
        }
    }

    /// Returns a unit whose code is alike to one and is what is looked for.
    fn alike(&self, hash: &[u8; 16], is: impl Fn(&[u8; 16]) -> bool) -> Option<u32> {
        let alike = &hash[..ALIKE_BYTES];
        self.index.find(alike, |unit| {
            let (run, at) = self.run(unit);
            run.hashes[at].starts_with(alike) && is(&run.hashes[at])
        })
    }

    /// Returns the unit of a code: there is at most one, since [`Self::is_taken`].
    fn any(&self, hash: &[u8; 16]) -> Option<u32> {
        let any = any_spelling(hash);
        self.alike(hash, |known| known == hash || *known == any)
    }

    /// Says whether a code cannot come in beside those that are there: it is one of them, or a text could mean both.
    ///
    /// Looks at [`CODES_ALIKE`] codes at most.
    fn is_taken(&self, hash: &[u8; 16]) -> bool {
        let (any, there) = (any_spelling(hash), Cell::new(0));
        let taken = |known: &[u8; 16]| {
            there.set(there.get() + 1);
            let both = *known == any || *hash == any || there.get() == CODES_ALIKE;
            known == hash || both && !inject(Mistake::TextOfTwoCodes)
        };
        self.alike(hash, taken).is_some()
    }

    /// Returns the unit of a code in stock.
    pub(crate) fn find(&self, hash: &[u8; 16]) -> Option<u32> {
        self.any(hash).filter(|unit| *unit < self.committed)
    }

    /// Returns the line of the import under way, from 0, that brought a code, and the code sealed. After 100 duplicates the
    /// line may be a later one.
    pub(crate) fn staged(&self, hash: &[u8; 16]) -> Option<(u32, &[u8])> {
        let unit = self.any(hash).filter(|unit| *unit >= self.committed)?;
        let before = |line, duplicate: &u32| line + u32::from(*duplicate <= line);
        let duplicates = &self.open.as_ref()?.duplicates;
        Some((duplicates.iter().fold(unit - self.committed, before), self.sealed(unit)))
    }

    /// Returns the import that a unit came with.
    pub(crate) fn import_of(&self, unit: u32) -> Option<&Import> {
        let after = self.imports.partition_point(|import| import.first_unit <= unit);
        // Imports that added nothing begin where the one after them does.
        let import = &self.imports[..after].iter().rev().find(|import| import.added > 0)?;
        (unit - import.first_unit < import.added).then_some(import)
    }

    /// Adds a unit of the import under way, or says that the pool has its code.
    pub(crate) fn push(&mut self, hash: [u8; 16], sealed: &[u8], rank: u32) -> bool {
        if self.is_taken(&hash) {
            return false;
        }
        let unit = self.len();
        if self.runs.last().is_none_or(|run| run.is_full()) {
            let run = self.runs.last().map_or_else(StockRun::default, |full| StockRun::after(full));
            self.runs.push(Arc::new(run));
            self.bytes += self.runs.last().map_or(0, |run| run.memory());
        }
        let run = self.runs.last_mut().expect("there is one");
        let before = run.memory();
        // A snapshot under way may hold the run: then this copies it.
        Arc::make_mut(run).push(hash, sealed, rank);
        self.bytes = self.bytes + run.memory() - before;
        self.index.set(&hash[..ALIKE_BYTES], unit, |_| false);
        true
    }

    /// Takes in the lines of a file, in order.
    pub(crate) fn stage<'a>(&mut self, codes: impl Iterator<Item = ([u8; 16], &'a [u8])>) {
        let mut open = self.open.take().expect("an import is under way");
        for (hash, sealed) in codes {
            open.digest = xxh3_64_with_seed(&hash, open.digest);
            if !self.push(hash, sealed, 0) && open.duplicates.len() < CODE_DUPLICATES_NAMED {
                open.duplicates.push(open.lines);
            }
            open.lines += 1;
        }
        self.open = Some(open);
    }

    /// Puts the units of the import under way into stock.
    pub(crate) fn commit(&mut self, at: Timestamp, who: &str) -> &Import {
        let open = self.open.take().expect("an import is under way");
        let (first_unit, added) = (self.committed, self.len() - self.committed);
        self.committed += added;
        let OpenImport { id, lines, duplicates, digest, .. } = open;
        let who = who.into();
        let import =
            Import { id, digest, lines, added, duplicates, first_unit, at, who, revoked: false };
        self.add_import(import);
        self.imports.last().expect("it was just added")
    }

    pub(crate) fn add_import(&mut self, import: Import) {
        self.imports_memory += import.memory();
        self.imports.push(import);
    }

    /// Takes out some units of an import that was abandoned; says whether none are left.
    pub(crate) fn clear(&mut self) -> bool {
        let least = self.committed.max(self.len().saturating_sub(CLEARED));
        while self.len() > least {
            let unit = self.len() - 1;
            let run = self.runs.last_mut().expect("there is a unit");
            let hash = *run.hashes.last().expect("a run has units");
            let before = run.memory();
            Arc::make_mut(run).pop();
            self.bytes = self.bytes + run.memory() - before;
            if run.hashes.is_empty() {
                self.bytes -= run.memory();
                self.runs.pop();
            }
            self.index.remove(&hash[..ALIKE_BYTES], |known| known == unit);
        }
        self.len() == self.committed
    }

    /// Returns how many units from a number on are free, up to another.
    pub(crate) fn free_among(&self, first: u32, end: u32) -> u32 {
        (first.max(self.next)..end).filter(|unit| self.raw_rank(*unit) == 0).count() as u32
    }

    /// Returns the next free unit to a rank. One must be free.
    pub(crate) fn give(&mut self, rank: u32) -> u32 {
        loop {
            let unit = self.next;
            assert!(unit < self.committed, "a unit was counted as free");
            if let Some(import) = self.import_of(unit).filter(|import| import.revoked) {
                self.next = import.first_unit + import.added;
                continue;
            }
            self.next += 1;
            if self.raw_rank(unit) == 0 {
                self.set_rank(unit, rank);
                return unit;
            }
        }
    }

    pub(crate) fn set_rank(&mut self, unit: u32, rank: u32) {
        let run = &mut self.runs[(unit / TOGETHER) as usize];
        let before = run.memory();
        let changed = Arc::make_mut(run);
        changed.stored = OnceLock::new();
        changed.ranks[(unit % TOGETHER) as usize] = rank;
        self.bytes = self.bytes + run.memory() - before;
    }

    pub(crate) fn memory(&self) -> usize {
        let open = self.open.as_ref().map_or(0, |open| open.id.len() + open.duplicates.len() * 4);
        self.bytes + self.index.memory() + self.imports_memory + open
    }

    pub(crate) fn walked_memory(&self) -> usize {
        let open = self.open.as_ref().map_or(0, |open| open.id.len() + open.duplicates.len() * 4);
        let runs = self.runs.iter().map(|run| run.memory()).sum::<usize>();
        let imports = self.imports.iter().map(Import::memory).sum::<usize>();
        runs + self.index.walked_memory() + imports + open
    }
}
