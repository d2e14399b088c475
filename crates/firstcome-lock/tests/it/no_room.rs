//! A Redis that has no memory left for anything new.

use firstcome_lock::{Locks, Released};
use firstcome_testbed::RedisServer;

use crate::stage::{SECOND, client_of, ms, take, until};

async fn locks_are_given_back_though_there_is_no_room(redis: RedisServer) {
    let (ann, bob) = (client_of(&redis).await, client_of(&redis).await);
    let me = ann.owner();
    let mine = ann.mutex("mine").unwrap().owner(&me);
    let leases =
        [take(&ann.mutex("plain").unwrap()).await, take(&ann.fenced("fenced").unwrap()).await];
    let token = take(&ann.token("token").unwrap()).await;
    let (once, twice) = (take(&mine).await, take(&mine).await);
    let dropped = take(&ann.mutex("dropped").unwrap()).await;
    let lock = bob.mutex("plain").unwrap();
    let waiting = tokio::spawn(async move { lock.lock_within(ms(20_000)).await });
    until("it waits", async || {
        redis.ask("PUBSUB NUMSUB redisson_lock__channel:{plain}").ends_with(":1")
    })
    .await;
    assert_eq!(redis.ask("CONFIG SET maxmemory 1"), "+OK");
    for lease in leases {
        let name = lease.name().to_owned();
        assert_eq!(lease.release().await.unwrap(), Released::Free, "{name}");
        assert_eq!(redis.ask(&format!("EXISTS {name}")), ":0");
    }
    assert_eq!(token.release().await.unwrap(), Released::Free);
    assert_eq!(twice.release().await.unwrap(), Released::StillHeld { holds: 1 });
    assert_eq!(once.release().await.unwrap(), Released::Free);
    drop(dropped);
    until("it is given back", async || redis.ask("EXISTS dropped") == ":0").await;
    assert_eq!(redis.ask("CONFIG SET maxmemory 0"), "+OK");
    drop(waiting.await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_redis_takes_locks_back() {
    if let Some(redis) = RedisServer::start() {
        locks_are_given_back_though_there_is_no_room(redis).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_valkey_takes_locks_back() {
    if let Some(redis) = RedisServer::valkey() {
        locks_are_given_back_though_there_is_no_room(redis).await;
    }
}

/// What is held stays renewed: a server without room still lets a key live longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_redis_renews() {
    let Some(redis) = RedisServer::start() else { return };
    let options = firstcome_lock::RedisOptions::new(redis.url());
    let ann = Locks::builder().watchdog(2 * SECOND).connect(options).await.unwrap();
    let lease = take(&ann.mutex("x").unwrap()).await;
    assert_eq!(redis.ask("CONFIG SET maxmemory 1"), "+OK");
    tokio::time::sleep(5 * SECOND).await;
    assert!(lease.is_valid());
    assert_eq!(lease.release().await.unwrap(), Released::Free);
}
