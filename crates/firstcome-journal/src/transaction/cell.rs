//! Cells: the small values beside the entries.

use crate::error::JournalError;
use firstcome_core::state::Skip;

/// What a cell is about. Each store knows where it keeps which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A skipped entry; the key is its position in decimal digits.
    Skip,
    /// A heartbeat; the key is the node's 16 bytes. Only where several nodes share the journal.
    Node,
    /// A report of a fork; the key is epoch and node in hexadecimal digits. Only where several nodes share it.
    Report,
}

/// A small value with a key of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// What it is about.
    pub(crate) kind: Kind,
    /// Unlike that of any other cell of the kind.
    pub(crate) key: Vec<u8>,
    /// At most 1 MiB.
    pub(crate) value: Vec<u8>,
}

/// Reads the records of skipped entries, and gives them by position.
pub(crate) fn skips(cells: &[Cell]) -> Result<Vec<Skip>, JournalError> {
    let mut skips = Vec::new();
    for cell in cells.iter().filter(|cell| cell.kind == Kind::Skip) {
        let skip = Skip::decode(&cell.value).map_err(|bad| {
            let position = std::str::from_utf8(&cell.key).ok().and_then(|key| key.parse().ok());
            let why = format!("the record that it is skipped: {bad}");
            JournalError::Damaged { position: position.unwrap_or(0), why }
        })?;
        skips.push(skip);
    }
    skips.sort_by_key(|skip| skip.position);
    Ok(skips)
}
