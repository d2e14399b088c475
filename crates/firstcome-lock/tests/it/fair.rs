//! Fair locks in Redis, with real Redisson in the same line.

use std::sync::{Arc, Mutex};

use firstcome_lock::{Error, Lock, Locks, RedisOptions, Released, TryLock};
use firstcome_testbed::{Proxy, ProxyFault, RedisServer};

use crate::interop::{Peer, by_message, mark};
use crate::stage::{SECOND, client_of, ms, quiet, take, until};

fn line(redis: &RedisServer) -> usize {
    redis.ask("LLEN redisson_lock_queue:{x}")[1..].parse().unwrap()
}

async fn stands(redis: &RedisServer, many: usize) {
    until("so many stand in line", async || line(redis) == many).await;
}

fn nothing_is_left(redis: &RedisServer) {
    let keys = ["x", "redisson_lock_queue:{x}", "redisson_lock_timeout:{x}"];
    assert_eq!(redis.ask(&format!("EXISTS {}", keys.join(" "))), ":0");
}

type Order = Arc<Mutex<Vec<usize>>>;

/// Waits for the lock, notes whose turn it was, and gives it back.
fn comes(lock: Lock, order: &Order, number: usize) -> tokio::task::JoinHandle<()> {
    let order = Arc::clone(order);
    tokio::spawn(async move {
        let lease = lock.lock().await.unwrap();
        order.lock().unwrap().push(number);
        assert_eq!(lease.release().await.unwrap(), Released::Free);
    })
}

