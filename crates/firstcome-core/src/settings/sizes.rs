//! How large campaigns may become, by their settings, and the bytes of memory that takes.

use super::{CodeSettings, CodeSource, PoolSettings, Settings};
use crate::limits::{SEAL_BYTES, WAITLIST};

/// Bytes of a unit with an owner, including a subject of 32 bytes.
pub const BYTES_PER_UNIT: u64 = 50 + 32;
/// Bytes of somebody on a waitlist, including a subject of 32 bytes.
pub const BYTES_PER_WAITER: u64 = 120;
/// Bytes of a generated code, beside its unit, once it is issued.
pub const BYTES_PER_CODE: u64 = 16;
/// Bytes of an imported code beside its letters: its row in stock, and the seal.
pub const IMPORTED_BESIDE_TEXT: u64 = 60 + SEAL_BYTES as u64;
/// Bytes of an imported code of up to 20 letters.
pub const BYTES_PER_IMPORTED: u64 = IMPORTED_BESIDE_TEXT + 20;
/// Bytes of a use of a code, including a reference of 32 bytes.
pub const BYTES_PER_USE: u64 = 256;

/// How much of each thing there may be at most, as settings say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Units of counted and coded pools.
    pub units: u64,
    /// Those who may wait.
    ///
    /// A pool that says how many may wait counts so many; another one as many as it has units, up to the default: so
    /// that the memory of a small sale is not taken up by a list that few will ever join.
    pub waiting: u64,
    /// Generated codes.
    pub codes: u64,
    /// Imported codes.
    pub imported: u64,
    /// Uses of all codes together.
    pub uses: u64,
}

impl Sizes {
    /// Returns what a pool may become.
    pub(crate) fn of(capacity: u32, waitlist: Option<u32>, codes: Option<&CodeSettings>) -> Self {
        let units = u64::from(capacity);
        let waiting = u64::from(waitlist.unwrap_or(capacity.min(WAITLIST)));
        let (generated, imported) = match codes.map(|codes| codes.source) {
            Some(CodeSource::Generated) => (units, 0),
            Some(CodeSource::Imported) => (0, units),
            None => (0, 0),
        };
        let uses = codes.map_or(0, |codes| units * u64::from(codes.uses));
        Self { units, waiting, codes: generated, imported, uses }
    }

    /// Returns all of them together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            units: self.units.saturating_add(other.units),
            waiting: self.waiting.saturating_add(other.waiting),
            codes: self.codes.saturating_add(other.codes),
            imported: self.imported.saturating_add(other.imported),
            uses: self.uses.saturating_add(other.uses),
        }
    }

    /// Returns those beyond others that are among them.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            units: self.units.saturating_sub(other.units),
            waiting: self.waiting.saturating_sub(other.waiting),
            codes: self.codes.saturating_sub(other.codes),
            imported: self.imported.saturating_sub(other.imported),
            uses: self.uses.saturating_sub(other.uses),
        }
    }

    /// Returns about how many bytes of memory that takes.
    pub fn bytes(&self) -> u64 {
        let each = [
            (self.units, BYTES_PER_UNIT),
            (self.waiting, BYTES_PER_WAITER),
            (self.codes, BYTES_PER_CODE),
            (self.imported, BYTES_PER_IMPORTED),
            (self.uses, BYTES_PER_USE),
        ];
        each.into_iter()
            .fold(0, |sum, (count, bytes)| sum.saturating_add(count.saturating_mul(bytes)))
    }
}

impl Settings {
    /// Returns how large a campaign may become with them.
    pub fn sizes(&self) -> Sizes {
        let of =
            |pool: &PoolSettings| Sizes::of(pool.capacity, pool.waitlist, pool.codes.as_deref());
        self.pools.iter().map(of).fold(Sizes::default(), Sizes::plus)
    }
}
