//! The clock of the store jumps by ten minutes while locks are held, waited for, renewed and minted fences for.

use firstcome_lock::{
    Error, FencedWrite, Lease, Locks, Loss, RedisOptions, Released, Remaining, TryLock,
};
use firstcome_testbed::{Proxy, ProxyFault, RedisServer};

use crate::stage::{SECOND, client_of, is_held, take, until};

const TEN_MINUTES: i64 = 600;

async fn renewing(redis: &RedisServer) -> Locks {
    Locks::builder().watchdog(3 * SECOND).connect(RedisOptions::new(redis.url())).await.unwrap()
}

/// Returns the store's clock in µs.
fn clock(redis: &RedisServer) -> u64 {
    let said = redis.ask("TIME");
    let numbers: Vec<u64> = said.lines().filter_map(|line| line.trim().parse().ok()).collect();
    let [seconds, micros] = numbers[..] else { panic!("two numbers: {said}") };
    seconds * 1_000_000 + micros
}

/// Takes a lock of each kind once, one after the other, and by being passed it, and gives the fences.
async fn some_fences(locks: &Locks) -> [Vec<u64>; 3] {
    let kinds = [locks.mutex("x").unwrap(), locks.fenced("f").unwrap(), locks.token("t").unwrap()];
    let mut all = [const { Vec::new() }; 3];
    for (lock, fences) in kinds.iter().zip(&mut all) {
        let first = take(lock).await;
        fences.push(first.fence().get());
        let waiting = {
            let lock = lock.clone();
            tokio::spawn(async move { lock.lock().await.unwrap() })
        };
        tokio::task::yield_now().await;
        assert_eq!(first.release().await.unwrap(), Released::Free);
        let next = waiting.await.unwrap();
        fences.push(next.fence().get());
        assert_eq!(next.release().await.unwrap(), Released::Free);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fences_grow_whichever_way_the_clock_jumps() {
    let Some(redis) = RedisServer::with_movable_clock() else { return };
    let ann = client_of(&redis).await;
    let mut seen = [const { Vec::new() }; 3];
    let mut clocks = Vec::new();
    for ahead in [0, TEN_MINUTES, 0, -TEN_MINUTES, TEN_MINUTES, -TEN_MINUTES] {
        redis.set_clock(ahead);
        clocks.push(clock(&redis));
        // One that has connected before, and one that comes new.
        for locks in [&ann, &client_of(&redis).await] {
            for (seen, fences) in seen.iter_mut().zip(some_fences(locks).await) {
                seen.extend(fences);
            }
        }
    }
    for fences in &seen {
        assert_eq!(fences.len(), 24);
        assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
    }
    // In contrast: the clock alone goes back.
    assert!(!clocks.is_sorted(), "{clocks:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jump_ahead_ends_leases_and_is_signalled_at_the_next_renewal() {
    let Some(redis) = RedisServer::with_movable_clock() else { return };
    let (ann, bob) = (renewing(&redis).await, client_of(&redis).await);
    let renewed = take(&ann.mutex("x").unwrap()).await;
    let token = take(&ann.token("t").unwrap()).await;
    let fixed = take(&ann.mutex("y").unwrap().lease(60 * SECOND)).await;
    let waiting = {
        let lock = bob.mutex("x").unwrap();
        tokio::spawn(async move { lock.lock().await.unwrap() })
    };
    until("he listens", async || {
        redis.ask("PUBSUB NUMSUB redisson_lock__channel:{x}").ends_with(":1")
    })
    .await;
    redis.set_clock(TEN_MINUTES);
    let next = tokio::time::timeout(10 * SECOND, waiting).await.unwrap().unwrap();
    assert!(next.fence() > renewed.fence());
    for lost in [&renewed, &token] {
        let loss = tokio::time::timeout(10 * SECOND, lost.lost()).await.expect("it is signalled");
        assert_eq!(loss, Loss::Taken);
    }
    assert_eq!(renewed.release().await.unwrap(), Released::AlreadyLost);
    assert!(next.is_valid());

    // A fixed lease is never asked about: there are two who believe in it, and the fence tells them apart.
    let thief = take(&bob.mutex("y").unwrap()).await;
    assert!(fixed.is_valid() && thief.fence() > fixed.fence());
    let guard = ann.fenced_value("value").unwrap();
    assert_eq!(guard.write(&thief, b"new").await.unwrap(), FencedWrite::Written);
    assert!(matches!(guard.write(&fixed, b"old").await.unwrap(), FencedWrite::Refused { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jump_back_keeps_what_is_held_and_nobody_hangs() {
    let Some(redis) = RedisServer::with_movable_clock() else { return };
    let (ann, bob) = (renewing(&redis).await, client_of(&redis).await);
    let renewed = take(&ann.mutex("x").unwrap()).await;
    let waiting = {
        let lock = bob.mutex("x").unwrap();
        tokio::spawn(async move { lock.lock().await.unwrap() })
    };
    until("he listens", async || {
        redis.ask("PUBSUB NUMSUB redisson_lock__channel:{x}").ends_with(":1")
    })
    .await;
    // A holder that will never come back: its lease ends ten minutes later than it should have.
    take(&ann.mutex("dead").unwrap().lease(2 * SECOND)).await.leak();
    redis.set_clock(-TEN_MINUTES);
    let lost = tokio::time::timeout(4 * SECOND, renewed.lost()).await;
    assert!(lost.is_err(), "longer than its lease, and renewed by the clock there is now");
    assert!(renewed.is_valid() && !waiting.is_finished());
    let fence = renewed.fence();
    assert_eq!(renewed.release().await.unwrap(), Released::Free);
    let next: Lease = tokio::time::timeout(10 * SECOND, waiting).await.unwrap().unwrap();
    assert!(next.fence() > fence);
    assert_eq!(next.release().await.unwrap(), Released::Free);

    let waited = bob.mutex("dead").unwrap().lock_within(SECOND).await.unwrap();
    let TryLock::Held { remaining: Remaining::AtMost(left), .. } = waited else {
        panic!("{waited:?}")
    };
    assert!(left > 500 * SECOND, "{left:?}");
    assert!(bob.force_release("dead").await.unwrap());
    take(&bob.mutex("dead").unwrap()).await.release().await.unwrap();
}

/// An acquire whose answer was lost right before the clock was set back might arrive for ten minutes more: the undoing
/// does not wait for that, nor does closing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undoing_does_not_wait_for_a_clock_that_was_set_back() {
    let Some(redis) = RedisServer::with_movable_clock() else { return };
    let proxy = Proxy::start(redis.port()).await;
    let options = RedisOptions::new(redis.url_through(proxy.port())).answer_within(2 * SECOND);
    let ann = Locks::builder().connect(options).await.unwrap();
    let me = ann.owner();
    let lock = ann.mutex("x").unwrap().lease(SECOND).owner(&me);
    take(&lock).await.release().await.unwrap();
    for answer_was_lost in [true, false] {
        let fault = if answer_was_lost { ProxyFault::CutAtReply } else { ProxyFault::CutAtRequest };
        proxy.set(fault);
        assert!(matches!(lock.try_lock().await, Err(Error::Store(_))));
        redis.set_clock(if answer_was_lost { -TEN_MINUTES } else { -2 * TEN_MINUTES });
        proxy.set(ProxyFault::None);
        // Until then it says that the one before is not settled.
        until("its owner can take it again", async || {
            let Some(held) = lock.try_lock().await.ok().and_then(TryLock::acquired) else {
                return false;
            };
            // Given back here and not by a drop, which the next attempt would have to wait for.
            held.release().await.is_ok()
        })
        .await;
    }
    proxy.set(ProxyFault::CutAtRequest);
    assert!(matches!(lock.try_lock().await, Err(Error::Store(_))));
    redis.set_clock(-3 * TEN_MINUTES);
    proxy.set(ProxyFault::None);
    tokio::time::timeout(5 * SECOND, ann.close()).await.expect("closing ends in time");
    let bob = client_of(&redis).await;
    until("nobody has it", async || !is_held(&bob, "x").await).await;
}
