//! The codes of one coded pool: which are issued, which are in stock, and what they were used for.
//!
//! The rules never see a code. A generated one is known by its unit number, which is the rank it was issued at, and a
//! *tag* that only who has the key can make; an imported one by a keyed hash. Nothing here can be turned back into a
//! code without the key.
//!
//! | File | Subject |
//! |---|---|
//! | `issued` | one word for each rank: the tag or the unit, and how the code stands |
//! | `standing` | how many of them count |
//! | `stock` | imported codes, sealed, in the order of their files |
//! | `uses` | what references did with codes: reserved, redeemed, rolled back |

mod issued;
mod standing;
mod stock;
mod uses;

pub(crate) use issued::{Issued, IssuedRun, Word};
pub(crate) use standing::Standing;
pub(crate) use stock::{InStock, OpenImport, Stock, StockRun};
pub(crate) use uses::{NeighbourUses, Uses};

pub use stock::Import;
pub use uses::{Use, UseState};

use crate::settings::{CodeSettings, CodeSource};
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Bits of the tag of a generated code.
pub const TAG_BITS: u32 = 43;
/// The largest tag.
pub const TAG_MOST: u64 = (1 << TAG_BITS) - 1;

/// The first bytes of an imported code's hash: codes with the same are alike. The others say how it is spelled; they are 0
/// of a code whose spelling does not count.
pub const ALIKE_BYTES: usize = 10;

/// Returns the hash of the code that is alike and whose spelling does not count.
pub(crate) fn any_spelling(hash: &[u8; 16]) -> [u8; 16] {
    let mut any = *hash;
    any[ALIKE_BYTES..].fill(0);
    any
}

/// A code as the rules know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeKey {
    /// A generated code, after decryption.
    Generated {
        /// Its unit number: the rank it was issued at, from 1.
        unit: u32,
        /// Its tag: at most [`TAG_MOST`].
        tag: u64,
    },
    /// An imported code: a keyed hash of its text.
    Imported {
        /// The hash: [`ALIKE_BYTES`] of what it is compared as, and the rest of how it is spelled.
        hash: [u8; 16],
    },
    /// Whatever code the claim of a rank has now: for operators.
    Rank(u32),
}

/// A code that came with a claim, as the rules know it: whoever has the key makes its text from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuedCode {
    /// A generated one.
    Generated {
        /// Its unit number.
        unit: u32,
        tag: u64,
    },
    /// An imported one.
    Imported {
        /// The number of the unit in its pool, from 0.
        unit: u32,
    },
}

/// What an issued code is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeUnit<'a> {
    /// A generated one: from the two numbers under its key.
    Generated {
        /// Its unit number.
        unit: u32,
        tag: u64,
    },
    /// An imported one: its sealed text.
    Imported {
        /// The number of the unit in its pool, from 0.
        unit: u32,
        /// The text, sealed under the key.
        sealed: &'a [u8],
    },
}

/// What an operator said about codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeVerdict {
    /// Never to be redeemed again. Final.
    Revoke,
    /// Not to be redeemed until somebody decided about it.
    Suspend,
    /// To be redeemed again after it was suspended.
    Restore,
}

impl CodeVerdict {
    /// Every verdict once.
    pub const ALL: [Self; 3] = [Self::Revoke, Self::Suspend, Self::Restore];

    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Revoke => "revoke",
            Self::Suspend => "suspend",
            Self::Restore => "restore",
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Revoke => 1,
            Self::Suspend => 2,
            Self::Restore => 3,
        }
    }

    pub(crate) fn of(code: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| u64::from(verdict.code()) == code)
    }
}

/// What was done to an issued code, or to a whole import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeMark {
    /// The rank of the claim; 0 of an import.
    pub rank: u32,
    /// What was decided; none if the code was replaced by another.
    pub verdict: Option<CodeVerdict>,
    /// The issue number from then on; 0 of an import.
    pub issue: u16,
    /// The import's id; empty where it is about one code.
    pub import: Box<str>,
    /// When.
    pub at: Timestamp,
    /// Why, as the operator gave it.
    pub reason: Box<str>,
    /// The name of the key it was given with.
    pub who: Box<str>,
}

