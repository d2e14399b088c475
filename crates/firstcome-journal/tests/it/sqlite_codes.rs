//! The journal in a SQLite file goes by the same list of error codes as locks and ledgers.

use firstcome_journal::sqlite::Trouble;
use firstcome_store::{Meaning, Store};
use rusqlite::ffi;

/// Returns the number of a result code.
fn number(name: &str) -> i32 {
    match name {
        "SQLITE_BUSY" => ffi::SQLITE_BUSY,
        "SQLITE_CANTOPEN" => ffi::SQLITE_CANTOPEN,
        "SQLITE_FULL" => ffi::SQLITE_FULL,
        "SQLITE_IOERR" => ffi::SQLITE_IOERR,
        "SQLITE_IOERR_BEGIN_ATOMIC" => ffi::SQLITE_IOERR_BEGIN_ATOMIC,
        "SQLITE_IOERR_COMMIT_ATOMIC" => ffi::SQLITE_IOERR_COMMIT_ATOMIC,
        "SQLITE_IOERR_DIR_FSYNC" => ffi::SQLITE_IOERR_DIR_FSYNC,
        "SQLITE_IOERR_FSYNC" => ffi::SQLITE_IOERR_FSYNC,
        "SQLITE_IOERR_SHMMAP" => ffi::SQLITE_IOERR_SHMMAP,
        "SQLITE_IOERR_SHMOPEN" => ffi::SQLITE_IOERR_SHMOPEN,
        "SQLITE_IOERR_SHMSIZE" => ffi::SQLITE_IOERR_SHMSIZE,
        "SQLITE_IOERR_TRUNCATE" => ffi::SQLITE_IOERR_TRUNCATE,
        "SQLITE_IOERR_WRITE" => ffi::SQLITE_IOERR_WRITE,
        "SQLITE_LOCKED" => ffi::SQLITE_LOCKED,
        "SQLITE_NOMEM" => ffi::SQLITE_NOMEM,
        "SQLITE_NOTADB" => ffi::SQLITE_NOTADB,
        "SQLITE_PERM" => ffi::SQLITE_PERM,
        "SQLITE_PROTOCOL" => ffi::SQLITE_PROTOCOL,
        "SQLITE_READONLY" => ffi::SQLITE_READONLY,
        other => panic!("{other} is new in the list: say its number here"),
    }
}

#[test]
fn the_journal_and_the_list_agree_on_every_code() {
    for listed in Store::Sqlite.errors() {
        let error = ffi::Error::new(number(listed.code));
        let trouble = Trouble::from(rusqlite::Error::SqliteFailure(error, None));
        let agree = match listed.meaning {
            Meaning::NoRoom => matches!(trouble, Trouble::Full(_)),
            // A file that is not there yet, or not any more, may be there again.
            Meaning::NotReady | Meaning::InUse | Meaning::NoDatabase => {
                matches!(trouble, Trouble::Unavailable(_))
            }
            Meaning::NoAccess | Meaning::ReadOnly => matches!(trouble, Trouble::ReadOnly(_)),
            Meaning::WrongKind => matches!(trouble, Trouble::Broken(_)),
        };
        assert!(agree, "{}: {trouble:?} is not {:?}", listed.code, listed.meaning);
    }
}
