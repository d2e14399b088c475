//! What campaigns take in memory, about: more than a node may use is refused before it is written.

/// Bytes of a unit with an owner, including the subject.
pub(crate) const BYTES_PER_UNIT: u64 = 50 + 32;
/// Bytes of a seat, with or without an owner.
pub(crate) const BYTES_PER_SEAT: u64 = 120;
