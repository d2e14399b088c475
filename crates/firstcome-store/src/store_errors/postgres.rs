//! The SQLSTATEs of PostgreSQL.

use super::Meaning::{InUse, NoAccess, NoDatabase, NoRoom, NotReady, ReadOnly};
use super::{ErrorCode, error};

pub(super) const ERRORS: &[ErrorCode] = &[
    error("08", NotReady, "the connection broke, or the server behind a pooler is away"),
    error("25006", ReadOnly, "transactions are read-only: it is a standby, or was set so"),
    error("25P03", NotReady, "a transaction stood idle for too long, and its session was ended"),
    error("25P04", NotReady, "a transaction took too long, and its session was ended"),
    error("28", NoAccess, "the user or the password is wrong, or pg_hba.conf does not let it in"),
    error("3D000", NoDatabase, "the database is not there"),
    error("40001", InUse, "somebody else's transaction was in the way, and this one was undone"),
    error(
        "40P01",
        InUse,
        "a deadlock: this transaction was undone so that another one could continue",
    ),
    error("42501", NoAccess, "the user has no right to the table or the schema"),
    error("53", NoRoom, "the server lacks a resource"),
    error("53100", NoRoom, "its disk is full; it takes writes when there is room"),
    error("53200", NoRoom, "it has no memory left"),
    error("53300", NotReady, "all its connections are in use"),
    error("55006", InUse, "somebody else uses what was to be changed"),
    error("55P03", InUse, "a lock was not free within `lock_timeout`"),
    error("57", NotReady, "its operator stepped in"),
    error("57014", InUse, "the statement took longer than `statement_timeout`, or was cancelled"),
    error("57P01", NotReady, "it is shutting down, or somebody ended the session"),
    error("57P02", NotReady, "one of its processes crashed, and it starts again"),
    error("57P03", NotReady, "it is starting up, shutting down or recovering"),
    error("57P04", NoDatabase, "the database was dropped"),
    error("58030", NotReady, "its disk failed to read or write"),
];
