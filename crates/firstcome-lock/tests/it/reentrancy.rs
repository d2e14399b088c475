//! Owners that take a lock again while other tasks of their process wait for it.

use std::sync::LazyLock;

use firstcome_lock::{Loss, RedisOptions, Released};
use firstcome_store::{Command, RedisReply, Script};
use firstcome_testbed::RedisServer;

use crate::stage::{SECOND, Stage, client_of, take, until};

on_every_store! {
    an_owner_takes_it_again_while_another_task_waits
    an_owner_that_has_nothing_waits_in_its_turn
}

async fn an_owner_takes_it_again_while_another_task_waits(stage: Stage) {
    let ann = stage.client().await;
    let me = ann.owner();
    let mine = ann.mutex("x").unwrap().owner(&me);
    let first = take(&mine).await;
    let other = ann.mutex("x").unwrap();
    let waiter = tokio::spawn(async move { other.lock().await.unwrap() });
    until("it waits", async || ann.local_waiters("x") == 1).await;

    // Whoever waits here waits for this owner, which must not wait for them.
    let second = tokio::time::timeout(5 * SECOND, mine.lock()).await.expect("at once").unwrap();
    assert_eq!(second.fence(), first.fence());
    let third = mine.lock_within(5 * SECOND).await.unwrap().acquired().expect("it is the owner's");
    assert!(!waiter.is_finished());
    assert_eq!(third.release().await.unwrap(), Released::StillHeld { holds: 2 });
    assert_eq!(second.release().await.unwrap(), Released::StillHeld { holds: 1 });
    assert_eq!(first.release().await.unwrap(), Released::Free);
    let next = tokio::time::timeout(5 * SECOND, waiter).await.expect("told of the release");
    assert!(next.unwrap().is_valid());
}

async fn an_owner_that_has_nothing_waits_in_its_turn(stage: Stage) {
    let ann = stage.client().await;
    let lease = take(&ann.mutex("x").unwrap()).await;
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let owners = [None, Some(ann.owner())];
    let mut tasks = Vec::new();
    for (number, owner) in owners.into_iter().enumerate() {
        let order = order.clone();
        let mut lock = ann.mutex("x").unwrap();
        if let Some(owner) = &owner {
            lock = lock.owner(owner);
        }
        tasks.push(tokio::spawn(async move {
            let lease = lock.lock().await.unwrap();
            order.lock().unwrap().push(number);
            lease.release().await.unwrap();
        }));
        until("it is in line", async || ann.local_waiters("x") == number + 1).await;
    }
    lease.release().await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1]);
}

/// The counter of fences ends a day after its last use, a lock that is renewed does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_takes_it_again_has_a_fence_though_the_counter_is_gone() {
    let Some(redis) = RedisServer::start() else { return };
    let ann = client_of(&redis).await;
    let me = ann.owner();
    let lock = ann.mutex("x").unwrap().owner(&me).lease(2 * SECOND);
    let old = take(&lock).await;
    // The store has it for longer than its owner believes.
    assert_eq!(redis.ask("PEXPIRE x 60000"), ":1");
    assert_eq!(old.lost().await, Loss::RanOut);
    assert_eq!(redis.ask("DEL fc:fence:{x}"), ":1");
    let again = take(&lock).await;
    assert!(again.fence() > old.fence(), "{} after {}", again.fence(), old.fence());
    assert_eq!(redis.ask("EXISTS fc:fence:{x}"), ":1");
}

/// A release that left holds is sent again after those have ended: the lock may have been somebody else's since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_release_left_may_have_ended_before_it_is_sent_again() {
    static RELEASE: LazyLock<Script> =
        LazyLock::new(|| Script::new(include_str!("../../src/redis/release.lua")));
    let Some(redis) = RedisServer::start() else { return };
    let store = firstcome_store::Redis::connect(RedisOptions::new(redis.url())).await.unwrap();
    assert_eq!(redis.ask("HSET x ann:1 2"), ":1");
    let release = Command::script(&RELEASE, &["x", "channel", "latch"]);
    let release = release.arg("ann:1").arg(1000).arg(60_000);
    assert_eq!(store.send(&release).await.unwrap(), RedisReply::Number(1));
    assert_eq!(store.send(&release).await.unwrap(), RedisReply::Number(1), "sent again");
    assert_eq!(redis.ask("DEL x"), ":1");
    assert_eq!(store.send(&release).await.unwrap(), RedisReply::Nil, "not that it was freed");
}
