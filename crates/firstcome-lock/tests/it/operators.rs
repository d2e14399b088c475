//! What an operator's tools do to keys that are no locks: nothing.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use firstcome_lock::{Error, Loss};
use firstcome_store::StoreError;
use firstcome_testbed::RedisServer;

use crate::stage::{SECOND, Stage, client_of, is_held, ms, take};

/// A client of Redisson, and one of its threads.
const JAVA: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:61";

/// Keys of other uses, each made by one command.
const NO_LOCKS: [(&str, &str); 7] = [
    ("fc:{main}:journal", "XADD fc:{main}:journal * b 1"),
    ("user:1", "SET user:1 precious"),
    ("session", "SET session precious EX 1000"),
    ("queue", "RPUSH queue a b"),
    ("members", "SADD members a b"),
    ("cart", "HSET cart item 3"),
    ("stock", "HSET stock sku:12 3 sku:13 7"),
];

fn is_no_lock<T: std::fmt::Debug>(answer: Result<T, Error>) -> bool {
    match answer {
        Err(Error::Store(StoreError::WrongKind { .. })) => true,
        answer => panic!("{answer:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_lock_is_neither_freed_nor_shown_as_one() {
    let Some(redis) = RedisServer::start() else { return };
    let bob = client_of(&redis).await;
    for (key, made_by) in NO_LOCKS {
        assert!(!redis.ask(made_by).starts_with('-'), "{made_by}");
        let before = redis.ask(&format!("OBJECT ENCODING {key}"));
        assert!(is_no_lock(bob.force_release(key).await), "{key}");
        assert_eq!(redis.ask(&format!("EXISTS {key}")), ":1", "{key} is still there");
        assert_eq!(redis.ask(&format!("OBJECT ENCODING {key}")), before);
        assert!(is_no_lock(bob.inspect(key).await), "{key}");
    }
    // In contrast: a lock is freed, whoever took it.
    let lease = take(&bob.mutex("x").unwrap().renewed(3 * SECOND)).await;
    assert!(bob.force_release("x").await.unwrap());
    assert_eq!(lease.lost().await, Loss::Taken);
    assert_eq!(redis.ask(&format!("HSET java {JAVA} 2")), ":1");
    assert_eq!(bob.inspect("java").await.unwrap().unwrap().holds, 2);
    assert!(bob.force_release("java").await.unwrap());
    let token = take(&bob.token("t").unwrap()).await;
    assert!(is_held(&bob, "t").await, "a token of ours says what it is");
    assert!(bob.force_release("t").await.unwrap());
    drop(token);
}

/// Returns a connection that hears what is published on `channel`.
fn listener(redis: &RedisServer, channel: &str) -> impl Iterator<Item = String> + use<> {
    let mut stream = TcpStream::connect(("127.0.0.1", redis.port())).unwrap();
    stream.set_read_timeout(Some(ms(5000))).unwrap();
    write!(stream, "SUBSCRIBE {channel}\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a message comes"));
    assert!(lines.by_ref().take(6).any(|line| line == "subscribe"));
    lines
}

/// Those who wait in Redisson for a read/write or a fair lock hear of it on channels of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redissons_other_waiters_are_woken_too() {
    let Some(redis) = RedisServer::start() else { return };
    let bob = client_of(&redis).await;
    assert_eq!(redis.ask(&format!("HSET rw mode write {JAVA}:write 1")), ":2");
    let mut said = listener(&redis, "redisson_rwlock:{rw}");
    assert!(bob.force_release("rw").await.unwrap());
    assert!(said.by_ref().take(7).any(|line| line == "message"));
    assert_eq!(redis.ask("EXISTS rw"), ":0");

    let two = format!("HSET readers mode read {JAVA} 1 {} 2", JAVA.replace(":61", ":62"));
    assert_eq!(redis.ask(&two), ":3");
    assert!(bob.force_release("readers").await.unwrap());

    let next = JAVA.replace(":61", ":77");
    assert_eq!(redis.ask(&format!("HSET fair {JAVA} 1")), ":1");
    assert_eq!(redis.ask(&format!("RPUSH redisson_lock_queue:{{fair}} {next}")), ":1");
    let mut said = listener(&redis, &format!("redisson_lock__channel:{{fair}}:{next}"));
    assert!(bob.force_release("fair").await.unwrap());
    assert!(said.by_ref().take(7).any(|line| line == "message"));
}

/// A token lock of another library is a string like any other: it is looked at and freed where it is asked for as a token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_token_is_freed_where_it_is_asked_for_as_one() {
    let Some(redis) = RedisServer::start() else { return };
    let bob = client_of(&redis).await;
    assert_eq!(redis.ask("SET theirs 0a1b2c PX 60000"), "+OK");
    assert!(is_no_lock(bob.force_release("theirs").await));
    let token = bob.token("theirs").unwrap();
    assert_eq!(token.inspect().await.unwrap().unwrap().owner, "0a1b2c");
    assert!(token.force_release().await.unwrap());
    assert!(!token.force_release().await.unwrap());
    // What has no end is no lock, however it is asked for.
    assert_eq!(redis.ask("SET user:1 precious"), "+OK");
    assert!(is_no_lock(bob.token("user:1").unwrap().force_release().await));
    assert_eq!(redis.ask("EXISTS user:1"), ":1");
}

on_every_store! {
    the_last_fence_is_shown
}

async fn the_last_fence_is_shown(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    take(&ann.mutex("x").unwrap()).await.release().await.unwrap();
    for lock in [ann.fenced("x").unwrap(), ann.mutex("x").unwrap()] {
        let lease = take(&lock).await;
        let shown = bob.inspect("x").await.unwrap().unwrap().last_fence;
        assert_eq!(shown, Some(lease.fence().get()));
        assert_eq!(bob.fenced("x").unwrap().inspect().await.unwrap().unwrap().last_fence, shown);
        lease.release().await.unwrap();
    }
}

/// Redisson's plain lock mints no fence: the one that we minted before is not its holder's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_last_fence_is_not_shown_of_a_holder_in_java() {
    let Some(redis) = RedisServer::start() else { return };
    let bob = client_of(&redis).await;
    take(&bob.mutex("x").unwrap()).await.release().await.unwrap();
    assert_eq!(redis.ask(&format!("HSET x {JAVA} 1")), ":1");
    assert_eq!(bob.inspect("x").await.unwrap().unwrap().last_fence, None);
    assert_eq!(redis.ask("SET redisson_lock_token:{x} 7"), "+OK");
    assert_eq!(bob.inspect("x").await.unwrap().unwrap().last_fence, Some(7));
}
