//! Why a store gave no answer, and whether the command may have been carried out.

use std::sync::Arc;
use std::time::Duration;

use crate::store_errors::{Meaning, Passes, Store};

/// Why a store gave no usable answer.
///
/// [`StoreError::effect`] says whether the command may have been carried out all the same; it is never guessed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The address cannot be read; the password is never part of the message.
    #[error("the store's address is not usable: {reason}")]
    Address {
        /// What is wrong with it.
        reason: String,
        /// What it must look like.
        form: &'static str,
    },
    /// A time in the options is shorter or longer than is possible.
    #[error("{what} of {given:?} is outside of {least:?} to {most:?}")]
    OutOfRange {
        /// What it is about.
        what: &'static str,
        /// What was asked for.
        given: Duration,
        /// The shortest possible.
        least: Duration,
        /// The longest possible.
        most: Duration,
    },
    /// No connection could be had in time, so nothing was sent.
    #[error("the store at {place} cannot be reached: {reason}")]
    Unreachable {
        /// Host and port, or the sentinels.
        place: String,
        /// What the last try said.
        reason: String,
    },
    /// The command was handed to a connection and no answer came: it may have been carried out.
    #[error("no answer from the store at {place}, the command may have been carried out: {reason}")]
    Unknown {
        /// Host and port.
        place: String,
        /// A time-out, or what the connection said when it ended.
        reason: String,
    },
    /// The user, the password, or the user's rights are not enough.
    #[error("the store denies access: {detail}")]
    Denied {
        /// The store's word for it, as `NOPERM`; empty where a client library says it and not the server.
        code: String,
        /// The server's words.
        detail: String,
    },
    /// The server is a replica and takes no writes.
    #[error("the store at {place} is a read-only replica")]
    ReadOnly {
        /// Host and port.
        place: String,
    },
    /// A key holds a value of another kind than the command is for.
    #[error("a key holds a value of another kind: {detail}")]
    WrongKind {
        /// The server's words.
        detail: String,
    },
    /// The server is too old for what is asked.
    #[error("the store runs version {version}, {feature} needs at least {needed}")]
    TooOld {
        /// The server's version.
        version: String,
        /// The lowest version that will do.
        needed: &'static str,
        /// What needs it.
        feature: &'static str,
    },
    /// The server is part of a Redis Cluster, and its URL names a server by itself.
    #[error("the store at {place} is part of a Redis Cluster")]
    Cluster {
        /// Host and port.
        place: String,
    },
    /// The server is part of no Redis Cluster, and its URL names one.
    #[error("the store at {place} is part of no Redis Cluster")]
    NoCluster {
        /// Host and port.
        place: String,
    },
    /// The server does not have the slot of the key, or gives it to another one just now: nothing was carried out.
    #[error("the store at {place} does not have the slot of the key: {detail}")]
    Moved {
        /// The slot, and some servers of the cluster.
        place: String,
        /// The server's words.
        detail: String,
    },
    /// The server does not know a script that was called by its hash, and so has not run it.
    #[error("the store does not know a script, which was not run")]
    UnknownScript,
    /// The server answered with another error; [`StoreError::passes`] knows the codes of those that pass.
    #[error("the store refused a command: {detail}")]
    Refused {
        /// The store's word for it: the first one of an error of Redis, as `MISCONF`.
        code: String,
        /// The server's words, the code among them.
        detail: String,
    },
    /// The answer has a shape this library does not know.
    #[error("the store gave an answer of an unexpected shape: {detail}")]
    Unexpected {
        /// What came.
        detail: String,
    },
    /// The certificate or the TLS handshake is not acceptable.
    #[error("no TLS connection to {place}: {source}")]
    Tls {
        /// Host and port.
        place: String,
        /// What the TLS library said.
        source: Arc<std::io::Error>,
    },
    /// The server speaks no TLS, and TLS was asked for.
    #[error("the store at {place} speaks no TLS")]
    NoTls {
        /// Host and port.
        place: String,
    },
    /// The server has no database of that name.
    #[error("the store at {place} has no such database: {detail}")]
    NoDatabase {
        /// Host and port.
        place: String,
        /// The server's words.
        detail: String,
    },
    /// The database, or the user, is set to begin every transaction read-only.
    #[error("the store at {place} begins transactions read-only: {detail}")]
    ReadOnlySession {
        /// Host and port.
        place: String,
        /// The server's words.
        detail: String,
    },
    /// The server has no space left on its disk.
    #[error("the store at {place} is full: {detail}")]
    Full {
        /// Host and port.
        place: String,
        /// The server's words.
        detail: String,
    },
    /// Somebody else's transaction was in the way for too long, or the statement took too long: it was undone.
    #[error("the store at {place} gave up waiting: {detail}")]
    Held {
        /// Host and port.
        place: String,
        /// The server's words.
        detail: String,
    },
    /// The server refused an SQL statement, and so its whole transaction.
    #[error("the store refused a statement: {detail} (SQLSTATE {code})")]
    Statement {
        /// Five characters of the SQL standard and the server's documentation.
        code: String,
        /// The server's words.
        detail: String,
    },
    /// JetStream refused a request: it was not carried out.
    #[error("JetStream refused a request: {detail} (error {code})")]
    JetStream {
        /// The error's number; empty where a client library says it and not the server.
        code: String,
        /// The server's words.
        detail: String,
    },
    /// What the URL asks for is a feature of this library that was not turned on when the program was built.
    #[error("{what} needs the feature `{feature}`, which this program was built without")]
    NotBuilt {
        /// What needs it.
        what: &'static str,
        /// The feature in `Cargo.toml`.
        feature: &'static str,
    },
    /// The connection was closed by its owner.
    #[error("this connection has been closed")]
    Closed,
}

