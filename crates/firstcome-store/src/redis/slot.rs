//! Slots of a Redis Cluster.

/// How many slots a cluster has.
const SLOTS: u16 = 16_384;

/// A slot of a Redis Cluster: all keys of one slot are at one server.
///
/// Source: the cluster specification of Redis, "key distribution model" and "hash tags".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(pub(super) u16);

impl Slot {
    /// Returns the slot of a key: of the part in its first pair of braces, if it has one that is not empty.
    #[must_use]
    pub(super) fn of(key: &str) -> Self {
        let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
        let hashed = tag.map(|(tag, _)| tag).filter(|tag| !tag.is_empty()).unwrap_or(key);
        Self(crc16(hashed.as_bytes()) % SLOTS)
    }
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{Slot, crc16};

    #[test]
    fn slots_are_those_of_redis() {
        // The value that the specification gives, and what CLUSTER KEYSLOT answers.
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, slot) in [("foo", 12_182), ("{user1000}.following", 3443), ("", 0)] {
            assert_eq!(Slot::of(key), Slot(slot), "{key}");
        }
        assert_eq!(Slot::of("fc:{shop}:head"), Slot::of("{shop}"));
        assert_eq!(Slot::of("foo{}{bar}"), Slot(crc16(b"foo{}{bar}") % 16_384));
        assert_eq!(Slot::of("foo{{bar}}zap"), Slot::of("{{bar}"), "the first closing brace counts");
    }
}
