//! The body that ends a space in a store, because the space was moved to another one.

use super::BodyWriter;
use crate::names::NodeId;

/// The level of a body that ends its space.
///
/// No build applies an entry of it: each stops before it, also one that knows no such entry, and nothing that stands
/// behind it is ever applied.
pub const MOVED_LEVEL: u32 = u32::MAX;

/// Writes the body that ends a space: it has no commands.
pub fn moved(node: NodeId, number: u64, durable: u64) -> Vec<u8> {
    BodyWriter::at_level(MOVED_LEVEL, node, number, durable).finish()
}