/// Whether a failed command may have changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// It certainly was not carried out.
    None,
    /// Nobody knows.
    Unknown,
}

impl StoreError {
    /// Makes the failure that an error of the Redis at `place` is, by its code.
    #[must_use]
    pub fn of_redis(place: &str, code: String, detail: String) -> Self {
        match Store::Redis.meaning(&code) {
            _ if matches!(&*code, "MOVED" | "ASK") => {
                Self::Moved { place: place.to_owned(), detail }
            }
            Some(Meaning::ReadOnly) => Self::ReadOnly { place: place.to_owned() },
            Some(Meaning::WrongKind) => Self::WrongKind { detail },
            Some(Meaning::NoAccess) => Self::Denied { code, detail },
            Some(_) | None => Self::Refused { code, detail },
        }
    }

    /// Says that TLS was asked for, and that there is none in this program.
    #[cfg(not(feature = "tls"))]
    #[cfg_attr(
        not(any(feature = "redis", feature = "postgres", feature = "mysql")),
        expect(dead_code, reason = "only connections over a network can have TLS")
    )]
    pub(crate) fn no_tls_built() -> Self {
        Self::NotBuilt { what: "TLS", feature: "tls" }
    }

    /// Tells whether the command may have been carried out.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            // A script that fails half-way has carried out what came before the error.
            Self::Unknown { .. } | Self::Unexpected { .. } | Self::Refused { .. } => {
                Effect::Unknown
            }
            Self::Address { .. }
            | Self::OutOfRange { .. }
            | Self::Unreachable { .. }
            | Self::Denied { .. }
            | Self::ReadOnly { .. }
            | Self::WrongKind { .. }
            | Self::TooOld { .. }
            | Self::Cluster { .. }
            | Self::NoCluster { .. }
            | Self::Moved { .. }
            | Self::UnknownScript
            | Self::Tls { .. }
            | Self::NoTls { .. }
            | Self::NoDatabase { .. }
            | Self::ReadOnlySession { .. }
            | Self::Full { .. }
            | Self::Held { .. }
            | Self::Statement { .. }
            | Self::JetStream { .. }
            | Self::NotBuilt { .. }
            | Self::Closed => Effect::None,
        }
    }

    /// Returns what the store's error means; `None` where it is not the store that is in the way, or its code is unknown.
    #[must_use]
    pub fn meaning(&self) -> Option<Meaning> {
        match self {
            Self::Unreachable { .. }
            | Self::Unknown { .. }
            | Self::Moved { .. }
            | Self::UnknownScript => Some(Meaning::NotReady),
            Self::ReadOnly { .. } | Self::ReadOnlySession { .. } => Some(Meaning::ReadOnly),
            Self::Held { .. } => Some(Meaning::InUse),
            Self::Full { .. } => Some(Meaning::NoRoom),
            Self::Denied { .. } => Some(Meaning::NoAccess),
            Self::NoDatabase { .. } => Some(Meaning::NoDatabase),
            Self::WrongKind { .. } => Some(Meaning::WrongKind),
            Self::Refused { code, .. } => Store::Redis.meaning(code),
            Self::JetStream { code, .. } => Store::Nats.meaning(code),
            // Of the databases' codes only those are left that are in no list.
            Self::Statement { .. }
            | Self::Address { .. }
            | Self::OutOfRange { .. }
            | Self::TooOld { .. }
            | Self::Cluster { .. }
            | Self::NoCluster { .. }
            | Self::Unexpected { .. }
            | Self::Tls { .. }
            | Self::NoTls { .. }
            | Self::NotBuilt { .. }
            | Self::Closed => None,
        }
    }

    /// Tells whether this passes, and so who is right to try again; see `docs/reference/store-errors.md`.
    #[must_use]
    pub fn passes(&self) -> Passes {
        self.meaning().map_or(Passes::Never, Meaning::passes)
    }

    /// Tells whether waiting and trying again can help without anybody changing anything by hand.
    #[must_use]
    pub fn passes_by_itself(&self) -> bool {
        self.passes() == Passes::ByItself
    }

    /// Returns advice on what to do, where there is some.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::OutOfRange { .. } => Some("choose a duration inside the range, or the default"),
            Self::Address { form, .. } => Some(form),
            Self::Unreachable { .. } => {
                Some("see that the server runs and that its port is open from here")
            }
            Self::Unknown { .. } => Some("read back what happened before doing it again"),
            Self::Denied { .. } => {
                Some("check user and password, and that the user has the rights listed in the docs")
            }
            Self::ReadOnly { .. } => {
                Some("give the master's address, or use Sentinel, which follows the master")
            }
            Self::WrongKind { .. } => {
                Some("use another name, or remove the key that is in the way")
            }
            Self::TooOld { .. } => Some("use a newer server"),
            Self::Cluster { .. } => {
                Some("write redis+cluster://host:port,host:port instead of redis://host:port")
            }
            Self::NoCluster { .. } => Some("write redis://host:port for a server by itself"),
            Self::Moved { .. } => Some("it is tried again: the owner of the slot is asked for"),
            Self::Tls { .. } => Some(
                "give the authority's certificate in the file that SSL_CERT_FILE names, or with RedisOptions::trust, and a \
                 host name that the certificate names",
            ),
            Self::NoTls { .. } => {
                Some("add sslmode=disable to the URL if the network between is to be trusted")
            }
            Self::NoDatabase { .. } => {
                Some("create it, `CREATE DATABASE name`, or name one that is there")
            }
            Self::ReadOnlySession { .. } => Some(
                "set default_transaction_read_only off for this user and database, or name a user that may write",
            ),
            Self::Full { .. } => Some("make room on the server's disk"),
            Self::Held { .. } => {
                Some("it is tried again; see pg_stat_activity and pg_locks for who is in the way")
            }
            Self::Refused { code, .. } if Store::Redis.meaning(code) == Some(Meaning::NoRoom) => {
                Some("give the server more memory (maxmemory), or remove keys")
            }
            Self::Refused { code, .. } if code == "MISCONF" => Some(
                "see the server's log for why it cannot write its file, and make room on its disk",
            ),
            Self::NotBuilt { feature: "tls", .. } => Some(
                "turn that feature on where the program's Cargo.toml names the crate, or, if the network between is to be \
                 trusted, use redis:// or sslmode=disable",
            ),
            Self::NotBuilt { .. } => Some(
                "turn that feature on where the program's Cargo.toml names the crate, or use another store",
            ),
            Self::UnknownScript
            | Self::Refused { .. }
            | Self::Unexpected { .. }
            | Self::Statement { .. }
            | Self::JetStream { .. }
            | Self::Closed => None,
        }
    }
}
