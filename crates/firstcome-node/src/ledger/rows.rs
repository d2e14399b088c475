//! What columns of a ledger in a database mean.

use super::LedgerFailure;

/// Returns a rank.
pub(super) fn rank_of(rank: i64) -> Result<u32, LedgerFailure> {
    u32::try_from(rank).map_err(|_| LedgerFailure::Broken(format!("{rank} is no rank")))
}

/// Returns a whole number that fits what it is of.
pub(super) fn small<T: TryFrom<i64>>(number: Option<i64>) -> Result<Option<T>, LedgerFailure> {
    let wrong = |number| LedgerFailure::Broken(format!("{number} is out of its range"));
    number.map(|number| T::try_from(number).map_err(|_| wrong(number))).transpose()
}

/// Finds the value that is stored under a text.
pub(super) fn one_of<T: Copy>(
    values: &[T],
    name: fn(T) -> &'static str,
    text: &str,
) -> Result<T, LedgerFailure> {
    let found = values.iter().copied().find(|value| name(*value) == text);
    found.ok_or_else(|| LedgerFailure::Broken(format!("{text:?} is not known")))
}
