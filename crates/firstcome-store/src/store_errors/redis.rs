//! The error codes of Redis and Valkey.

use super::Meaning::{NoAccess, NoRoom, NotReady, ReadOnly, WrongKind};
use super::{ErrorCode, error};

pub(super) const ERRORS: &[ErrorCode] = &[
    error("LOADING", NotReady, "it was started and still reads its file"),
    error("BUSY", NotReady, "a script of somebody else takes long"),
    error("TRYAGAIN", NotReady, "keys of one command are being moved between servers of a cluster"),
    error("CLUSTERDOWN", NotReady, "part of the cluster has no master until it has elected one"),
    error("MOVED", NotReady, "another server of the cluster has the slot; its owner is asked for"),
    error("ASK", NotReady, "the slot is being moved to another server of the cluster"),
    error("MASTERDOWN", NotReady, "a replica has lost its master, or has not copied it yet"),
    error("NOREPLICAS", NotReady, "fewer replicas are there than `min-replicas-to-write` asks for"),
    error("NOMASTERLINK", NotReady, "a replica is not connected to its master yet"),
    error("NOSCRIPT", NotReady, "it has forgotten its scripts, and is given them again"),
    error(
        "MISCONF",
        NotReady,
        "it could not save its file or append to it, and takes no writes until it can; it tries again by itself",
    ),
    error("OOM", NoRoom, "it is at `maxmemory`; it takes writes when keys end or are removed"),
    error("READONLY", ReadOnly, "it is a replica, or became one; the next master takes writes"),
    error(
        "NOPERM",
        NoAccess,
        "the user has no right to the command, the key or the channel; an ACL was changed",
    ),
    error("NOAUTH", NoAccess, "it asks for a password, and got none"),
    error("WRONGPASS", NoAccess, "the user or the password is wrong"),
    error(
        "WRONGTYPE",
        WrongKind,
        "the key has a value of another type: it belongs to somebody else",
    ),
];
