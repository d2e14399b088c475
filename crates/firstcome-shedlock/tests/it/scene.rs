//! Where locks are kept in a test, as both languages see it.

use std::sync::atomic::{AtomicU64, Ordering};

use firstcome_shedlock::{
    KeySpace, MySqlOptions, PostgresOptions, RedisOptions, ShedLock, SimpleLock, Table,
};
use firstcome_testbed::{MariaDb, Postgres, RedisServer};

use crate::stage::{SECOND, ms};

/// A store with a clock, on which any number of clients can be made.
pub(crate) enum Scene {
    Redis(RedisServer),
    Postgres { server: &'static Postgres, client_time: bool },
    MariaDb { server: &'static MariaDb, url: String, client_time: bool },
}

/// Names that no other test of this process has.
pub(crate) fn fresh(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Scene {
    pub(crate) fn redis() -> Option<Self> {
        RedisServer::start().map(Self::Redis)
    }

    pub(crate) fn db_time() -> Option<Self> {
        Self::postgres(false)
    }

    pub(crate) fn client_time() -> Option<Self> {
        Self::postgres(true)
    }

    fn postgres(client_time: bool) -> Option<Self> {
        let server = Postgres::shared()?;
        Some(Self::Postgres { server, client_time })
    }

    pub(crate) fn mariadb() -> Option<Self> {
        Self::maria(false)
    }

    pub(crate) fn mariadb_client_time() -> Option<Self> {
        Self::maria(true)
    }

    fn maria(client_time: bool) -> Option<Self> {
        let server = MariaDb::shared()?;
        Some(Self::MariaDb { server, url: server.new_database(), client_time })
    }

    /// Makes a client of its own, as another process would be.
    pub(crate) async fn client(&self) -> ShedLock {
        match self {
            Self::Redis(redis) => {
                let keys = KeySpace::default().environment("test");
                ShedLock::redis(RedisOptions::new(redis.url()), keys).await.unwrap()
            }
            Self::Postgres { server, client_time } => on(server, table(*client_time)).await,
            Self::MariaDb { url, client_time, .. } => on_mariadb(url, table(*client_time)).await,
        }
    }

    /// Tells whether a lock was taken whose *at most* ends more than half an hour from now.
    pub(crate) fn is_long(&self, name: &str) -> bool {
        match self {
            Self::Redis(redis) => {
                let left = redis.ask(&format!("PTTL job-lock:test:{name}"));
                left.trim_start_matches(':').parse::<i64>().unwrap() > 1_800_000
            }
            Self::Postgres { server, .. } => {
                let soon = "timezone('utc', now()) + interval '30 minutes'";
                let asked =
                    format!("SELECT lock_until > {soon} FROM shedlock WHERE name = '{name}'");
                server.sql("ledger", &asked) == "t"
            }
            Self::MariaDb { server, url, .. } => {
                let (_, database) = url.rsplit_once('/').unwrap();
                let soon = "utc_timestamp(3) + INTERVAL 30 MINUTE";
                let asked = format!(
                    "SELECT lock_until > {soon} FROM {database}.shedlock WHERE name = '{name}'"
                );
                server.sql(&asked) == "1"
            }
        }
    }
}

/// The default table, by one clock or the other.
pub(crate) fn table(client_time: bool) -> Table {
    if client_time { Table::default().client_time() } else { Table::default() }
}

/// A client of a MariaDB, with its table there.
pub(crate) async fn on_mariadb(url: &str, table: Table) -> ShedLock {
    let client = ShedLock::mysql(MySqlOptions::new(url), table).await.unwrap();
    client.create_table().await.unwrap();
    client
}

/// A client of a PostgreSQL, with its table there.
pub(crate) async fn on(server: &Postgres, table: Table) -> ShedLock {
    let client = ShedLock::postgres(PostgresOptions::new(server.url()), table).await.unwrap();
    client.create_table().await.unwrap();
    client
}

/// Takes a lock for an hour at most, which must be free.
pub(crate) async fn take(client: &ShedLock, name: &str) -> SimpleLock {
    try_take(client, name).await.expect("the lock is free")
}

/// Tries to take a lock for an hour at most.
pub(crate) async fn try_take(client: &ShedLock, name: &str) -> Option<SimpleLock> {
    client.lock(name, 3600 * SECOND, ms(0)).await.unwrap()
}

/// Waits until a lock is had.
pub(crate) async fn until_taken(client: &ShedLock, name: &str) -> SimpleLock {
    for _ in 0..2000 {
        if let Some(lock) = try_take(client, name).await {
            return lock;
        }
        tokio::time::sleep(ms(5)).await;
    }
    panic!("not within 10 s: {name}");
}
