//! Where a PostgreSQL is, and its time-outs.

use std::time::Duration;

/// Where a PostgreSQL is and how long to wait for it.
///
/// # Examples
///
/// ```
/// use firstcome_store::postgres::PostgresOptions;
/// let options = PostgresOptions::new("postgres://ann:secret@127.0.0.1/shop").connections(2);
/// ```
#[derive(Clone)]
pub struct PostgresOptions {
    pub(super) url: String,
    pub(super) schema: Option<String>,
    pub(super) connections: usize,
    pub(super) connect_within: Duration,
    pub(super) answer_within: Duration,
    pub(super) lock_within: Duration,
    pub(super) idle_within: Duration,
    pub(super) heartbeat: Duration,
    pub(super) forget_at_crash: bool,
}

impl PostgresOptions {
    /// Begins with a URL and the defaults.
    ///
    /// `postgres://user[:password]@host[:port]/database[?sslmode=…][&sslrootcert=FILE]`, port 5432 where none is given;
    /// `%` escapes are resolved. `sslmode` is `disable`, or `require` and `verify-full`, which are the same here:
    /// certificate and host name are always checked, against the authorities in the file `sslrootcert` (PEM) or the
    /// operating system's. Without `sslmode` it is `verify-full`, on this machine's own addresses `disable`.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            schema: None,
            connections: 4,
            connect_within: Duration::from_secs(5),
            answer_within: Duration::from_secs(20),
            lock_within: Duration::from_secs(5),
            idle_within: Duration::from_secs(5),
            heartbeat: Duration::from_secs(5),
            forget_at_crash: false,
        }
    }

    /// Has names without a schema found in this one, and nowhere else.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = Some(name.into());
        self
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

    /// Sets how long a statement may take, default 20 s. The server is set to give up after three quarters of it.
    #[must_use]
    pub fn answer_within(mut self, time: Duration) -> Self {
        self.answer_within = time;
        self
    }

    /// Sets how long the server waits for a lock that another transaction holds, default 5 s.
    #[must_use]
    pub fn lock_within(mut self, time: Duration) -> Self {
        self.lock_within = time;
        self
    }

    /// Sets after how long without a statement the server ends a transaction, default 5 s.
    #[must_use]
    pub fn idle_within(mut self, time: Duration) -> Self {
        self.idle_within = time;
        self
    }

    /// Has commits answered before they are on the server's disk (`synchronous_commit = off`): a crash of the server
    /// loses those of the last second. Without this every commit that was answered is there after a crash.
    #[must_use]
    pub fn forget_at_crash(mut self) -> Self {
        self.forget_at_crash = true;
        self
    }

    /// What every transaction begins with.
    ///
    /// All of it is local to the transaction: behind a pooler the connection is not ours afterwards. A commit that is
    /// not forced to the disk, as the operator may have it for other work, is not what an answer here stands for. What is
    /// set here stays when the server's setting is changed.
    pub(super) fn begin(&self) -> String {
        format!("BEGIN ISOLATION LEVEL READ COMMITTED; {}", self.settings(Reach::Transaction))
    }

    /// What a transaction begins with whose statements all read the same moment.
    pub(super) fn begin_snapshot(&self) -> String {
        let settings = self.settings(Reach::Transaction);
        format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {settings}")
    }

    /// What a connection of our own is set to, for single statements.
    pub(super) fn session(&self) -> String {
        format!(
            "SET default_transaction_isolation = 'read committed'; {}",
            self.settings(Reach::Session)
        )
    }

    fn settings(&self, reach: Reach) -> String {
        let ms = |time: Duration| time.as_millis().clamp(1, i32::MAX as u128);
        let (set, local) = match reach {
            Reach::Transaction => ("SET LOCAL", true),
            Reach::Session => ("SET", false),
        };
        let commit = match self.forget_at_crash {
            true => format!("{set} synchronous_commit = off"),
            false => format!(
                "SELECT set_config('synchronous_commit', coalesce(nullif( \
                 current_setting('synchronous_commit'), 'off'), 'on'), {local})"
            ),
        };
        let mut text = format!(
            "{set} statement_timeout = {}; {set} lock_timeout = {}; \
             {set} idle_in_transaction_session_timeout = {}; {commit}",
            ms(self.answer_within * 3 / 4),
            ms(self.lock_within),
            ms(self.idle_within),
        );
        if let Some(schema) = &self.schema {
            let schema = schema.replace('"', "\"\"");
            text.push_str(&format!("; {set} search_path TO \"{schema}\", pg_temp"));
        }
        text
    }
}

/// How long a setting lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Transaction,
    Session,
}

impl std::fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL may hold a password.
        f.debug_struct("PostgresOptions")
            .field("schema", &self.schema)
            .field("connections", &self.connections)
            .field("answer_within", &self.answer_within)
            .finish_non_exhaustive()
    }
}