/// Returns the order in which twelve of three clients had the lock that asked for it one after the other.
async fn order_of_twelve(redis: &RedisServer, kind: fn(&Locks) -> Lock) -> Vec<usize> {
    let clients = [client_of(redis).await, client_of(redis).await, client_of(redis).await];
    let held = take(&kind(&clients[0])).await;
    let (order, mut tasks) = (Order::default(), Vec::new());
    for number in 0..12 {
        tasks.push(comes(kind(&clients[number % 3]), &order, number));
        tokio::time::sleep(ms(30)).await;
    }
    held.release().await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    for client in clients {
        client.close().await;
    }
    Arc::into_inner(order).unwrap().into_inner().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_first_has_it_first_whatever_the_process() {
    let Some(redis) = RedisServer::start() else { return };
    let asked: Vec<usize> = (0..12).collect();
    for _ in 0..5 {
        assert_eq!(order_of_twelve(&redis, |locks| locks.fair("x").unwrap()).await, asked);
        nothing_is_left(&redis);
    }
    // In contrast: a plain lock knows no order between processes.
    until("another order", async || {
        order_of_twelve(&redis, |locks| locks.mutex("x").unwrap()).await != asked
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_leaves_the_line_is_not_waited_for() {
    let Some(redis) = RedisServer::start() else { return };
    let (ann, bob) = (client_of(&redis).await, client_of(&redis).await);
    let fair = |locks: &Locks| locks.fair("x").unwrap();
    let held = take(&fair(&ann)).await;
    // One whose time is over, one that is dropped, and one whose client is closed.
    let waited = fair(&bob).lock_within(ms(300)).await.unwrap();
    assert!(matches!(waited, TryLock::Held { .. }));
    let dropped = tokio::spawn({
        let lock = fair(&bob);
        async move { lock.lock().await }
    });
    stands(&redis, 1).await;
    dropped.abort();
    stands(&redis, 0).await;
    let eve = client_of(&redis).await;
    let closed = tokio::spawn({
        let lock = fair(&eve);
        async move { lock.lock().await }
    });
    stands(&redis, 1).await;
    eve.close().await;
    assert!(matches!(closed.await.unwrap(), Err(Error::Closed)));
    stands(&redis, 0).await;

    // Who does not wait takes nobody's turn.
    let next = tokio::spawn({
        let lock = fair(&bob);
        async move { lock.lock().await.unwrap() }
    });
    stands(&redis, 1).await;
    assert_eq!(held.release().await.unwrap(), Released::Free);
    assert!(fair(&ann).try_lock().await.unwrap().acquired().is_none());
    assert_eq!(next.await.unwrap().release().await.unwrap(), Released::Free);
    take(&fair(&ann)).await.release().await.unwrap();
    nothing_is_left(&redis);

    // Dropped at any moment, whatever is under way.
    for _ in 0..150 {
        let time = std::time::Duration::from_micros(fastrand::u64(..3000));
        let lock = fair(if fastrand::bool() { &ann } else { &bob });
        drop(tokio::time::timeout(time, lock.lock()).await);
    }
    let last = fair(&ann).lock_within(10 * SECOND).await.unwrap().acquired();
    assert_eq!(last.expect("nobody is in the way").release().await.unwrap(), Released::Free);
    until("nobody stands in line", async || line(&redis) == 0).await;
}

/// One that died stands first in line: a free lock waits for it until its time is over, without being asked for all the time. Those
/// who live stay in line however long somebody has the lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_dead_are_waited_for_a_while_and_the_living_for_ever() {
    let Some(redis) = RedisServer::start() else { return };
    let (ann, bob) = (client_of(&redis).await, client_of(&redis).await);
    let in_ms = |ms: u64| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        now.as_millis() as u64 + ms
    };
    assert_eq!(redis.ask("RPUSH redisson_lock_queue:{x} dead:1"), ":1");
    assert_eq!(
        redis.ask(&format!("ZADD redisson_lock_timeout:{{x}} {} dead:1", in_ms(3_000))),
        ":1"
    );
    let (asked, begun) = (redis.calls_of("evalsha"), std::time::Instant::now());
    let lease = ann.fair("x").unwrap().lease(20 * SECOND).lock().await.unwrap();
    assert!(begun.elapsed() > 2 * SECOND, "{:?}", begun.elapsed());
    let asked = redis.calls_of("evalsha") - asked;
    assert!(asked < 10, "{asked} requests");

    // Longer than a waiter is waited for.
    let order = Order::default();
    let first = comes(bob.fair("x").unwrap(), &order, 1);
    stands(&redis, 1).await;
    let second = comes(ann.fair("x").unwrap(), &order, 2);
    stands(&redis, 2).await;
    tokio::time::sleep(17 * SECOND).await;
    assert_eq!(line(&redis), 2);
    drop(lease);
    first.await.unwrap();
    second.await.unwrap();
    assert_eq!(*order.lock().unwrap(), [1, 2]);
    nothing_is_left(&redis);
}

/// Who takes its turn, or leaves, takes back the time that those behind it had been given for it, but not what they have as waiters that
/// said a moment ago that they are there. One of ours that died is waited for no longer than that, however long the lease would have been.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_leaves_those_behind_their_time_and_the_dead_no_more_than_that() {
    let Some(redis) = RedisServer::start() else { return };
    let (ann, bob) = (client_of(&redis).await, client_of(&redis).await);
    let now = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        now.as_millis() as u64
    };
    const DEAD: &str = "00000000-0000-4000-8000-000000000000:12345678901";
    let until_when = |dead: &str| -> u64 {
        let said = redis.ask(&format!("ZSCORE redisson_lock_timeout:{{x}} {dead}"));
        said.lines().last().unwrap().parse().unwrap()
    };
    let held = take(&ann.fair("x").unwrap()).await;
    let order = Order::default();
    let next = comes(bob.fair("x").unwrap(), &order, 1);
    stands(&redis, 1).await;
    assert_eq!(redis.ask(&format!("RPUSH redisson_lock_queue:{{x}} {DEAD}")), ":2");
    let deadline = now() + 15_000;
    assert_eq!(redis.ask(&format!("ZADD redisson_lock_timeout:{{x}} {deadline} {DEAD}")), ":1");
    held.release().await.unwrap();
    next.await.unwrap();
    assert!(until_when(DEAD) > now() + 10_000);

    let an_hour = now() + 3_600_000;
    assert_eq!(redis.ask(&format!("ZADD redisson_lock_timeout:{{x}} {an_hour} {DEAD}")), ":0");
    let lock = ann.fair("x").unwrap();
    let lease = lock.lock_within(30 * SECOND).await.unwrap().acquired().expect("it is dropped");
    assert_eq!(lease.release().await.unwrap(), Released::Free);
    nothing_is_left(&redis);
}

