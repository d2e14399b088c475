//! What seats take in memory, about: more than a node may use is refused before it is written.
//!
//! What campaigns may take by their settings is in [`Sizes`](firstcome_core::settings::Sizes).

/// Bytes of a seat, with or without an owner.
pub(crate) const BYTES_PER_SEAT: u64 = 120;
