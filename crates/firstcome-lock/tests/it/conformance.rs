//! What every store must do, stamped once for each.

use firstcome_lock::{Error, FencedWrite, Locks, Loss, Released, Remaining, TryLock};

use crate::stage::{Inside, SECOND, Stage, is_held, ms, take, until, until_free};

on_every_store! {
    taken_once_and_given_back
    one_client_is_many_owners
    an_owner_holds_as_often_as_it_took
    a_fixed_lease_ends_by_itself
    a_renewed_lease_outlives_itself
    a_release_wakes_the_one_who_waits
    a_wait_ends_in_time
    a_lost_lease_says_so
    a_late_release_leaves_the_next_owner_alone
    a_dropped_lease_is_given_back
    a_leaked_lease_stays
    fences_grow
    fences_grow_over_both_counters
    an_extension_lasts
    closing_gives_everything_back
    an_operator_sees_and_frees
    forty_tasks_never_meet
    the_oldest_in_line_is_served_first
    a_chain_ends_for_others
    token_locks_exclude
    a_token_wait_looks_first
    guards_refuse_the_old
    no_renewal_after_the_end
    hands_over_under_both_kinds
}

async fn taken_once_and_given_back(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    for _ in 0..10 {
        let lease = take(&ann.mutex("x").unwrap()).await;
        assert!(lease.is_valid() && lease.owner().starts_with(ann.id()));
        assert!(matches!(
            bob.mutex("x").unwrap().try_lock().await,
            Ok(TryLock::Held { remaining: Remaining::AtMost(_), .. })
        ));
        take(&bob.mutex("other").unwrap()).await.release().await.unwrap();
        assert_eq!(lease.release().await.unwrap(), Released::Free);
        assert!(!is_held(&bob, "x").await);
    }
}

async fn one_client_is_many_owners(stage: Stage) {
    let ann = stage.client().await;
    let lock = ann.mutex("x").unwrap();
    let lease = take(&lock).await;
    assert!(lock.try_lock().await.unwrap().acquired().is_none(), "the same task is somebody else");
    lease.release().await.unwrap();
}

async fn an_owner_holds_as_often_as_it_took(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let me = ann.owner();
    let lock = ann.mutex("x").unwrap().owner(&me);
    let (one, two, three) = (take(&lock).await, take(&lock).await, take(&lock).await);
    assert_eq!((one.fence(), two.fence()), (two.fence(), three.fence()), "one owner, one fence");
    assert_eq!(bob.inspect("x").await.unwrap().unwrap().holds, 3);
    let other = ann.mutex("x").unwrap().owner(&ann.owner());
    assert!(other.try_lock().await.unwrap().acquired().is_none());
    assert_eq!(one.release().await.unwrap(), Released::StillHeld { holds: 2 });
    drop(two);
    until("the dropped one is given back", async || {
        bob.inspect("x").await.unwrap().unwrap().holds == 1
    })
    .await;
    assert_eq!(three.release().await.unwrap(), Released::Free);
    until_free(&bob, "x").await;

    let foreign = bob.mutex("x").unwrap().owner(&me).try_lock().await;
    assert!(matches!(foreign, Err(Error::ForeignOwner)));
}

async fn a_fixed_lease_ends_by_itself(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let lease = take(&ann.mutex("x").unwrap().lease(SECOND)).await;
    assert_eq!(lease.lost().await, Loss::RanOut);
    let next = bob.mutex("x").unwrap().lock_within(10 * SECOND).await.unwrap().acquired();
    assert!(next.expect("it ended").fence() > lease.fence());
    assert_eq!(lease.release().await.unwrap(), Released::AlreadyLost);
}

async fn a_renewed_lease_outlives_itself(stage: Stage) {
    let ann = stage.client_with(Locks::builder().watchdog(2 * SECOND)).await;
    let bob = stage.client().await;
    let lease = take(&ann.mutex("x").unwrap()).await;
    let waited = bob.mutex("x").unwrap().lock_within(5 * SECOND).await.unwrap();
    assert!(waited.acquired().is_none(), "two leases later it is still held");
    assert!(lease.is_valid());
    assert_eq!(lease.release().await.unwrap(), Released::Free);
}

async fn a_release_wakes_the_one_who_waits(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let lease = take(&ann.mutex("x").unwrap()).await;
    let lock = bob.mutex("x").unwrap();
    let waiter = tokio::spawn(async move { lock.lock().await.unwrap() });
    // Whether the release comes before or after the subscription, it is not missed.
    tokio::task::yield_now().await;
    lease.release().await.unwrap();
    let next = tokio::time::timeout(5 * SECOND, waiter).await;
    let next = next.expect("woken long before the lease of 30 s ends").unwrap();
    assert!(next.is_valid());
}