impl CodeMark {
    fn memory(&self) -> usize {
        size_of::<Self>() + self.import.len() + self.reason.len() + self.who.len()
    }
}

/// The codes of one pool.
#[derive(Debug)]
pub struct Codes {
    pub(crate) settings: CodeSettings,
    pub(crate) issued: Issued,
    pub(crate) standing: Standing,
    /// The tags that generated codes had before they were replaced, by rank.
    pub(crate) replaced: BTreeSet<(u32, u64)>,
    /// Ranks whose imported code came back to its subject, each with the rank at which that was first issued.
    pub(crate) came_back: BTreeMap<u32, u32>,
    /// Imported codes; none of a pool of generated ones.
    pub(crate) stock: Option<Box<Stock>>,
    pub(crate) uses: Uses,
    /// What operators did to codes, in order: results point at them by their number, from 1.
    pub(crate) marks: Vec<CodeMark>,
    marks_memory: usize,
}

impl Codes {
    pub(crate) fn new(settings: &CodeSettings) -> Self {
        let imported = settings.source == CodeSource::Imported;
        Self {
            issued: Issued::default(),
            standing: Standing::default(),
            replaced: BTreeSet::new(),
            came_back: BTreeMap::new(),
            stock: imported.then(Box::default),
            uses: Uses::new(settings.uses_per_subject.is_some()),
            settings: settings.clone(),
            marks: Vec::new(),
            marks_memory: 0,
        }
    }

    /// Returns what the operator chose for them.
    pub fn settings(&self) -> &CodeSettings {
        &self.settings
    }

    /// Returns the code that a rank has now.
    pub(crate) fn of_rank(&self, rank: u32) -> Option<IssuedCode> {
        let number = self.issued.get(rank)?.number();
        Some(match self.stock {
            None => IssuedCode::Generated { unit: rank, tag: number },
            Some(_) => IssuedCode::Imported { unit: number as u32 },
        })
    }

    /// Returns the rank at which a code was issued, whatever code the rank has now.
    pub(crate) fn rank_issued(&self, code: IssuedCode) -> Option<u32> {
        match (code, &self.stock) {
            (IssuedCode::Generated { unit, .. }, None) => self.issued.get(unit).map(|_| unit),
            (IssuedCode::Imported { unit }, Some(stock)) if unit < stock.len() => stock.rank(unit),
            _ => None,
        }
    }

