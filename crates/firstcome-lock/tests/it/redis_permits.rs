//! Read/write locks and semaphores in Redis, with real Redisson beside them.

use std::collections::BTreeMap;

use firstcome_lock::{Error, Lock, Locks, Loss, Released, TryLock};
use firstcome_store::StoreError;
use firstcome_testbed::RedisServer;
use futures_util::future::join_all;

use crate::interop::{Peer, by_message, listens_to, mark};
use crate::stage::{SECOND, client_of, ms, take, until};

const CHANNEL: &str = "redisson_rwlock:{x}";

fn lock(locks: &Locks, kind: &str) -> Lock {
    if kind == "read" { locks.read("x").unwrap() } else { locks.write("x").unwrap() }
}

async fn is_free(lock: &Lock) -> bool {
    match lock.try_lock().await.unwrap() {
        TryLock::Acquired(lease) => lease.release().await.unwrap() == Released::Free,
        TryLock::Held { .. } => false,
    }
}

impl Peer {
    /// Says whether a lock can be taken now, and gives it back.
    async fn is_free(&mut self, kind: &str) -> bool {
        let got = self.ask(&format!("lock {kind} x 9 0 20000")).await.starts_with("true");
        got && self.ask(&format!("unlock {kind} x 9")).await == "done"
    }