async fn a_wait_ends_in_time(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let _held = take(&ann.mutex("x").unwrap()).await;
    let begun = std::time::Instant::now();
    let waited = bob.mutex("x").unwrap().lock_within(SECOND).await.unwrap();
    let TryLock::Held { remaining, .. } = waited else { panic!("it is held") };
    assert!(remaining.at_most().is_some_and(|left| left > 15 * SECOND));
    assert!(begun.elapsed() >= SECOND);
    let none = bob.mutex("x").unwrap().lock_within(ms(0)).await.unwrap();
    assert!(none.acquired().is_none());
}

async fn a_lost_lease_says_so(stage: Stage) {
    let ann = stage.client_with(Locks::builder().watchdog(3 * SECOND)).await;
    let bob = stage.client().await;
    let lease = take(&ann.mutex("x").unwrap()).await;
    assert!(bob.force_release("x").await.unwrap());
    assert_eq!(lease.lost().await, Loss::Taken);
    assert!(!lease.is_valid());
    assert_eq!(lease.remaining(), ms(0));
    assert!(matches!(lease.extend(SECOND).await, Err(Error::Lost(Loss::Taken))));
    assert_eq!(lease.lost().await, Loss::Taken, "it stays so");
}

async fn a_late_release_leaves_the_next_owner_alone(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let old = take(&ann.mutex("x").unwrap().lease(SECOND)).await;
    let new = bob.mutex("x").unwrap().lock().await.unwrap();
    assert_eq!(old.release().await.unwrap(), Released::AlreadyLost);
    assert!(is_held(&ann, "x").await);
    assert_eq!(new.release().await.unwrap(), Released::Free);
}

async fn a_dropped_lease_is_given_back(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    drop(take(&ann.mutex("x").unwrap()).await);
    until_free(&bob, "x").await;
    // Also while unwinding.
    let lock = ann.mutex("x").unwrap();
    let panicked = tokio::spawn(async move {
        let _lease = take(&lock).await;
        panic!("on purpose");
    });
    assert!(panicked.await.is_err());
    until_free(&bob, "x").await;
}

async fn a_leaked_lease_stays(stage: Stage) {
    let ann = stage.client_with(Locks::builder().watchdog(SECOND)).await;
    let bob = stage.client().await;
    take(&ann.mutex("x").unwrap()).await.leak();
    assert!(is_held(&bob, "x").await);
    let next = bob.mutex("x").unwrap().lock_within(10 * SECOND).await.unwrap();
    assert!(next.acquired().is_some(), "it is not renewed");
}

async fn fences_grow(stage: Stage) {
    let mut last = [None, None];
    for _ in 0..5 {
        let client = stage.client().await;
        for (lock, last) in
            [client.mutex("x").unwrap(), client.token("t").unwrap()].iter().zip(&mut last)
        {
            let lease = take(lock).await;
            assert!(Some(lease.fence()) > *last, "of one lock: others have other fences");
            *last = Some(lease.fence());
            lease.release().await.unwrap();
        }
        client.close().await;
    }
}

async fn fences_grow_over_both_counters(stage: Stage) {
    let ann = stage.client().await;
    let one = take(&ann.fenced("x").unwrap()).await;
    let first = one.fence();
    assert!(
        ann.mutex("x").unwrap().try_lock().await.unwrap().acquired().is_none(),
        "one lock, two counters"
    );
    one.release().await.unwrap();
    let two = take(&ann.fenced("x").unwrap()).await;
    assert!(two.fence() > first);
    two.release().await.unwrap();
}

async fn an_extension_lasts(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let lease = take(&ann.mutex("x").unwrap().lease(SECOND)).await;
    lease.extend(10 * SECOND).await.unwrap();
    assert!(lease.remaining() > 6 * SECOND);
    assert!(bob.mutex("x").unwrap().lock_within(ms(1500)).await.unwrap().acquired().is_none());
    lease.extend(SECOND).await.unwrap();
    assert!(lease.remaining() < SECOND, "shorter is possible, too");
    assert_eq!(lease.lost().await, Loss::RanOut);
    assert!(lease.extend(SECOND).await.is_err());
    assert!(bob.mutex("x").unwrap().lock_within(10 * SECOND).await.unwrap().acquired().is_some());
}

