//! Protections that the tests switch off, to see that their stories notice when one is missing.

use std::sync::OnceLock;

/// A protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// An entry names the one before it, and an append the one it rests on.
    PredecessorNames,
    /// A batch that was appended twice runs once.
    BatchNumbers,
    /// Copies are counted on the connection that wrote.
    OwnConnection,
}

/// Says whether this process goes without a protection, as `FIRSTCOME_TWIN` has it.
pub(crate) fn is_off(protection: Protection) -> bool {
    static OFF: OnceLock<Option<Protection>> = OnceLock::new();
    let off = OFF.get_or_init(|| match std::env::var("FIRSTCOME_TWIN").ok()?.as_str() {
        "predecessor_names" => Some(Protection::PredecessorNames),
        "batch_numbers" => Some(Protection::BatchNumbers),
        "own_connection" => Some(Protection::OwnConnection),
        other => panic!("there is no protection {other:?}"),
    });
    *off == Some(protection)
}
