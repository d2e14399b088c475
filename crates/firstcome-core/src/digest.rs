//! A running number over all outcomes, to tell replicas apart.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The digest of everything decided so far: XXH3-64 of each part, seeded with the digest before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(pub u64);

impl Digest {
    /// Takes in more bytes.
    pub fn fold(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }
}
