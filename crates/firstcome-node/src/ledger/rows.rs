//! What columns of a ledger in a database mean.

use super::LedgerError;

/// Returns a rank.
pub(super) fn rank_of(rank: i64) -> Result<u32, LedgerError> {
    u32::try_from(rank).map_err(|_| LedgerError::Broken(format!("{rank} is no rank")))
}

/// Returns a whole number that fits what it is of.
pub(super) fn small<T: TryFrom<i64>>(number: Option<i64>) -> Result<Option<T>, LedgerError> {
    let wrong = |number| LedgerError::Broken(format!("{number} is out of its range"));
    number.map(|number| T::try_from(number).map_err(|_| wrong(number))).transpose()
}

/// Finds the value that is stored under a text.
pub(super) fn one_of<T: Copy>(
    values: &[T],
    name: fn(T) -> &'static str,
    text: &str,
) -> Result<T, LedgerError> {
    let found = values.iter().copied().find(|value| name(*value) == text);
    found.ok_or_else(|| LedgerError::Broken(format!("{text:?} is not known")))
}
