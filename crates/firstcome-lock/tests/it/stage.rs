//! What most tests begin with.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use firstcome_lock::{Builder, Lease, Lock, Locks, Memory, RedisOptions};
use firstcome_testbed::{Folder, MariaDb, Nats, PgBouncer, Postgres, Proxy, RedisServer};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A store under test, on which any number of clients can be made.
pub(crate) enum Stage {
    Redis(RedisServer),
    /// A server, and the URL of a user who has the documented rights and no other.
    Limited(#[expect(dead_code, reason = "it ends when it is dropped")] RedisServer, String),
    /// A database in a server, by its URL.
    Database(String),
    /// A database behind a pooler.
    Pooled(String, #[expect(dead_code, reason = "it ends when it is dropped")] PgBouncer),
    /// A NATS server.
    Nats(Nats),
    /// A SQLite file.
    File(Folder),
    Memory(Memory),
}

impl Stage {
    /// Sets the stage of the store of a name, as the lists of stores have it; `None` where its server is not installed.
    pub(crate) async fn named(store: &str) -> Option<Self> {
        match store {
            "redis" => Self::redis(),
            "valkey" => RedisServer::valkey().map(Self::Redis),
            "redis_with_the_documented_rights" => Self::limited(),
            "postgres" => Self::postgres(),
            "postgres_with_the_documented_rights" => Self::limited_postgres().await,
            "pgbouncer" => Self::pooled(),
            "mariadb" => Self::mariadb(),
            "mariadb_with_the_documented_rights" => Self::limited_mariadb().await,
            "nats" => Self::nats(),
            "sqlite" => Some(Self::sqlite()),
            "memory" => Some(Self::Memory(Memory::new())),
            other => panic!("{other} is no store"),
        }
    }

    pub(crate) fn redis() -> Option<Self> {
        RedisServer::start().map(Self::Redis)
    }

    fn limited() -> Option<Self> {
        let redis = RedisServer::start()?;
        let url = crate::rights::limited_user(&redis);
        Some(Self::Limited(redis, url))
    }

    pub(crate) fn postgres() -> Option<Self> {
        Some(Self::Database(Postgres::shared()?.new_database()))
    }

    /// The same as a role with the documented grants.
    async fn limited_postgres() -> Option<Self> {
        let server = Postgres::shared()?;
        let url = server.new_database();
        let run = |database: &str, statements: &str| drop(server.sql(database, statements));
        Some(Self::Database(crate::rights::limited_role(&url, run).await))
    }

    /// The same as a user with the documented grants.
    async fn limited_mariadb() -> Option<Self> {
        let server = MariaDb::shared()?;
        let url = server.new_database();
        let run = |database: &str, statements: &str| {
            drop(server.sql(&format!("USE {database}; {statements}")));
        };
        Some(Self::Database(crate::rights::limited_role(&url, run).await))
    }

    fn pooled() -> Option<Self> {
        let server = Postgres::shared()?;
        let pooler = PgBouncer::start(server, 5)?;
        let port = |port: u16| format!("127.0.0.1:{port}/");
        let url = server.new_database().replace(&port(server.port()), &port(pooler.port()));
        Some(Self::Pooled(url, pooler))
    }

    pub(crate) fn mariadb() -> Option<Self> {
        Some(Self::Database(MariaDb::shared()?.new_database()))
    }

    pub(crate) fn nats() -> Option<Self> {
        Nats::start().map(Self::Nats)
    }

    pub(crate) fn sqlite() -> Self {
        Self::File(Folder::new("locks"))
    }

    /// Returns the URL, where there is one.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Redis(redis) => redis.url(),
            Self::Limited(_, url) | Self::Database(url) | Self::Pooled(url, _) => url.clone(),
            Self::Nats(nats) => nats.url(),
            Self::File(folder) => format!("sqlite://{}/locks.db", folder.path().display()),
            Self::Memory(_) => panic!("nobody else reaches this memory"),
        }
    }

    /// Makes a client of its own, as another process would be.
    pub(crate) async fn client(&self) -> Locks {
        self.client_with(Locks::builder()).await
    }

    pub(crate) async fn client_with(&self, builder: Builder) -> Locks {
        match self {
            Self::Redis(redis) => builder.connect(RedisOptions::new(redis.url())).await.unwrap(),
            Self::Limited(..)
            | Self::Database(_)
            | Self::Pooled(..)
            | Self::Nats(_)
            | Self::File(_) => builder.connect_to(&self.url()).await.unwrap(),
            Self::Memory(memory) => builder.memory(memory).unwrap(),
        }
    }
}

/// A client of a real server.
pub(crate) async fn client_of(redis: &RedisServer) -> Locks {
    Locks::connect(&redis.url()).await.unwrap()
}

/// Takes a lock that must be free.
pub(crate) async fn take(lock: &Lock) -> Lease {
    lock.try_lock().await.unwrap().acquired().expect("the lock is free")
}

/// Tells whether somebody holds the lock.
pub(crate) async fn is_held(locks: &Locks, name: &str) -> bool {
    locks.inspect(name).await.unwrap().is_some()
}

/// Waits until nobody holds the lock, and fails after 10 s.
pub(crate) async fn until_free(locks: &Locks, name: &str) {
    let lock = locks.mutex(name).unwrap().lease(2 * SECOND);
    let lease = lock.lock_within(10 * SECOND).await.unwrap().acquired().expect("it becomes free");
    lease.release().await.unwrap();
}

/// Waits until `done`, looking every few milliseconds, and fails after a minute: for what sends no signal.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut done: impl FnMut() -> F) {
    let end = std::time::Instant::now() + 60 * SECOND;
    while std::time::Instant::now() < end {
        if done().await {
            return;
        }
        tokio::time::sleep(ms(5)).await;
    }
    panic!("not within a minute: {what}");
}

/// Counts who is inside of something that only one may be in.
#[derive(Debug, Default, Clone)]
pub(crate) struct Inside(Arc<(std::sync::atomic::AtomicI64, std::sync::atomic::AtomicI64)>);

impl Inside {
    pub(crate) async fn visit(&self) {
        self.enter();
        tokio::task::yield_now().await;
        self.leave();
    }

    /// Stays inside for so long.
    pub(crate) async fn visit_for(&self, time: Duration) {
        self.enter();
        tokio::time::sleep(time).await;
        self.leave();
    }

    pub(crate) fn enter(&self) {
        let now = self.0.0.fetch_add(1, SeqCst) + 1;
        self.0.1.fetch_max(now, SeqCst);
    }

    pub(crate) fn leave(&self) {
        self.0.0.fetch_sub(1, SeqCst);
    }

    /// Returns how many are inside.
    pub(crate) fn now(&self) -> i64 {
        self.0.0.load(SeqCst)
    }

    /// Returns the most that were ever inside together.
    pub(crate) fn most(&self) -> i64 {
        self.0.1.load(SeqCst)
    }
}

/// Waits until nothing has been sent for 300 ms: a fault meets what is sent next, and nothing that was on its way.
pub(crate) async fn quiet(proxy: &Proxy) {
    let mut last = proxy.requests();
    for _ in 0..100 {
        tokio::time::sleep(ms(300)).await;
        match proxy.requests() {
            now if now == last => return,
            now => last = now,
        }
    }
    panic!("it never became quiet");
}
