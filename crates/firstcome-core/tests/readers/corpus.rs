//! Bodies and snapshots, with every command and every part in them.

use firstcome_core::wire::Write;
use std::sync::LazyLock;

const JOURNALS: [&[u8]; 4] = [
    include_bytes!("../golden/claims.journal"),
    include_bytes!("../golden/seats.journal"),
    include_bytes!("../golden/bars.journal"),
    include_bytes!("../golden/waitlists.journal"),
];
const SNAPSHOTS: [&[u8]; 4] = [
    include_bytes!("../golden/claims.snapshot"),
    include_bytes!("../golden/seats.snapshot"),
    include_bytes!("../golden/bars.snapshot"),
    include_bytes!("../golden/waitlists.snapshot"),
];

/// Bytes of a golden entry between the length of its body and the body: position, time, epoch.
const STAMP_BYTES: usize = 20;

type Snapshot = (Vec<u8>, Vec<Vec<u8>>);

static BODIES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    JOURNALS.into_iter().flat_map(|journal| parts(journal, STAMP_BYTES)).collect()
});
static TAKEN: LazyLock<Vec<Snapshot>> = LazyLock::new(|| {
    let split = |bytes| {
        let mut parts = parts(bytes, 0);
        (parts.remove(0), parts)
    };
    SNAPSHOTS.into_iter().map(split).collect()
});

/// Returns every body of the golden journals.
pub(crate) fn bodies() -> Vec<Vec<u8>> {
    BODIES.clone()
}

/// Returns the golden snapshots: the manifest of each, and its pieces.
pub(crate) fn snapshots() -> Vec<Snapshot> {
    TAKEN.clone()
}

/// Returns the content of a manifest that names no piece.
pub(crate) fn manifest_without_pieces() -> Vec<u8> {
    let mut out = Vec::new();
    out.number(1, 1);
    out.bytes(2, &[7; 16]);
    out
}

fn parts(mut bytes: &[u8], between: usize) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (part, rest) = rest[between..].split_at(u32::from_le_bytes(*length) as usize);
        parts.push(part.to_vec());
        bytes = rest;
    }
    parts
}