async fn closing_gives_everything_back(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let me = ann.owner();
    let mine = ann.mutex("mine").unwrap().owner(&me);
    let leases = [
        take(&ann.mutex("x").unwrap()).await,
        take(&ann.token("t").unwrap()).await,
        take(&mine).await,
        take(&mine).await,
    ];
    let other = take(&bob.mutex("y").unwrap()).await;
    let lock = ann.mutex("y").unwrap();
    let waiter = tokio::spawn(async move { lock.lock().await });
    tokio::task::yield_now().await;
    ann.close().await;
    assert!(matches!(waiter.await.unwrap(), Err(Error::Closed)));
    for lease in leases {
        assert_eq!(lease.lost().await, Loss::Closed);
        assert!(!is_held(&bob, lease.name()).await, "{}", lease.name());
    }
    assert!(matches!(ann.mutex("x").unwrap().try_lock().await, Err(Error::Closed)));
    assert!(other.is_valid());
    ann.close().await;
}

async fn an_operator_sees_and_frees(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    assert_eq!(bob.inspect("x").await.unwrap(), None);
    assert!(!bob.force_release("x").await.unwrap());
    let lease = take(&ann.mutex("x").unwrap()).await;
    let holder = bob.inspect("x").await.unwrap().unwrap();
    assert_eq!((holder.owner.as_str(), holder.holds), (lease.owner(), 1));
    assert!(holder.remaining.is_some_and(|left| left > ms(25_000)));
    assert_eq!(holder.last_fence, Some(lease.fence().get()));
    // Freeing wakes those who wait.
    let lock = bob.mutex("x").unwrap();
    let waiter = tokio::spawn(async move { lock.lock().await.unwrap() });
    tokio::task::yield_now().await;
    assert!(ann.force_release("x").await.unwrap());
    let next = tokio::time::timeout(5 * SECOND, waiter).await.unwrap().unwrap();
    assert!(next.is_valid());

    let token = take(&ann.token("t").unwrap()).await;
    assert_eq!(bob.inspect("t").await.unwrap().unwrap().owner, token.owner());
    assert!(bob.force_release("t").await.unwrap());
}

async fn forty_tasks_never_meet(stage: Stage) {
    let clients = [stage.client().await, stage.client().await];
    let inside = Inside::default();
    let tasks: Vec<_> = (0..40)
        .map(|i| {
            let (lock, inside) = (clients[i % 2].mutex("x").unwrap(), inside.clone());
            tokio::spawn(async move {
                for _ in 0..5 {
                    let lease = lock.lock().await.unwrap();
                    inside.visit().await;
                    // Also where the next one has it before the answer is there.
                    assert_eq!(lease.release().await.unwrap(), Released::Free);
                }
            })
        })
        .collect();
    let all = async {
        for task in tasks {
            task.await.unwrap();
        }
    };
    // Who is not told of a release waits for the end of a lease of 30 s.
    tokio::time::timeout(25 * SECOND, all).await.expect("each is told when it is its turn");
    assert_eq!(inside.most(), 1);

    // In contrast: the same visits without the lock do meet.
    let inside = Inside::default();
    for _ in 0..100 {
        let visits = (0..40).map(|_| {
            let inside = inside.clone();
            tokio::spawn(async move { inside.visit().await })
        });
        for visit in visits.collect::<Vec<_>>() {
            visit.await.unwrap();
        }
    }
    assert!(inside.most() > 1);
}

async fn the_oldest_in_line_is_served_first(stage: Stage) {
    let ann = stage.client().await;
    let lease = take(&ann.mutex("x").unwrap()).await;
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for number in 0..6 {
        let (lock, order) = (ann.mutex("x").unwrap(), order.clone());
        tasks.push(tokio::spawn(async move {
            let lease = lock.lock().await.unwrap();
            order.lock().unwrap().push(number);
            lease.release().await.unwrap();
        }));
        // Each is in line before the next one comes.
        until("it is in line", async || ann.local_waiters("x") == number + 1).await;
    }
    lease.release().await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
}

/// Ann's tasks hand the lock to each other for as long as they can; bob, who waits elsewhere, gets his turn.
async fn a_chain_ends_for_others(stage: Stage) {
    let ann = stage.client().await;
    assert!(turns_before_bob(&stage, &ann).await < TURNS);

    // In contrast: where a chain has no end, he does not.
    let ann =
        stage.client_with(Locks::builder().inject(firstcome_lock::Mistake::PassWithoutLimit)).await;
    assert!(turns_before_bob(&stage, &ann).await >= TURNS);
}

/// How many turns ann's tasks take if nobody comes between.
const TURNS: u64 = 400;

