//! What the error codes of the stores mean, and which errors pass: the one list for locks, journal and ledger.
//!
//! An error is known by the code that the store itself gives it, never by its text. The same list, for people, is in
//! `docs/reference/store-errors.md`.

mod mysql;
mod nats;
mod postgres;
mod redis;
mod sqlite;

/// A kind of store with error codes of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Redis and Valkey: the first word of an error, as `MISCONF`.
    Redis,
    /// PostgreSQL: an SQLSTATE of five characters, or a class of two.
    PostgreSql,
    /// MariaDB (MySQL untested): the error's number.
    MySql,
    /// NATS JetStream: the number of the error, `err_code`.
    Nats,
    /// SQLite: the name of the result code.
    Sqlite,
}

/// The meaning of a store's error for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The server cannot do it now: it starts, stops, is busy, has no connection free, or cannot save.
    NotReady,
    /// Somebody else's work is in the way.
    InUse,
    /// The server takes no writes: it is a replica, or has become one.
    ReadOnly,
    /// There is no space on the server's disk or in its memory.
    NoRoom,
    /// The user, the password, or the user's rights are not enough.
    NoAccess,
    /// The database or the file is not there.
    NoDatabase,
    /// What is there under the name is something else.
    WrongKind,
}

/// Whether an error passes, and so who is right to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    /// It passes though nobody does anything about it: everybody tries again, within the time they have.
    ByItself,
    /// It ends when an operator grants a right again or creates a missing object. A call, and a server that starts, say so
    /// at once; an election, the journal and the ledger of a server that runs try again.
    OnceMended,
    /// Trying again is of no use.
    Never,
}

impl Meaning {
    /// Tells whether an error of this meaning passes.
    #[must_use]
    pub const fn passes(self) -> Passes {
        match self {
            Self::NotReady | Self::InUse | Self::ReadOnly | Self::NoRoom => Passes::ByItself,
            Self::NoAccess | Self::NoDatabase => Passes::OnceMended,
            Self::WrongKind => Passes::Never,
        }
    }

    /// Returns the word for it in the documentation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotReady => "not ready",
            Self::InUse => "in use",
            Self::ReadOnly => "read-only",
            Self::NoRoom => "no room",
            Self::NoAccess => "no access",
            Self::NoDatabase => "no database",
            Self::WrongKind => "wrong kind",
        }
    }
}

/// An error code of a store, with its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode {
    /// The store's own word for it; two characters are a class of PostgreSQL's.
    pub code: &'static str,
    /// What it means.
    pub meaning: Meaning,
    /// When the store says it, and why it passes or does not.
    pub why: &'static str,
}

impl Store {
    /// All kinds of stores.
    pub const ALL: [Self; 5] =
        [Self::Redis, Self::PostgreSql, Self::MySql, Self::Nats, Self::Sqlite];

    /// Returns every error code of this store that means something to Firstcome.
    #[must_use]
    pub const fn errors(self) -> &'static [ErrorCode] {
        match self {
            Self::Redis => redis::ERRORS,
            Self::PostgreSql => postgres::ERRORS,
            Self::MySql => mysql::ERRORS,
            Self::Nats => nats::ERRORS,
            Self::Sqlite => sqlite::ERRORS,
        }
    }

    /// Returns what a code means; `None` for one that is not in the list: what was asked is wrong, or new.
    #[must_use]
    pub fn meaning(self, code: &str) -> Option<Meaning> {
        let errors = self.errors();
        let listed = |code: &str| errors.iter().find(|error| error.code == code);
        let class = || code.get(..2).filter(|_| self == Self::PostgreSql);
        listed(code).or_else(|| class().and_then(listed)).map(|error| error.meaning)
    }
}

/// Makes a line of a list.
const fn error(code: &'static str, meaning: Meaning, why: &'static str) -> ErrorCode {
    ErrorCode { code, meaning, why }
}

#[cfg(test)]
mod tests;
