//! Where a MariaDB is, and its time-outs.

use std::time::Duration;

/// Where a MariaDB is and how long to wait for it.
///
/// # Examples
///
/// ```
/// use firstcome_store::mysql::MySqlOptions;
/// let options = MySqlOptions::new("mysql://ann:secret@127.0.0.1/shop").connections(2);
/// ```
#[derive(Clone)]
pub struct MySqlOptions {
    pub(super) url: String,
    pub(super) connections: usize,
    pub(super) connect_within: Duration,
    pub(super) answer_within: Duration,
    pub(super) lock_within: Duration,
    pub(super) heartbeat: Duration,
    pub(super) idle_within: Option<Duration>,
}

impl MySqlOptions {
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
            idle_within: None,
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

    /// Sets after how long without a statement the server ends a transaction, in whole seconds, at least one; never
    /// unless it is set.
    #[must_use]
    pub fn idle_within(mut self, time: Duration) -> Self {
        self.idle_within = Some(time);
        self
    }
}

impl std::fmt::Debug for MySqlOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL may hold a password.
        f.debug_struct("MySqlOptions")
            .field("connections", &self.connections)
            .field("answer_within", &self.answer_within)
            .finish_non_exhaustive()
    }
}
