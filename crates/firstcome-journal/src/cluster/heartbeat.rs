//! The bytes of a heartbeat: the store's time, then what [`write()`] gives.
//!
//! The form is described in `docs/reference/in-redis.md`.

use crate::cluster::NodeStatus;
use crate::transaction::cell::{Cell, Kind};
use firstcome_core::{NodeId, Timestamp};

/// Bytes of what a node says of itself, without the text at the end and with when it last did.
const FRONT_BYTES: usize = 56;

/// Returns the bytes of what a node says of itself; when it does is put before them.
pub(crate) fn write(me: &NodeStatus) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FRONT_BYTES + me.address.len() + 1 + me.words.len());
    bytes.extend_from_slice(&me.position.to_le_bytes());
    bytes.extend_from_slice(&me.durable.to_le_bytes());
    bytes.extend_from_slice(&me.epoch.to_le_bytes());
    bytes.extend_from_slice(&me.level.to_le_bytes());
    bytes.extend_from_slice(&me.memory.to_le_bytes());
    bytes.extend_from_slice(&me.since.as_micros().to_le_bytes());
    bytes.extend_from_slice(&me.digest.to_le_bytes());
    bytes.extend_from_slice(me.address.as_bytes());
    // A build that knows no words shows them behind the address.
    if !me.words.is_empty() {
        bytes.push(b' ');
        bytes.extend_from_slice(me.words.as_bytes());
    }
    bytes
}

/// Reads when a heartbeat was sent; `None` for what is none.
pub(crate) fn time(cell: &Cell) -> Option<Timestamp> {
    let (time, _) = cell.value.split_first_chunk::<8>()?;
    Some(Timestamp::from_micros(i64::from_le_bytes(*time)))
}

/// Reads a node, what it said and when; `None` for what is not a heartbeat, or one of a form that is not known.
pub(crate) fn read(cell: &Cell) -> Option<(NodeStatus, Timestamp)> {
    if cell.kind != Kind::Node {
        return None;
    }
    let node = NodeId(cell.key[..].try_into().ok()?);
    let (front, text) = cell.value.split_first_chunk::<FRONT_BYTES>()?;
    let text = String::from_utf8_lossy(text);
    let (address, words) = text.split_once(' ').unwrap_or((&text, ""));
    let u64_at =
        |from: usize| Some(u64::from_le_bytes(front.get(from..from + 8)?.try_into().ok()?));
    let me = NodeStatus {
        node,
        position: u64_at(8)?,
        durable: u64_at(16)?,
        epoch: u32::from_le_bytes(front.get(24..28)?.try_into().ok()?),
        level: u32::from_le_bytes(front.get(28..32)?.try_into().ok()?),
        memory: u64_at(32)?,
        since: Timestamp::from_micros(u64_at(40)?.cast_signed()),
        digest: u64_at(48)?,
        address: address.into(),
        words: words.into(),
    };
    Some((me, time(cell)?))
}
