//! What campaigns take in memory, about: more than a node may use is refused before it is written.

/// Bytes of a unit once it is somebody's, subject and all.
pub(crate) const BYTES_PER_UNIT: u64 = 50 + 32;
/// Bytes of a seat, whoever has it.
pub(crate) const BYTES_PER_SEAT: u64 = 120;
