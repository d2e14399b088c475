//! What an operator should know of a store's settings.

/// Something about a store's settings that an operator should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What it is and what may come of it.
    pub what: String,
    /// The command that changes it, or what else to do.
    pub fix: String,
}
