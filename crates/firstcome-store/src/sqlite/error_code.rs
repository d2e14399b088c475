//! The name of a result code.

use rusqlite::ffi;

/// Returns the name of an error's result code: the extended one where that is in the list of codes, its family's otherwise.
///
/// `None` where it is not SQLite that failed.
pub(super) fn of(error: &rusqlite::Error) -> Option<&'static str> {
    error.sqlite_extended_error_code().map(name)
}

fn name(extended: i32) -> &'static str {
    match extended {
        ffi::SQLITE_IOERR_BEGIN_ATOMIC => "SQLITE_IOERR_BEGIN_ATOMIC",
        ffi::SQLITE_IOERR_COMMIT_ATOMIC => "SQLITE_IOERR_COMMIT_ATOMIC",
        ffi::SQLITE_IOERR_DIR_FSYNC => "SQLITE_IOERR_DIR_FSYNC",
        ffi::SQLITE_IOERR_FSYNC => "SQLITE_IOERR_FSYNC",
        ffi::SQLITE_IOERR_SHMMAP => "SQLITE_IOERR_SHMMAP",
        ffi::SQLITE_IOERR_SHMOPEN => "SQLITE_IOERR_SHMOPEN",
        ffi::SQLITE_IOERR_SHMSIZE => "SQLITE_IOERR_SHMSIZE",
        ffi::SQLITE_IOERR_TRUNCATE => "SQLITE_IOERR_TRUNCATE",
        ffi::SQLITE_IOERR_WRITE => "SQLITE_IOERR_WRITE",
        // The family is in the lowest byte: https://www.sqlite.org/rescode.html
        _ => match extended & 0xff {
            ffi::SQLITE_BUSY => "SQLITE_BUSY",
            ffi::SQLITE_CANTOPEN => "SQLITE_CANTOPEN",
            ffi::SQLITE_CONSTRAINT => "SQLITE_CONSTRAINT",
            ffi::SQLITE_CORRUPT => "SQLITE_CORRUPT",
            ffi::SQLITE_FULL => "SQLITE_FULL",
            ffi::SQLITE_IOERR => "SQLITE_IOERR",
            ffi::SQLITE_LOCKED => "SQLITE_LOCKED",
            ffi::SQLITE_NOMEM => "SQLITE_NOMEM",
            ffi::SQLITE_NOTADB => "SQLITE_NOTADB",
            ffi::SQLITE_PERM => "SQLITE_PERM",
            ffi::SQLITE_PROTOCOL => "SQLITE_PROTOCOL",
            ffi::SQLITE_READONLY => "SQLITE_READONLY",
            ffi::SQLITE_TOOBIG => "SQLITE_TOOBIG",
            _ => "SQLITE_ERROR",
        },
    }
}
