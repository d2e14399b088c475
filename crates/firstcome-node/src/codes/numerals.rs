//! The 75 bits of a generated code as FF1 takes them: 15 numerals of radix 32, of which halves fit a machine word.
//!
//! The library's own numerals are vectors of big integers: most of the time of a code would go into those.

use super::text::DIGITS;
use fpe::ff1::{NumeralString, Operations};

/// Bits of a numeral.
const BITS: usize = 5;
/// Numerals of the second half; the first one has one less.
const SECOND: usize = DIGITS.div_ceil(2);
/// Bytes of the second half's number.
const BYTES: usize = SECOND * BITS / 8;

/// 15 numerals, the first one in the highest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numerals(pub(super) u128);

/// Seven or eight of them.
pub(super) struct Half {
    value: u64,
    count: usize,
}

impl Half {
    /// Returns a number modulo 32 to the power of a count, as so many numerals.
    fn modulo(value: u128, count: usize) -> Self {
        Self { value: (value & ((1 << (BITS * count)) - 1)) as u64, count }
    }
}

/// Returns the number that bytes are, the highest first. FF1 has twelve for these numerals.
fn number(bytes: impl Iterator<Item = u8>) -> u128 {
    bytes.fold(0, |number, byte| number << 8 | u128::from(byte))
}

impl Operations for Half {
    type Bytes = [u8; BYTES];

    fn numeral_count(&self) -> usize {
        self.count
    }

    fn to_be_bytes(&self, _: u32, bytes: usize) -> Self::Bytes {
        debug_assert_eq!(bytes, BYTES, "FF1 asks for what the longer half needs");
        *self.value.to_be_bytes().last_chunk().expect("five of eight bytes")
    }

    fn add_mod_exp(self, other: impl Iterator<Item = u8>, _: u32, count: usize) -> Self {
        Self::modulo(u128::from(self.value).wrapping_add(number(other)), count)
    }

    fn sub_mod_exp(self, other: impl Iterator<Item = u8>, _: u32, count: usize) -> Self {
        Self::modulo(u128::from(self.value).wrapping_sub(number(other)), count)
    }
}

impl NumeralString for Numerals {
    type Ops = Half;

    fn is_valid(&self, radix: u32) -> bool {
        radix == 1 << BITS && self.0 >> (BITS * DIGITS) == 0
    }

    fn numeral_count(&self) -> usize {
        DIGITS
    }

    fn split(&self) -> (Half, Half) {
        let first = Half::modulo(self.0 >> (BITS * SECOND), DIGITS - SECOND);
        (first, Half::modulo(self.0, SECOND))
    }

    fn concat(first: Half, second: Half) -> Self {
        Self(u128::from(first.value) << (BITS * second.count) | u128::from(second.value))
    }
}