    async fn has(&mut self, kind: &str, lease: i64) {
        let got = self.ask(&format!("lock {kind} x 7 0 {lease}")).await;
        assert!(got.starts_with("true"), "{kind}: {got}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_and_writers_of_both_exclude_and_wake_each_other() {
    let Some(redis) = RedisServer::start() else { return };
    let Some(mut java) = Peer::start(&redis, 30_000).await else { return };
    let rust = client_of(&redis).await;
    for (held, shared) in [("read", true), ("write", false)] {
        let lease = take(&lock(&rust, held)).await;
        assert_eq!((java.is_free("read").await, java.is_free("write").await), (shared, false));
        assert_eq!(lease.release().await.unwrap(), Released::Free);
        java.has(held, 20_000).await;
        assert_eq!(is_free(&rust.read("x").unwrap()).await, shared);
        assert!(!is_free(&rust.write("x").unwrap()).await);
        assert_eq!(java.ask(&format!("unlock {held} x 7")).await, "done");
        assert_eq!(redis.ask("EXISTS x"), ":0");
    }
    for (held, wanted) in [("read", "write"), ("write", "read"), ("write", "write")] {
        let lease = take(&lock(&rust, held).lease(20 * SECOND)).await;
        mark(&redis, 20_000);
        let waiting = java.begin(&format!("lock {wanted} x 1 60000 20000")).await;
        listens_to(&redis, CHANNEL).await;
        lease.release().await.unwrap();
        by_message(&waiting.await.unwrap());
        assert_eq!(java.ask(&format!("unlock {wanted} x 1")).await, "done");

        java.has(held, 20_000).await;
        mark(&redis, 20_000);
        let ours = lock(&rust, wanted);
        let waiter = tokio::spawn(async move { ours.lock().await.unwrap() });
        listens_to(&redis, CHANNEL).await;
        assert_eq!(java.ask(&format!("unlock {held} x 7")).await, "done");
        let lease = waiter.await.unwrap();
        by_message(&redis.ask("PTTL marker").replace(':', "true "));
        lease.release().await.unwrap();
    }

    // Readers of both that went without a word are in nobody's way.
    java.has("read", 1_000).await;
    let lease = take(&rust.read("x").unwrap().lease(20 * SECOND)).await;
    let waiting = java.begin("lock write x 1 60000 20000").await;
    mark(&redis, 20_000);
    tokio::time::sleep(ms(1_200)).await;
    lease.release().await.unwrap();
    by_message(&waiting.await.unwrap());
    assert_eq!(java.ask("unlock write x 1").await, "done");
    take(&rust.read("x").unwrap().lease(SECOND)).await.leak();
    java.has("read", 20_000).await;
    let ours = rust.write("x").unwrap();
    let waiter = tokio::spawn(async move { ours.lock().await.unwrap() });
    tokio::time::sleep(ms(1_200)).await;
    assert_eq!(java.ask("unlock read x 7").await, "done");
    let lease = tokio::time::timeout(5 * SECOND, waiter).await.expect("it is woken").unwrap();

    // Who frees it by force is noticed.
    assert_eq!(java.ask("force write x").await, "true");
    assert!(matches!(lease.extend(SECOND).await, Err(Error::Lost(Loss::Taken))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permits_of_both_are_counted_together_and_ours_come_back() {
    let Some(redis) = RedisServer::start() else { return };
    let Some(mut java) = Peer::start(&redis, 30_000).await else { return };
    let rust = client_of(&redis).await;
    let ours = rust.semaphore("s", 9).unwrap();
    assert_eq!(java.ask("set semaphore s 2").await, "true");
    let lease = take(&ours.clone().lease(20 * SECOND)).await;
    assert_eq!(java.ask("acquire semaphore s 0").await, "true");
    assert_eq!(java.ask("acquire semaphore s 0").await, "false");
    assert!(!is_free(&ours).await, "there are two, as was said first");

    // Each wakes the other: nobody would look by itself for a long time.
    let waiting = java.begin("acquire semaphore s 60000").await;
    listens_to(&redis, "redisson_sc:{s}").await;
    assert_eq!(lease.release().await.unwrap(), Released::Free);
    let woken = tokio::time::timeout(5 * SECOND, waiting).await.expect("it is woken");
    assert_eq!(woken.unwrap(), "true");
    let waiter = {
        let ours = ours.clone();
        tokio::spawn(async move { ours.lock().await.unwrap() })
    };
    listens_to(&redis, "redisson_sc:{s}").await;
    assert_eq!(java.ask("release semaphore s").await, "done");
    let lease = tokio::time::timeout(5 * SECOND, waiter).await.expect("it is woken").unwrap();

    // The permit of a process that died comes back to whoever of ours asks next.
    assert_eq!(java.ask("release semaphore s").await, "done");
    take(&ours.clone().lease(SECOND)).await.leak();
    assert_eq!(java.ask("available semaphore s").await, "0");
    let next = ours.lock_within(10 * SECOND).await.unwrap().acquired().expect("it comes back");
    assert!(next.fence() > lease.fence());
    for lease in [lease, next] {
        assert_eq!(lease.release().await.unwrap(), Released::Free);
    }
    assert_eq!(java.ask("available semaphore s").await, "2");
    assert_eq!(redis.ask("EXISTS fc:permits:{s}"), ":0");

    // One that was removed while somebody had a permit has as many as the next one says.
    let lease = take(&ours).await;
    assert_eq!(redis.ask("DEL s"), ":1");
    assert_eq!(lease.release().await.unwrap(), Released::Free);
    assert_eq!(redis.ask("EXISTS s"), ":0");
}

/// What is in the store, without what differs from one run to the next: owners and our own keys.
fn written(redis: &RedisServer) -> BTreeMap<String, String> {
    let listed = |asked: &str| -> Vec<String> {
        let said = redis.ask(asked);
        said.lines().skip(1).filter(|line| !line.starts_with('$')).map(str::to_owned).collect()
    };
    let masked = |text: &str| -> String {
        let parts = text.split(':').map(|part| match part.len() {
            36 => "CLIENT",
            _ if part.bytes().all(|byte| byte.is_ascii_digit()) && part.len() > 1 => "OWNER",
            _ => part,
        });
        parts.collect::<Vec<_>>().join(":")
    };
    let keys = listed("KEYS *").into_iter().filter(|key| !key.starts_with("fc:"));
    keys.map(|key| {
        let value = match redis.ask(&format!("TYPE {key}")).as_str() {
            "+hash" => listed(&format!("HGETALL {key}")).iter().map(|part| masked(part)).collect(),
            _ => vec![redis.ask(&format!("GET {key}")).lines().last().unwrap().to_owned()],
        };
        (masked(&key), value.join(" "))
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_is_what_redisson_writes() {
    let Some(redis) = RedisServer::start() else { return };
    let Some(mut java) = Peer::start(&redis, 30_000).await else { return };
    let rust = client_of(&redis).await;
    for (kind, key, value) in [
        ("read", "{x}:CLIENT:OWNER:rwlock_timeout:1", "mode read CLIENT:OWNER 1"),
        ("write", "x", "mode write CLIENT:OWNER:write 1"),
    ] {
        let lease = take(&lock(&rust, kind)).await;
        let ours = written(&redis);
        assert!(ours.contains_key(key), "{ours:?}");
        assert_eq!(ours["x"], value);
        lease.release().await.unwrap();
        // What makes a release safe to repeat goes at once.
        until("nothing is left", async || written(&redis).is_empty()).await;
        let got = java.ask(&format!("lock {kind} x 1234567890123 0 20000")).await;
        assert!(got.starts_with("true"), "{got}");
        assert_eq!(written(&redis), ours);
        assert_eq!(java.ask(&format!("unlock {kind} x 1234567890123")).await, "done");
        until("nothing is left", async || written(&redis).is_empty()).await;
    }

    // Another kind of lock of the name is in the way, which Redisson does not see.
    let plain = take(&rust.mutex("x").unwrap()).await;
    assert!(!is_free(&lock(&rust, "read")).await && !is_free(&lock(&rust, "write")).await);
    plain.release().await.unwrap();
    // One that is given back too late leaves it alone.
    let reader = take(&rust.read("x").unwrap().lease(SECOND)).await;
    assert_eq!(reader.lost().await, Loss::RanOut);
    until("it is free", async || redis.ask("EXISTS x") == ":0").await;
    let plain = take(&rust.mutex("x").unwrap()).await;
    assert_eq!(reader.release().await.unwrap(), Released::AlreadyLost);
    assert_eq!(plain.release().await.unwrap(), Released::Free);
    assert_eq!(redis.ask("SET x text"), "+OK");
    let refused = rust.read("x").unwrap().try_lock().await.unwrap_err();
    assert!(matches!(refused, Error::Store(StoreError::WrongKind { .. })), "{refused}");
}

/// A user who may not note who has a permit gets none, however often, and none is lost or made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_right_changes_no_number_of_permits() {
    let Some(redis) = RedisServer::start() else { return };
    for right in ["zadd", "zrem"] {
        let user = format!("ACL SETUSER {right} on >pw ~* &* +@all -{right}");
        assert_eq!(redis.ask(&user), "+OK");
        let url = format!("redis://{right}:pw@127.0.0.1:{}", redis.port());
        let (eve, ann) = (Locks::connect(&url).await.unwrap(), client_of(&redis).await);
        // One has ended that nobody gave back.
        take(&ann.semaphore(right, 3).unwrap().lease(SECOND)).await.leak();
        tokio::time::sleep(ms(1_100)).await;
        for _ in 0..3 {
            let refused = eve.semaphore(right, 3).unwrap().try_lock().await.unwrap_err();
            assert!(matches!(refused, Error::Store(StoreError::Denied { .. })), "{refused}");
        }
        let mut all = Vec::new();
        for _ in 0..3 {
            all.push(take(&ann.semaphore(right, 3).unwrap()).await);
        }
        assert!(!is_free(&ann.semaphore(right, 3).unwrap()).await);
        for lease in all {
            assert_eq!(lease.release().await.unwrap(), Released::Free);
        }
        assert!(redis.ask(&format!("GET {right}")).ends_with('3'));
    }
}

/// In contrast: who looks first, and takes one in a second step, takes too many.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twelve_at_once_get_three_permits_in_one_step_and_more_in_two() {
    let Some(redis) = RedisServer::start() else { return };
    let clients = [client_of(&redis).await, client_of(&redis).await, client_of(&redis).await];
    for round in 0..25 {
        let asking = (0..12).map(|i| {
            let lock = clients[i % 3].semaphore(&format!("s{round}"), 3).unwrap();
            tokio::spawn(async move { lock.try_lock().await.unwrap().acquired() })
        });
        let got = join_all(asking.collect::<Vec<_>>()).await;
        assert_eq!(got.into_iter().filter_map(|got| got.unwrap()).count(), 3);
    }
    let redis = std::sync::Arc::new(redis);
    until("there are too many", async || {
        assert_eq!(redis.ask("SET by-hand 3"), "+OK");
        let taking = (0..12).map(|_| {
            let redis = std::sync::Arc::clone(&redis);
            tokio::task::spawn_blocking(move || {
                if redis.ask("GET by-hand").lines().last().is_some_and(|free| free > "0") {
                    assert!(redis.ask("DECR by-hand").starts_with(':'));
                }
            })
        });
        join_all(taking.collect::<Vec<_>>()).await;
        redis.ask("GET by-hand").contains("-")
    })
    .await;
}
