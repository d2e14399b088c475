//! What somebody else does to the key or the row of a lock, and a store or a runtime that ends under it.

use std::time::Duration;

use firstcome_lock::{Locks, Loss, RedisOptions, Released};
use firstcome_testbed::{MariaDb, Postgres, RedisServer, RedisSettings};
use tokio::time::timeout;

use crate::stage::{SECOND, Stage, client_of, is_held, ms, take, until};

/// A lease that is renewed each half a second.
const LEASE: Duration = Duration::from_secs(3);

fn renewing() -> firstcome_lock::Builder {
    Locks::builder().watchdog(LEASE)
}

/// Whatever was done to it, who renews is told by the next renewal, and who waits has it when the lease that it heard of is
/// over, though nobody says anything.
async fn is_told(stage: Stage, what: &str, change: impl AsyncFnOnce()) {
    let (ann, bob) = (stage.client_with(renewing()).await, stage.client().await);
    let lease = take(&ann.mutex("x").unwrap()).await;
    let lock = bob.mutex("x").unwrap();
    let waiting = tokio::spawn(async move { lock.lock_within(10 * SECOND).await });
    until("bob waits", async || bob.local_waiters("x") == 1).await;
    change().await;
    let told = timeout(2 * SECOND, lease.lost()).await.unwrap_or_else(|_| panic!("{what}: told"));
    assert_eq!(told, Loss::Taken, "{what}");
    let next = waiting.await.unwrap().unwrap().acquired().expect("it has it");
    assert!(next.fence() > lease.fence(), "{what}");
    assert_eq!(lease.release().await.unwrap(), Released::AlreadyLost, "{what}");
    assert!(next.is_valid() && is_held(&bob, "x").await, "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_deleted_or_changed_by_hand() {
    for words in ["DEL x", "FLUSHALL", "PEXPIRE x 1", "RENAME x y", "HDEL x OWNER"] {
        let Some(stage) = Stage::redis() else { return };
        let Stage::Redis(redis) = &stage else { unreachable!() };
        let port = redis.port();
        is_told(stage, words, async || {
            // Over a connection of its own, as an operator would.
            let other = Locks::connect(&format!("redis://127.0.0.1:{port}")).await.unwrap();
            let owner = other.inspect("x").await.unwrap().unwrap().owner;
            assert!(!ask(port, &words.replace("OWNER", &owner)).starts_with('-'), "{words}");
        })
        .await;
    }
}

fn ask(port: u16, words: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "{words}\r\nQUIT\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

/// The statements that somebody may run on the row.
const CHANGES: [&str; 3] = [
    "DELETE FROM firstcome_locks WHERE name = 'x'",
    "UPDATE firstcome_locks SET holds = 0 WHERE name = 'x'",
    "UPDATE firstcome_locks SET expires_at = 0 WHERE name = 'x'",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_is_deleted_or_changed_by_hand_in_postgres() {
    for statement in CHANGES {
        let Some(server) = Postgres::shared() else { return };
        let url = server.new_database();
        let database = url.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
        is_told(Stage::Database(url), statement, async || {
            drop(server.sql(&database, statement));
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_is_deleted_or_changed_by_hand_in_mariadb() {
    for statement in CHANGES {
        let Some(server) = MariaDb::shared() else { return };
        let url = server.new_database();
        let database = url.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
        is_told(Stage::Database(url), statement, async || {
            drop(server.sql(&format!("USE {database}; {statement}")));
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_is_deleted_or_changed_by_hand_in_a_file() {
    for statement in CHANGES {
        let stage = Stage::sqlite();
        let file = stage.url().replace("sqlite://", "");
        is_told(stage, statement, async || {
            let file = rusqlite::Connection::open(file).unwrap();
            file.busy_timeout(SECOND).unwrap();
            assert_eq!(file.execute(statement, []).unwrap(), 1);
        })
        .await;
    }
}

/// A Redis that keeps its data in a file is started again and takes a while to read it: who is renewed goes on, who waits goes
/// on waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_is_started_again_and_reads_its_file_keeps_what_is_held() {
    let more = ["--appendonly", "yes", "--appendfsync", "always", "--enable-debug-command", "yes"];
    let loading = ["--loading-process-events-interval-bytes", "1024", "--key-load-delay", "20000"];
    let more = more.iter().chain(&loading).map(ToString::to_string).collect();
    let Some(mut redis) = RedisServer::with(RedisSettings { more, ..RedisSettings::default() })
    else {
        return;
    };
    for number in 0..40 {
        assert_eq!(redis.ask(&format!("SET filler{number} {}", "x".repeat(600))), "+OK");
    }
    let options = RedisOptions::new(redis.url()).heartbeat(ms(300));
    let ann = Locks::builder().watchdog(10 * SECOND).connect(options.clone()).await.unwrap();
    let bob = Locks::builder().connect(options).await.unwrap();
    let lease = take(&ann.mutex("x").unwrap()).await;
    let fixed = take(&ann.mutex("y").unwrap().lease(600 * SECOND)).await;
    let lock = bob.mutex("x").unwrap();
    let waiting = tokio::spawn(async move { lock.lock_within(60 * SECOND).await });
    until("bob waits", async || bob.local_waiters("x") == 1).await;
    tokio::task::block_in_place(|| redis.restart());
    until("it has read its file", async || is_held(&client_of(&redis).await, "x").await).await;
    // Longer than a beat: it is renewed there.
    tokio::time::sleep(2 * SECOND).await;
    assert!(lease.is_valid() && fixed.is_valid());
    assert_eq!(lease.release().await.unwrap(), Released::Free);
    assert!(waiting.await.unwrap().unwrap().acquired().expect("its turn").is_valid());
    assert_eq!(fixed.release().await.unwrap(), Released::Free);
}

/// A runtime that ends without a word takes renewals with it: the lock is free when its lease is over, and the client is of no
/// use to another runtime, which it says.
#[test]
fn a_runtime_that_ends_leaves_its_locks_to_the_end_of_their_leases() {
    let Some(redis) = RedisServer::start() else { return };
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let first = runtime();
    let ann = first.block_on(renewing().connect(RedisOptions::new(redis.url()))).unwrap();
    let lease = first.block_on(take(&ann.mutex("x").unwrap()));
    drop(first);
    runtime().block_on(async {
        let bob = client_of(&redis).await;
        assert!(is_held(&bob, "x").await);
        let refused = timeout(10 * SECOND, ann.mutex("y").unwrap().try_lock()).await;
        assert!(refused.expect("it does not hang").is_err());
        let next = bob.mutex("x").unwrap().lock_within(10 * SECOND).await.unwrap();
        assert!(next.acquired().expect("it is free").is_valid());
        assert!(!lease.is_valid(), "trust ends by the clock");
    });
}