async fn turns_before_bob(stage: &Stage, ann: &Locks) -> u64 {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    let (turns, over) =
        (std::sync::Arc::new(AtomicU64::new(0)), std::sync::Arc::new(AtomicBool::new(false)));
    let first = take(&ann.mutex("chain").unwrap()).await;
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let (lock, turns, over) = (ann.mutex("chain").unwrap(), turns.clone(), over.clone());
            tokio::spawn(async move {
                while !over.load(Ordering::SeqCst) && turns.load(Ordering::SeqCst) < TURNS {
                    let lease = lock.lock().await.unwrap();
                    turns.fetch_add(1, Ordering::SeqCst);
                    lease.release().await.unwrap();
                }
            })
        })
        .collect();
    let bob = stage.client().await;
    let waiting = {
        let (lock, over) = (bob.mutex("chain").unwrap(), over.clone());
        tokio::spawn(async move {
            let lease = lock.lock().await.unwrap();
            over.store(true, Ordering::SeqCst);
            lease.release().await.unwrap();
        })
    };
    // He is subscribed, or about to be, before the chain begins.
    tokio::time::sleep(ms(50)).await;
    first.release().await.unwrap();
    waiting.await.unwrap();
    let so_many = turns.load(Ordering::SeqCst);
    for task in tasks {
        task.await.unwrap();
    }
    so_many
}

async fn token_locks_exclude(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let lease = take(&ann.token("x").unwrap().lease(SECOND)).await;
    assert!(bob.token("x").unwrap().try_lock().await.unwrap().acquired().is_none());
    let next = bob.token("x").unwrap().lock_within(10 * SECOND).await.unwrap().acquired().unwrap();
    assert!(next.fence() > lease.fence());
    assert_eq!(lease.release().await.unwrap(), Released::AlreadyLost);
    assert!(is_held(&ann, "x").await, "only the one with the token deletes it");
    assert_eq!(next.release().await.unwrap(), Released::Free);

    // Renewed, too.
    let renewed = take(&ann.token("x").unwrap().renewed(SECOND)).await;
    assert!(bob.token("x").unwrap().lock_within(ms(2500)).await.unwrap().acquired().is_none());
    assert!(renewed.is_valid());
}

async fn a_token_wait_looks_first(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let lease = take(&ann.token("x").unwrap()).await;
    let tries = firstcome_lock::Backoff::new(ms(5)).tries(3);
    let waited = bob.token("x").unwrap().backoff(tries).lock_within(10 * SECOND).await.unwrap();
    assert!(waited.acquired().is_none(), "after three pauses it gives up");
    let lock = bob.token("x").unwrap();
    let waiter = tokio::spawn(async move { lock.lock().await.unwrap() });
    lease.release().await.unwrap();
    assert!(tokio::time::timeout(5 * SECOND, waiter).await.unwrap().unwrap().is_valid());
}

async fn guards_refuse_the_old(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let guard = ann.fenced_value("value").unwrap();
    let old = take(&ann.mutex("x").unwrap().lease(SECOND)).await;
    assert_eq!(guard.write(&old, b"1").await.unwrap(), FencedWrite::Written);
    let new = bob.mutex("x").unwrap().lock_within(10 * SECOND).await.unwrap().acquired().unwrap();
    assert_eq!(guard.write(&new, b"2").await.unwrap(), FencedWrite::Written);
    assert_eq!(
        guard.write(&new, b"3").await.unwrap(),
        FencedWrite::Written,
        "again by the same owner"
    );
    let late = guard.write(&old, b"4").await.unwrap();
    assert_eq!(late, FencedWrite::Refused { highest: new.fence() });
    let thief = guard.write_as(new.fence(), "somebody", b"5").await.unwrap();
    assert_eq!(thief, FencedWrite::Refused { highest: new.fence() });
}

async fn no_renewal_after_the_end(stage: Stage) {
    let ann = stage.client_with(Locks::builder().watchdog(SECOND)).await;
    let bob = stage.client().await;
    take(&ann.mutex("x").unwrap()).await.release().await.unwrap();
    // Somebody else takes it under the very owner that was renewed: only a renewal could keep it alive.
    let kept = take(&bob.mutex("x").unwrap().lease(SECOND)).await;
    kept.lost().await;
    until_free(&ann, "x").await;
}

async fn hands_over_under_both_kinds(stage: Stage) {
    // A fenced and a plain handle wait for one lock; each is passed it with a fence of its own counter.
    let ann = stage.client().await;
    let first = take(&ann.mutex("x").unwrap()).await;
    let (fenced, plain) = (ann.fenced("x").unwrap(), ann.mutex("x").unwrap());
    let one = tokio::spawn(async move { fenced.lock().await.unwrap().release().await.unwrap() });
    let two = tokio::spawn(async move { plain.lock().await.unwrap().release().await.unwrap() });
    tokio::time::sleep(ms(20)).await;
    first.release().await.unwrap();
    assert_eq!((one.await.unwrap(), two.await.unwrap()), (Released::Free, Released::Free));
    // A request that was under way when the lock was passed may still take it, for as long as giving it back takes.
    until("nobody has it", async || !is_held(&ann, "x").await).await;
}
