//! Manifests and the pieces they name.

use crate::error::JournalError;
use firstcome_core::names::PieceName;
use std::collections::BTreeSet;

/// A manifest that makes pieces a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The position of the last entry that the snapshot covers.
    pub(crate) position: u64,
    /// The names of its pieces.
    pub(crate) pieces: Vec<PieceName>,
    /// The manifest itself.
    pub(crate) bytes: Vec<u8>,
}

impl Manifest {
    /// Says whether it has the same position and pieces as another one.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.position == other.position && self.pieces == other.pieces
    }
}

/// Compares the bytes of a piece with its name, which is made of them.
pub(crate) fn check_piece(
    name: PieceName,
    found: Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>, JournalError> {
    match found {
        Some(bytes) if PieceName::of(&bytes) != name => Err(JournalError::Broken(format!(
            "piece {name} of a snapshot is torn or altered: its bytes give another name"
        ))),
        found => Ok(found),
    }
}

/// Returns the names that any of these manifests names.
pub(crate) fn names(manifests: &[Manifest]) -> BTreeSet<PieceName> {
    manifests.iter().flat_map(|manifest| manifest.pieces.iter().copied()).collect()
}
