//! Many tasks, many names, many dropped futures.

use std::future::Future;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use firstcome_lock::{Locks, Mistake, RedisOptions};
use firstcome_testbed::RedisServer;

use crate::stage::{Inside, SECOND, client_of, is_held, ms, take, until, until_free};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_tasks_on_one_lock_each_get_their_turn() {
    let Some(redis) = RedisServer::start() else { return };
    let clients = [client_of(&redis).await, client_of(&redis).await];
    let inside = Inside::default();
    let tasks: Vec<_> = (0..1000)
        .map(|i| {
            let (lock, inside) = (clients[i % 2].mutex("x").unwrap(), inside.clone());
            tokio::spawn(async move {
                let lease = lock.lock().await.unwrap();
                inside.visit().await;
                lease.release().await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(inside.most(), 1);
}

/// Polls a future a few times and then drops it, wherever it stands.
async fn poll_some(future: impl Future, times: u32) {
    let mut future = std::pin::pin!(future);
    for _ in 0..times {
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(output) = polled {
            drop(output);
            return;
        }
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn drop_many(locks: &Locks, times: u32) {
    for _ in 0..times {
        let lock = locks.mutex(&format!("n{}", fastrand::u32(..20))).unwrap();
        let polls = fastrand::u32(..12);
        match fastrand::u32(..4) {
            0 => poll_some(lock.try_lock(), polls).await,
            1 => poll_some(lock.lock(), polls).await,
            2 => poll_some(lock.lock_within(SECOND), polls).await,
            _ => {
                let both = async { lock.lock().await.unwrap().release().await };
                poll_some(both, polls).await;
            }
        }
    }
}

pub(crate) async fn names_held(locks: &Locks) -> usize {
    let mut held = 0;
    for number in 0..20 {
        held += usize::from(is_held(locks, &format!("n{number}")).await);
    }
    held
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_futures_dropped_at_random_leave_nothing_held() {
    let Some(redis) = RedisServer::start() else { return };
    let locks = client_of(&redis).await;
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let locks = locks.clone();
            tokio::spawn(async move { drop_many(&locks, 1000).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let bob = client_of(&redis).await;
    until("everything is given back", async || names_held(&bob).await == 0).await;
    locks.close().await;

    // In contrast: without undoing, grants to callers that left stay.
    let careless =
        Locks::builder().inject(Mistake::LeaveLostGrants).connect(RedisOptions::new(redis.url()));
    let careless = careless.await.unwrap();
    drop_many(&careless, 1000).await;
    until("some stay", async || names_held(&bob).await > 0).await;
    careless.close().await;
    assert!(names_held(&bob).await > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_names_under_one_watchdog() {
    let Some(redis) = RedisServer::start() else { return };
    let locks = Locks::builder().watchdog(3 * SECOND).connect(RedisOptions::new(redis.url()));
    let locks = locks.await.unwrap();
    let mut leases = Vec::new();
    for number in 0..10_000 {
        leases.push(take(&locks.mutex(&format!("n{number}")).unwrap()).await);
    }
    let (begun, before) = (Instant::now(), redis.calls_of("evalsha"));
    tokio::time::sleep(3 * SECOND).await;
    let renewals = redis.calls_of("evalsha") - before;
    let beats = begun.elapsed().as_millis() as u64 / 300;
    assert!(leases.iter().all(firstcome_lock::Lease::is_valid));
    let most = (beats + 2) * 100;
    assert!((300..=most).contains(&renewals), "{renewals} requests for {beats} beats of 100");
    locks.close().await;
    let bob = client_of(&redis).await;
    assert!(!is_held(&bob, "n0").await && !is_held(&bob, "n9999").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timers_do_not_pile_up() {
    let Some(redis) = RedisServer::start() else { return };
    let locks =
        Locks::builder().watchdog(SECOND).connect(RedisOptions::new(redis.url())).await.unwrap();
    let lock = locks.mutex("x").unwrap();
    for _ in 0..1000 {
        take(&lock).await.release().await.unwrap();
    }
    let lease = take(&lock).await;
    let (begun, before) = (Instant::now(), redis.calls_of("evalsha"));
    tokio::time::sleep(2 * SECOND).await;
    let renewals = redis.calls_of("evalsha") - before;
    let tenths = begun.elapsed().as_millis() as u64 / 100;
    assert!((5..=tenths + 2).contains(&renewals), "{renewals} renewals in {tenths} tenths");
    lease.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_waiters_cost_the_store_nothing() {
    let Some(redis) = RedisServer::start() else { return };
    let (ann, bob) = (client_of(&redis).await, client_of(&redis).await);
    let lease = take(&ann.mutex("x").unwrap()).await;
    let waiters: Vec<_> = (0..1000)
        .map(|_| {
            let lock = bob.mutex("x").unwrap();
            tokio::spawn(async move { lock.lock().await.unwrap().release().await.unwrap() })
        })
        .collect();
    // One of them subscribes and tries again; then there is silence.
    let channel = "redisson_lock__channel:{x}";
    until("somebody listens", async || {
        redis.ask(&format!("PUBSUB NUMSUB {channel}")).ends_with(":1")
    })
    .await;
    until("all wait", async || bob.local_waiters("x") == 1000).await;
    until("the last first try is over", async || {
        let before = redis.calls_of("evalsha");
        tokio::time::sleep(ms(300)).await;
        redis.calls_of("evalsha") == before
    })
    .await;
    let before = redis.calls_of("evalsha");
    tokio::time::sleep(SECOND).await;
    assert!(redis.calls_of("evalsha") - before <= 1);
    lease.release().await.unwrap();
    for waiter in waiters {
        waiter.await.unwrap();
    }
    until_free(&ann, "x").await;
    until("nobody listens any more", async || {
        redis.ask(&format!("PUBSUB NUMSUB {channel}")).ends_with(":0")
    })
    .await;
    until("no latch is left", async || redis.ask("KEYS redisson_unlock_latch*").starts_with("*0"))
        .await;
}

/// A release is said where the lock is free, and not where it was passed on within a client.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_may_pass_a_lock_on_less_often() {
    for (passes, said) in [(0, 11), (1, 6), (8, 2)] {
        let Some(redis) = RedisServer::start() else { return };
        let options = RedisOptions::new(redis.url());
        let ann = Locks::builder().passes(passes).connect(options).await.unwrap();
        let first = take(&ann.mutex("x").unwrap()).await;
        let mut tasks = Vec::new();
        for number in 0..10 {
            let lock = ann.mutex("x").unwrap();
            tasks.push(tokio::spawn(async move {
                lock.lock().await.unwrap().release().await.unwrap();
            }));
            until("it is in line", async || ann.local_waiters("x") == number + 1).await;
        }
        first.release().await.unwrap();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(redis.calls_of("publish"), said, "passed on {passes} times at most");
    }
}
