//! Reads numbers and names from bytes, little-endian.

use crate::name::Name;

/// Reads from the front of bytes.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    pub(crate) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*front)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front.to_vec())
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.take().map(i64::from_le_bytes)
    }

    pub(crate) fn name(&mut self) -> Option<Name> {
        Name::from_bytes(&self.take::<24>()?)
    }

    pub(crate) fn length(&mut self) -> Option<usize> {
        usize::try_from(self.u32()?).ok()
    }
}
