//! What the server's errors mean.

use std::error::Error as _;
use std::io;
use std::sync::Arc;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity};

use crate::error::StoreError;
use crate::store_errors::{Meaning, Store};

/// Says why something inside a transaction, or before one, did not happen.
pub(super) fn undone(place: &str, error: &Error) -> StoreError {
    let Some(refused) = error.as_db_error() else {
        return StoreError::Unreachable { place: place.to_owned(), reason: words(error) };
    };
    let (place, detail) = (place.to_owned(), said(refused));
    let code = refused.code().code();
    match Store::PostgreSql.meaning(code) {
        Some(Meaning::NoAccess) => StoreError::Denied { code: code.to_owned(), detail },
        Some(Meaning::NoDatabase) => StoreError::NoDatabase { place, detail },
        Some(Meaning::ReadOnly) => StoreError::ReadOnlySession { place, detail },
        Some(Meaning::NoRoom) => StoreError::Full { place, detail },
        Some(Meaning::InUse) => StoreError::Held { place, detail },
        Some(Meaning::NotReady) => StoreError::Unreachable { place, reason: detail },
        Some(Meaning::WrongKind) => StoreError::WrongKind { detail },
        None if is_fatal(refused) => StoreError::Unreachable { place, reason: detail },
        None => StoreError::Statement { code: code.to_owned(), detail },
    }
}

/// Says why a COMMIT has no good answer.
pub(super) fn uncertain(place: &str, error: &Error) -> StoreError {
    match error.as_db_error() {
        // An error of the commit itself undoes the transaction; the end of the session may come after it.
        Some(refused) if !is_fatal(refused) => undone(place, error),
        Some(refused) => StoreError::Unknown { place: place.to_owned(), reason: said(refused) },
        None => StoreError::Unknown { place: place.to_owned(), reason: words(error) },
    }
}

/// Says that what was committed may be lost in a crash: nobody waited until it was on the disk.
pub(super) fn unsynced(place: &str, error: &Error) -> StoreError {
    let said = error.as_db_error().map_or_else(|| words(error), said);
    let reason = format!("it was committed, and nobody knows whether it is on the disk: {said}");
    StoreError::Unknown { place: place.to_owned(), reason }
}

/// Says whether the server undid a statement because of another transaction: sent again it may succeed.
pub(super) fn gave_way(error: &Error) -> bool {
    error.as_db_error().is_some_and(|refused| {
        matches!(refused.code().code(), "40P01" | "40001") && !is_fatal(refused)
    })
}

/// Says why there is no connection.
pub(super) fn not_connected(place: &str, error: Error) -> StoreError {
    if error.as_db_error().is_some() {
        return undone(place, &error);
    }
    let text = words(&error);
    let place = place.to_owned();
    if text.contains("server does not support TLS") {
        return StoreError::NoTls { place };
    }
    // What the client itself does not do has no code: a password that is missing, a method it does not know.
    if text.contains("password") || text.contains("authentication") {
        return StoreError::Denied { code: String::new(), detail: text };
    }
    match error.into_source().map(|source| source.downcast::<io::Error>()) {
        Some(Ok(source)) if source.kind() == io::ErrorKind::InvalidData => {
            StoreError::Tls { place, source: Arc::new(*source) }
        }
        _ => StoreError::Unreachable { place, reason: text },
    }
}

fn is_fatal(refused: &DbError) -> bool {
    matches!(refused.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
        || refused.code().code().starts_with("57P")
        || refused.code().code().starts_with("08")
}

fn said(refused: &DbError) -> String {
    match refused.detail() {
        Some(detail) => format!("{}: {detail}", refused.message()),
        None => refused.message().to_owned(),
    }
}

fn words(error: &Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
