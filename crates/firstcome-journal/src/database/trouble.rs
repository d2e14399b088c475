//! Maps failures of a database to failures of the journal.

use crate::failure::Failure;
use crate::transaction::{Transaction, Write};
use firstcome_core::names::SpaceId;
use firstcome_store::{Effect, Failure as Store};

/// The SQLSTATEs of a schema, a table or a function that is not there: three of PostgreSQL, one of MariaDB.
const MISSING: [&str; 4] = ["3F000", "42P01", "42883", "42S02"];

/// A failure of the store, which the caller knows the meaning of, or one of ours.
#[derive(Debug)]
pub(crate) enum Broken {
    Store(Store),
    Own(Failure),
}

impl From<Store> for Broken {
    fn from(failure: Store) -> Self {
        Self::Store(failure)
    }
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self::Own(failure)
    }
}

impl Broken {
    /// Says whether the journal's tables, or its function, are not there.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Store(failure) if is_missing(failure))
    }

    /// Says what became of a transaction.
    pub(crate) fn of(self, space: SpaceId, transaction: &Transaction) -> Failure {
        match self {
            Self::Own(failure) => failure,
            Self::Store(failure) if transaction.writes.is_empty() => looked(space, failure),
            Self::Store(failure) => trouble(space, failure),
        }
    }
}

/// Says whether a transaction makes a lost space again from its pieces.
pub(crate) fn makes_the_space(transaction: &Transaction) -> bool {
    let makes = |write: &Write| matches!(write, Write::Piece(..) | Write::Restart { .. });
    transaction.writes.iter().any(makes)
}

/// Says whether the journal's tables, or its function, are not there.
pub(crate) fn is_missing(failure: &Store) -> bool {
    matches!(failure, Store::Statement { code, .. } if MISSING.contains(&code.as_str()))
}

/// Says what became of a call that may have changed something.
pub(crate) fn trouble(space: SpaceId, failure: Store) -> Failure {
    if is_missing(&failure) {
        return Failure::Gone(space);
    }
    refused(failure)
}

/// Says what became of a call that only reads: it cannot have changed anything.
pub(crate) fn looked(space: SpaceId, failure: Store) -> Failure {
    unchanged(trouble(space, failure))
}

/// Says why a journal cannot be opened.
pub(crate) fn refused(failure: Store) -> Failure {
    let (text, hint) = (failure.to_string(), failure.hint().unwrap_or_default().to_owned());
    if let Store::Full { .. } = failure {
        return Failure::Full(text);
    }
    if let Store::Denied { .. } = failure {
        let fix = "check user and password in its URL, and give the user the rights listed in \
            docs/reference/in-postgresql.md or in-mariadb.md";
        return Failure::Unfit { why: text, fix: fix.to_owned() };
    }
    if let Store::Address { .. }
    | Store::TooOld { .. }
    | Store::WrongKind { .. }
    | Store::Tls { .. }
    | Store::NoTls { .. }
    | Store::NoDatabase { .. }
    | Store::NotBuilt { .. } = failure
    {
        return Failure::Unfit { why: text, fix: hint };
    }
    match failure.effect() {
        Effect::None => Failure::Unavailable(text),
        Effect::Unknown | _ => Failure::Unknown(text),
    }
}

/// Takes back that it may have happened, of what changes nothing.
pub(crate) fn unchanged(failure: Failure) -> Failure {
    if let Failure::Unknown(text) = failure {
        return Failure::Unavailable(text);
    }
    failure
}

/// A row of a shape that no statement of ours gives.
pub(crate) fn strange(error: impl std::fmt::Display) -> Failure {
    Failure::Unknown(format!("the database answered something else than was asked for: {error}"))
}
