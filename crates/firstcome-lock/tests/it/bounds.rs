//! A wait ends when its time is over, also where the store does not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use firstcome_lock::{Locks, Memory, MemoryLink};
use firstcome_store::StoreError;
use firstcome_store::sqlite::{Sqlite, SqliteOptions};
use firstcome_testbed::{Folder, MariaDb, Postgres, RedisServer};
use rusqlite::Connection;

use crate::stage::{SECOND, Stage, ms, take, until_free};

/// Waits for a lock at a store that does not answer, and for longer after it answers again.
async fn a_wait_is_not_longer_than_it_may_be(locks: &Locks) {
    for lock in [locks.mutex("x").unwrap(), locks.token("of another kind").unwrap()] {
        let begun = Instant::now();
        let waited = lock.lock_within(ms(200)).await;
        let took = begun.elapsed();
        assert!(took >= ms(200) && took < ms(2500), "{took:?}");
        let unknown = waited.expect_err("nobody said that somebody has it");
        assert!(unknown.hint().is_some(), "{unknown}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_a_redis_that_stands_still() {
    let Some(redis) = RedisServer::start() else { return };
    let locks = Locks::connect(&redis.url()).await.unwrap();
    take(&locks.mutex("x").unwrap()).await.release().await.unwrap();
    redis.pause();
    a_wait_is_not_longer_than_it_may_be(&locks).await;
    redis.resume();
    until_free(&locks, "x").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_a_memory_that_stands_still() {
    let (memory, link) = (Memory::new(), MemoryLink::new());
    let locks = Locks::with_memory(&memory.through(&link));
    link.stall();
    a_wait_is_not_longer_than_it_may_be(&locks).await;
    link.open();
    until_free(&locks, "x").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_a_file_that_somebody_keeps() {
    let folder = Folder::new("bounds");
    let path = folder.path().join("locks.db");
    let locks = Locks::connect(&format!("sqlite://{}", path.display())).await.unwrap();
    let neighbour = Connection::open(path).unwrap();
    neighbour.execute_batch("BEGIN IMMEDIATE").unwrap();
    a_wait_is_not_longer_than_it_may_be(&locks).await;
    neighbour.execute_batch("COMMIT").unwrap();
    until_free(&locks, "x").await;
}

/// A disk that stands still in the middle of something: what began may have happened, what waits behind it has not begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_a_file_whose_disk_stands_still() {
    let folder = Folder::new("bounds");
    let options = SqliteOptions::new(folder.path().join("any.db")).answer_within(SECOND);
    let file = Arc::new(Sqlite::open(options).await.unwrap());
    let (begins, mut has_begun) = tokio::sync::mpsc::unbounded_channel();
    let stalled = tokio::spawn({
        let file = Arc::clone(&file);
        async move {
            let begun = Instant::now();
            let stalls = move |_: &Connection| {
                begins.send(()).unwrap();
                std::thread::sleep(5 * SECOND);
                Ok(())
            };
            (file.write(stalls).await, begun.elapsed())
        }
    });
    has_begun.recv().await.unwrap();
    let begun = Instant::now();
    let happened = Arc::new(AtomicBool::new(false));
    let behind = file.write({
        let happened = Arc::clone(&happened);
        move |_| {
            happened.store(true, Ordering::SeqCst);
            Ok(())
        }
    });
    assert!(matches!(behind.await, Err(StoreError::Held { .. })));
    assert!(begun.elapsed() < ms(3500), "{:?}", begun.elapsed());
    let (answer, took) = stalled.await.unwrap();
    assert!(matches!(answer, Err(StoreError::Unknown { .. })) && took < ms(3500), "{took:?}");
    // Afterwards it goes on, and what was told that it was not begun never is.
    tokio::time::sleep(5 * SECOND).await;
    file.read(|_| Ok(())).await.unwrap();
    assert!(!happened.load(Ordering::SeqCst));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_a_postgres_that_stands_still() {
    let Some(server) = Postgres::start() else { return };
    let stage = Stage::Database(server.new_database());
    let locks = stage.client().await;
    take(&locks.mutex("x").unwrap()).await.release().await.unwrap();
    server.pause();
    a_wait_is_not_longer_than_it_may_be(&locks).await;
    server.resume();
    until_free(&locks, "x").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_a_row_that_somebody_keeps() {
    let Some(server) = MariaDb::shared() else { return };
    let url = server.new_database();
    let database = url.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
    let locks = Stage::Database(url).client().await;
    take(&locks.mutex("x").unwrap()).await.release().await.unwrap();
    let neighbour = std::thread::spawn(move || {
        server.sql(&format!(
            "USE {database}; BEGIN; SELECT name FROM firstcome_locks WHERE name = 'x' FOR UPDATE; SELECT SLEEP(8)"
        ));
    });
    tokio::time::sleep(SECOND).await;
    let begun = Instant::now();
    let waited = locks.mutex("x").unwrap().lock_within(ms(200)).await;
    assert!(begun.elapsed() < ms(2500), "{:?}", begun.elapsed());
    drop(waited);
    neighbour.join().unwrap();
    until_free(&locks, "x").await;
}
