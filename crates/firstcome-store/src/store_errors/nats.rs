//! The error codes of JetStream.

use super::Meaning::{InUse, NoAccess, NoDatabase, NoRoom, NotReady, WrongKind};
use super::{ErrorCode, error};

pub(super) const ERRORS: &[ErrorCode] = &[
    error("10002", NoRoom, "the account has used up what it may store"),
    error("10005", NotReady, "a server that is to have the stream is not there"),
    error("10008", NotReady, "too few servers are there, or they have not elected a leader yet"),
    error("10009", NotReady, "it does not lead any more; another server does soon"),
    error("10023", NoRoom, "the servers have no resources left"),
    error("10028", NoRoom, "the servers have no memory left"),
    error("10035", NoAccess, "the account is not there"),
    error("10039", NoAccess, "the account may not use JetStream"),
    error("10047", NoRoom, "the servers have no space left"),
    error("10053", NoRoom, "a limit of the stream is reached"),
    error("10058", WrongKind, "there is a stream of that name with other settings"),
    error("10059", NoDatabase, "the stream is not there"),
    error("10065", WrongKind, "another stream takes the same subjects"),
    error("10071", InUse, "somebody else stored a message first"),
    error("10076", NoAccess, "the server runs without JetStream"),
    error(
        "10077",
        NoRoom,
        "it could not store the message: its disk is full, or a limit is reached",
    ),
    error("10163", NotReady, "a leader was just elected, and cannot check conditions yet"),
    error("10164", InUse, "somebody else stores a message at this moment"),
    error("10167", NotReady, "it has more requests than it can take"),
    error("10194", NotReady, "the stream is offline"),
    error("10210", NotReady, "too many batches are being sent"),
];
