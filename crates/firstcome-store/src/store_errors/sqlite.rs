//! The result codes of SQLite, extended ones where they mean something else than their family.

use super::Meaning::{InUse, NoAccess, NoDatabase, NoRoom, NotReady, WrongKind};
use super::{ErrorCode, error};

pub(super) const ERRORS: &[ErrorCode] = &[
    error("SQLITE_BUSY", InUse, "another process writes to the file"),
    error("SQLITE_CANTOPEN", NoDatabase, "the file, or the folder it is to be in, is not there"),
    error("SQLITE_FULL", NoRoom, "the disk is full"),
    error("SQLITE_IOERR", NotReady, "the disk failed to read, or to lock the file"),
    error(
        "SQLITE_IOERR_BEGIN_ATOMIC",
        NoRoom,
        "a write failed: the disk is full, over its quota or gone",
    ),
    error(
        "SQLITE_IOERR_COMMIT_ATOMIC",
        NoRoom,
        "a write failed: the disk is full, over its quota or gone",
    ),
    error(
        "SQLITE_IOERR_DIR_FSYNC",
        NoRoom,
        "a write failed: the disk is full, over its quota or gone",
    ),
    error("SQLITE_IOERR_FSYNC", NoRoom, "a write failed: the disk is full, over its quota or gone"),
    error(
        "SQLITE_IOERR_SHMMAP",
        NoRoom,
        "a write failed: the disk is full, over its quota or gone",
    ),
    error(
        "SQLITE_IOERR_SHMOPEN",
        NoRoom,
        "a write failed: the disk is full, over its quota or gone",
    ),
    error(
        "SQLITE_IOERR_SHMSIZE",
        NoRoom,
        "a write failed: the disk is full, over its quota or gone",
    ),
    error(
        "SQLITE_IOERR_TRUNCATE",
        NoRoom,
        "a write failed: the disk is full, over its quota or gone",
    ),
    error("SQLITE_IOERR_WRITE", NoRoom, "a write failed: the disk is full, over its quota or gone"),
    error("SQLITE_LOCKED", InUse, "another connection of this process uses the table"),
    error("SQLITE_NOMEM", NotReady, "the machine has no memory left"),
    error("SQLITE_NOTADB", WrongKind, "the file is no database"),
    error("SQLITE_PERM", NoAccess, "this process has no right to the file"),
    error("SQLITE_PROTOCOL", InUse, "many processes began at once, and none could lock the file"),
    error("SQLITE_READONLY", NoAccess, "this process may read the file and not write to it"),
];
