//! Maps errors of SQLite to failures.

use crate::error::JournalError;
use rusqlite::ErrorCode;
use rusqlite::ffi;
use std::path::Path;

/// Why a SQLite file did not do as asked.
///
/// All but [`Trouble::Unknown`] changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// There is no such file.
    #[error("{0} is not there")]
    Missing(String),
    /// The operating system does not let it be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// No room to write.
    #[error("there is no room: {0}")]
    Full(String),
    /// It may not be written to.
    #[error("it cannot be written to: {0}")]
    ReadOnly(String),
    /// Its bytes are not those of a good file.
    #[error("it is damaged: {0}")]
    Broken(String),
    /// It did not work, and may work later.
    #[error("it is out of reach: {0}")]
    Unavailable(String),
    /// A commit failed in a way that leaves open whether it counts after a crash.
    #[error("whether it was committed is unknown: {0}")]
    Unknown(String),
}

impl Trouble {
    /// Names the file this is about.
    #[must_use]
    pub fn about(self, path: &Path) -> Self {
        let with = |text: String| format!("{}: {text}", path.display());
        match self {
            Self::Missing(text) => Self::Missing(text),
            Self::Unreadable(text) => Self::Unreadable(with(text)),
            Self::Full(text) => Self::Full(with(text)),
            Self::ReadOnly(text) => Self::ReadOnly(with(text)),
            Self::Broken(text) => Self::Broken(with(text)),
            Self::Unavailable(text) => Self::Unavailable(with(text)),
            Self::Unknown(text) => Self::Unknown(with(text)),
        }
    }
}

/// Extended codes of writes that failed, whatever the reason: the disk is full, over its quota, or gone.
const WRITES: [i32; 9] = [
    ffi::SQLITE_IOERR_WRITE,
    ffi::SQLITE_IOERR_FSYNC,
    ffi::SQLITE_IOERR_DIR_FSYNC,
    ffi::SQLITE_IOERR_TRUNCATE,
    ffi::SQLITE_IOERR_SHMOPEN,
    ffi::SQLITE_IOERR_SHMSIZE,
    ffi::SQLITE_IOERR_SHMMAP,
    ffi::SQLITE_IOERR_COMMIT_ATOMIC,
    ffi::SQLITE_IOERR_BEGIN_ATOMIC,
];

pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

/// Says whether the file's own bytes are at fault.
pub(super) fn is_corrupt(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    code == Some(ErrorCode::DatabaseCorrupt) || code == Some(ErrorCode::NotADatabase)
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        let text = error.to_string();
        let extended = error.sqlite_extended_error_code().unwrap_or(0);
        let code = error.sqlite_error_code();
        if is_full(&error) || WRITES.contains(&extended) {
            Self::Full(text)
        } else if is_corrupt(&error) {
            Self::Broken(text)
        } else if code == Some(ErrorCode::ReadOnly) || code == Some(ErrorCode::PermissionDenied) {
            Self::ReadOnly(text)
        } else {
            Self::Unavailable(text)
        }
    }
}

impl From<Trouble> for JournalError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Full(text) => Self::Full(text),
            Trouble::ReadOnly(text) => Self::ReadOnly(text),
            Trouble::Broken(text) => Self::Broken(text),
            Trouble::Unavailable(text) => Self::Unavailable(text),
            Trouble::Unknown(text) => Self::Unknown(text),
            Trouble::Missing(text) => Self::Unreadable(format!("{text} is not there")),
            Trouble::Unreadable(text) => Self::Unreadable(text),
        }
    }
}

impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> Self {
        Trouble::from(error).into()
    }
}