    /// Returns what an issued code is made from.
    pub(crate) fn unit(&self, code: IssuedCode) -> Option<CodeUnit<'_>> {
        match (code, &self.stock) {
            (IssuedCode::Generated { unit, tag }, None) => Some(CodeUnit::Generated { unit, tag }),
            (IssuedCode::Imported { unit }, Some(stock)) => {
                Some(CodeUnit::Imported { unit, sealed: stock.sealed(unit) })
            }
            (IssuedCode::Generated { .. }, Some(_)) | (IssuedCode::Imported { .. }, None) => None,
        }
    }

    /// Returns the first rank at which the code of a rank was issued: what references did with the code is kept under it.
    pub(crate) fn first_rank(&self, rank: u32) -> u32 {
        self.came_back.get(&rank).copied().unwrap_or(rank)
    }

    /// Says whether the code of a rank that its subject cancelled comes back to it: it is imported, and no operator withdrew
    /// it.
    pub(crate) fn comes_back(&self, rank: u32) -> bool {
        self.stock.is_some()
            && self.issued.get(rank).is_some_and(|word| !word.is_suspended())
            && !self.is_revoked(rank)
    }

    /// Returns the unit of a cancelled rank to another rank of the same subject.
    pub(crate) fn bring_back(&mut self, before: u32, rank: u32) -> u64 {
        let unit = self.issued.get(before).expect("it was looked whether it comes back").number();
        let stock = self.stock.as_deref_mut().expect("only an imported code comes back");
        stock.set_rank(unit as u32, rank);
        self.came_back.insert(rank, self.first_rank(before));
        unit
    }

    /// Returns the rank at which a code is, or what replaced it, and whether it was replaced.
    pub(crate) fn find(&self, code: CodeKey) -> Found {
        match (code, &self.stock) {
            (CodeKey::Rank(rank), stock) => match (self.issued.get(rank), stock) {
                (None, _) => Found::No,
                (Some(_), None) => Found::Issued { rank, replaced: false },
                // It may have come back under a later rank.
                (Some(word), Some(stock)) => self.find_unit(stock, word.number() as u32),
            },
            (CodeKey::Generated { unit, tag }, None) => match self.issued.get(unit) {
                Some(word) if word.number() == tag => Found::Issued { rank: unit, replaced: false },
                Some(_) if self.replaced.contains(&(unit, tag)) => {
                    Found::Issued { rank: unit, replaced: true }
                }
                Some(_) | None => Found::No,
            },
            (CodeKey::Imported { hash }, Some(stock)) => match stock.find(&hash) {
                None => Found::No,
                Some(unit) => self.find_unit(stock, unit),
            },
            (CodeKey::Generated { .. }, Some(_)) | (CodeKey::Imported { .. }, None) => Found::No,
        }
    }

    fn find_unit(&self, stock: &Stock, unit: u32) -> Found {
        let Some(mut rank) = stock.rank(unit) else { return Found::InStock { unit } };
        let now = |rank| self.issued.get(rank).map(|word| word.number() as u32);
        // What replaced it may have come back under a later rank.
        while let Some(later) = now(rank).and_then(|now| stock.rank(now))
            && later > rank
        {
            rank = later;
        }
        Found::Issued { rank, replaced: now(rank) != Some(unit) }
    }

    /// Says whether the code of a rank was revoked, by itself or with its import.
    pub(crate) fn is_revoked(&self, rank: u32) -> bool {
        let Some(word) = self.issued.get(rank) else { return false };
        let with_import = |stock: &Stock| stock.is_revoked(word.number() as u32);
        word.is_revoked() || self.stock.as_deref().is_some_and(with_import)
    }

    /// Returns the imports that were committed, in order; none of a pool of generated codes.
    pub fn imports(&self) -> &[Import] {
        self.stock.as_deref().map_or(&[], |stock| &stock.imports)
    }

    /// Returns the import under way: its id, and how many lines of its file were taken.
    pub fn open_import(&self) -> Option<(&str, u32)> {
        let open = self.stock.as_deref()?.open.as_ref()?;
        Some((&open.id, open.lines))
    }

    /// Returns the line of the import under way, from 0, that brought a code, and the code sealed. After 100 duplicates the
    /// line may be a later one.
    pub fn staged(&self, hash: &[u8; 16]) -> Option<(u32, &[u8])> {
        self.stock.as_deref()?.staged(hash)
    }

    /// Returns what operators did to codes, in order.
    pub fn marks(&self) -> &[CodeMark] {
        &self.marks
    }

    pub(crate) fn mark(&mut self, mark: CodeMark) {
        self.marks_memory += mark.memory();
        self.marks.push(mark);
    }

    pub(crate) fn memory(&self) -> usize {
        let stock = self.stock.as_deref().map_or(0, Stock::memory);
        self.own_memory() + self.marks_memory + self.issued.memory() + stock + self.uses.memory()
    }

    pub(crate) fn walked_memory(&self) -> usize {
        let stock = self.stock.as_deref().map_or(0, Stock::walked_memory);
        let marks = self.marks.iter().map(CodeMark::memory).sum::<usize>();
        let uses = self.uses.walked_memory();
        self.own_memory() + marks + self.issued.walked_memory() + stock + uses
    }

    fn own_memory(&self) -> usize {
        let apart = (self.replaced.len() + self.came_back.len()) * 32;
        size_of::<Self>() + apart + self.standing.memory()
    }
}

/// What is known of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// There is no such code.
    No,
    /// It is imported and nobody has it.
    InStock { unit: u32 },
    /// It is that of a rank, or what replaced it is.
    Issued { rank: u32, replaced: bool },
}
