//! Maps failures of a database to failures of the journal.

use crate::error::JournalError;
use crate::transaction::{Transaction, Write};
use firstcome_core::names::SpaceId;
use firstcome_store::{Effect, StoreError};

/// The SQLSTATEs of a schema, a table or a function that is not there: three of PostgreSQL, one of MariaDB.
const MISSING: [&str; 4] = ["3F000", "42P01", "42883", "42S02"];

/// A failure of the store, which the caller knows the meaning of, or one of ours.
#[derive(Debug)]
pub(crate) enum DatabaseError {
    Store(StoreError),
    Own(JournalError),
}

impl From<StoreError> for DatabaseError {
    fn from(failure: StoreError) -> Self {
        Self::Store(failure)
    }
}

impl From<JournalError> for DatabaseError {
    fn from(failure: JournalError) -> Self {
        Self::Own(failure)
    }
}

impl DatabaseError {
    /// Says whether the journal's tables, or its function, are not there.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Store(failure) if is_missing(failure))
    }

    /// Says what became of a transaction.
    pub(crate) fn of(self, space: SpaceId, transaction: &Transaction) -> JournalError {
        match self {
            Self::Own(failure) => failure,
            Self::Store(failure) if transaction.writes.is_empty() => looked(space, failure),
            Self::Store(failure) => trouble(space, failure),
        }
    }
}

/// Says whether a transaction makes what a space is stored in: for a lost space that is made again from its pieces, and for the
/// mark of one.
pub(crate) fn makes_the_space(transaction: &Transaction) -> bool {
    let makes =
        |write: &Write| matches!(write, Write::Piece(..) | Write::Restart { .. } | Write::Mark(_));
    transaction.writes.iter().any(makes)
}

/// Says whether the journal's tables, or its function, are not there.
pub(crate) fn is_missing(failure: &StoreError) -> bool {
    matches!(failure, StoreError::Statement { code, .. } if MISSING.contains(&code.as_str()))
}

/// Says what became of a call that may have changed something.
pub(crate) fn trouble(space: SpaceId, failure: StoreError) -> JournalError {
    if is_missing(&failure) {
        return JournalError::Gone(space);
    }
    refused(failure)
}

/// Says what became of a call that only reads: it cannot have changed anything.
pub(crate) fn looked(space: SpaceId, failure: StoreError) -> JournalError {
    unchanged(trouble(space, failure))
}

/// Says why a journal cannot be opened.
pub(crate) fn refused(failure: StoreError) -> JournalError {
    let (text, hint) = (failure.to_string(), failure.hint().unwrap_or_default().to_owned());
    if let StoreError::Full { .. } = failure {
        return JournalError::Full(text);
    }
    if let StoreError::Denied { .. } = failure {
        let fix = "check user and password in its URL, and give the user the rights listed in \
            docs/reference/in-postgresql.md or in-mariadb.md";
        return JournalError::Unfit { why: text, fix: fix.to_owned() };
    }
    if let StoreError::Address { .. }
    | StoreError::TooOld { .. }
    | StoreError::WrongKind { .. }
    | StoreError::Tls { .. }
    | StoreError::NoTls { .. }
    | StoreError::NoDatabase { .. }
    | StoreError::NotBuilt { .. } = failure
    {
        return JournalError::Unfit { why: text, fix: hint };
    }
    match failure.effect() {
        Effect::None => JournalError::Unavailable(text),
        Effect::Unknown | _ => JournalError::Unknown(text),
    }
}

/// Takes back that it may have happened, of what changes nothing.
pub(crate) fn unchanged(failure: JournalError) -> JournalError {
    if let JournalError::Unknown(text) = failure {
        return JournalError::Unavailable(text);
    }
    failure
}

/// A row of a shape that no statement of ours gives.
pub(crate) fn strange(error: impl std::fmt::Display) -> JournalError {
    JournalError::Unknown(format!(
        "the database answered something else than was asked for: {error}"
    ))
}
