//! MariaDB and MySQL: a small pool of connections, and single statements whose time zone and isolation are said, never
//! inherited.
//!
//! Statements are text with their values in it, so that one that changes something and one that looks at it travel
//! together; [`text`] and [`bytes`] write values that cannot be anything else.

mod address;
mod pool;

use std::path::PathBuf;
use std::time::Duration;

pub use mysql_async::Row;

pub use self::pool::MySql;
use crate::Failure;

/// Where a MariaDB or MySQL is and how long to wait for it.
///
/// # Examples
///
/// ```
/// use firstcome_store::mysql::Options;
/// let options = Options::new("mysql://ann:secret@127.0.0.1/shop").connections(2);
/// ```
#[derive(Clone)]
pub struct Options {
    url: String,
    connections: usize,
    connect_within: Duration,
    answer_within: Duration,
    lock_within: Duration,
    heartbeat: Duration,
}

impl Options {
    /// Begins with a URL and the defaults.
    ///
    /// `mysql://user[:password]@host[:port]/database[?sslmode=…][&sslrootcert=FILE]`, or `mariadb://…`, port 3306 where
    /// none is given; `%` escapes are resolved. `sslmode` is `disable`, or `require` and `verify-full`, which are the
    /// same here: certificate and host name are always checked, against the authorities in the file `sslrootcert` (PEM)
    /// or those of Mozilla. Without `sslmode` it is `verify-full`, on this machine's own addresses `disable`.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            connections: 4,
            connect_within: Duration::from_secs(5),
            answer_within: Duration::from_secs(3),
            lock_within: Duration::from_secs(1),
            heartbeat: Duration::from_secs(5),
        }
    }

    /// Sets how many connections there are at most, default 4.
    ///
    /// # Panics
    ///
    /// It is 0.
    #[must_use]
    pub fn connections(mut self, most: usize) -> Self {
        assert!(most > 0, "a pool without connections");
        self.connections = most;
        self
    }

    /// Sets how long one try to connect may take, default 5 s: TCP, TLS and log-in together.
    #[must_use]
    pub fn connect_within(mut self, time: Duration) -> Self {
        self.connect_within = time;
        self
    }

    /// Sets how long a statement may take, default 3 s.
    #[must_use]
    pub fn answer_within(mut self, time: Duration) -> Self {
        self.answer_within = time;
        self
    }

    /// Sets how long the server waits for a row that another transaction has, default 1 s; in whole seconds, at least
    /// one.
    #[must_use]
    pub fn lock_within(mut self, time: Duration) -> Self {
        self.lock_within = time;
        self
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL may hold a password.
        f.debug_struct("Options")
            .field("connections", &self.connections)
            .field("answer_within", &self.answer_within)
            .finish_non_exhaustive()
    }
}

/// A URL, read.
struct Address {
    host: crate::host::Host,
    user: String,
    password: Option<String>,
    database: String,
    tls: bool,
    authorities: Option<PathBuf>,
}

/// Writes text as a value in a statement.
#[must_use]
pub fn text(value: &str) -> String {
    format!("_utf8mb4 {}", bytes(value.as_bytes()))
}

/// Writes bytes as a value in a statement.
#[must_use]
pub fn bytes(value: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut written = String::with_capacity(3 + 2 * value.len());
    written.push_str("x'");
    for byte in value {
        // Writing to a string cannot fail.
        write!(written, "{byte:02x}").ok();
    }
    written.push('\'');
    written
}

/// Reads a column of a row.
///
/// # Errors
///
/// [`Failure::Unexpected`] where it is not there, or of another type.
pub fn cell<T: mysql_async::prelude::FromValue>(row: &Row, at: usize) -> Result<T, Failure> {
    let wrong = || Failure::Unexpected { detail: format!("column {at} is not what was asked for") };
    row.get_opt(at).ok_or_else(wrong)?.map_err(|_| wrong())
}
