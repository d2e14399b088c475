//! The body that ends a space in a store, because the space was moved to another one.

use super::BodyWriter;
use crate::names::NodeId;
use crate::wire::MOVED_LEVEL;

/// Writes the body that ends a space: it is of [`MOVED_LEVEL`] and has no commands.
pub fn moved(node: NodeId, number: u64, durable: u64) -> Vec<u8> {
    BodyWriter::at_level(MOVED_LEVEL, node, number, durable).finish()
}