/// The lock is granted, and the answer is lost: the waiter stands in line anew as another owner, and what the first one was granted goes
/// long before its lease ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_whose_answer_is_lost_is_in_nobodys_way() {
    let Some(redis) = RedisServer::start() else { return };
    let proxy = Proxy::start(redis.port()).await;
    let options = RedisOptions::new(redis.url_through(proxy.port()))
        .answer_within(ms(400))
        .connect_within(2 * SECOND)
        .heartbeat(ms(500));
    let ann = Locks::builder().connect(options).await.unwrap();
    let lock = ann.fair("x").unwrap().lease(60 * SECOND);
    assert_eq!(take(&lock).await.release().await.unwrap(), Released::Free);
    quiet(&proxy).await;
    proxy.set(ProxyFault::CutAtReply);
    let waiter = tokio::spawn(async move { lock.lock_within(30 * SECOND).await });
    until("it is granted", async || redis.ask("HLEN x") == ":1").await;
    let first = redis.ask("HKEYS x");
    proxy.set(ProxyFault::None);
    let lease = waiter.await.unwrap().unwrap().acquired().expect("nothing is in the way");
    assert_ne!(redis.ask("HKEYS x"), first, "another owner has it");
    assert_eq!(lease.release().await.unwrap(), Released::Free);
    nothing_is_left(&redis);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_stand_in_one_line_and_wake_each_other() {
    let Some(redis) = RedisServer::start() else { return };
    let Some(mut java) = Peer::start(&redis, 30_000).await else { return };
    let rust = client_of(&redis).await;
    let ours = rust.fair("x").unwrap().lease(20 * SECOND);
    let held = take(&ours).await;
    assert!(java.ask("lock fair x 1 0 20000").await.starts_with("false"));
    assert_eq!(java.ask("unlock fair x 1").await, "problem IllegalMonitorStateException");
    // Theirs, ours, theirs, ours.
    mark(&redis, 20_000);
    let mut waiting = Vec::new();
    for (place, thread) in [(1, 11), (3, 12)] {
        let theirs = java.begin(&format!("lock fair x {thread} 60000 20000")).await;
        stands(&redis, place).await;
        let ours = ours.clone();
        let ours = tokio::spawn(async move { ours.lock().await.unwrap() });
        stands(&redis, place + 1).await;
        waiting.push((thread, theirs, ours));
    }
    assert_eq!(held.release().await.unwrap(), Released::Free);
    for (thread, theirs, ours) in waiting {
        by_message(&theirs.await.unwrap());
        assert!(!ours.is_finished());
        assert_eq!(java.ask(&format!("unlock fair x {thread}")).await, "done");
        let lease = tokio::time::timeout(5 * SECOND, ours).await.expect("woken").unwrap();
        by_message(&redis.ask("PTTL marker").replace(':', "true "));
        assert_eq!(lease.release().await.unwrap(), Released::Free);
    }
    nothing_is_left(&redis);
    // A plain lock of the name is the same lock.
    let plain = take(&rust.mutex("x").unwrap()).await;
    assert!(ours.try_lock().await.unwrap().acquired().is_none());
    plain.release().await.unwrap();
}

#[tokio::test]
async fn other_stores_say_that_they_have_none() {
    let refused = Locks::memory().fair("x").unwrap_err();
    assert!(matches!(refused, Error::Unfit { .. }) && refused.hint().is_some(), "{refused}");
}
