//! Work that runs under a lock, and leases that have an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use firstcome_lock::{Error, LockedError, Locks, Loss, Released, Remaining, TryLock};

use crate::stage::{Inside, SECOND, Stage, is_held, ms, take, until, until_free};

on_every_store! {
    work_runs_alone_and_the_lock_is_given_back
    work_is_stopped_where_it_stands_when_the_lock_is_lost
    work_does_not_begin_while_somebody_else_has_the_lock
    work_that_is_dropped_or_panics_gives_the_lock_back
    a_lease_is_held_no_longer_than_it_may_be
    who_only_stood_in_line_knows_of_no_time
}

/// Says that the work was dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

async fn work_runs_alone_and_the_lock_is_given_back(stage: Stage) {
    let inside = Inside::default();
    let mut visitors = Vec::new();
    for _ in 0..3 {
        let (locks, inside) = (stage.client().await, inside.clone());
        // Spawned: what runs under a lock can be sent to another thread.
        visitors.push(tokio::spawn(async move {
            let lock = locks.mutex("x").unwrap();
            for _ in 0..3 {
                let done = lock
                    .run(async |lease| {
                        inside.visit_for(ms(2)).await;
                        lease.fence()
                    })
                    .await
                    .unwrap();
                assert!(done.output.get() > 0);
                assert_eq!(done.released.unwrap(), Released::Free);
            }
        }));
    }
    for visitor in visitors {
        visitor.await.unwrap();
    }
    assert_eq!(inside.most(), 1);
    assert!(!is_held(&stage.client().await, "x").await);
}

async fn work_is_stopped_where_it_stands_when_the_lock_is_lost(stage: Stage) {
    let ann = stage.client_with(Locks::builder().watchdog(3 * SECOND)).await;
    let bob = stage.client().await;
    let (dropped, lock) = (Arc::new(AtomicBool::new(false)), ann.mutex("x").unwrap());
    let ended = lock
        .run(async |_| {
            let _here = Dropped(Arc::clone(&dropped));
            assert!(bob.force_release("x").await.unwrap());
            std::future::pending::<()>().await;
        })
        .await
        .unwrap_err();
    let LockedError::Lost { name, loss, .. } = ended else { panic!("{ended}") };
    assert_eq!((name.as_str(), loss), ("x", Loss::Taken));
    assert!(dropped.load(SeqCst));

    let lease = take(&ann.mutex("x").unwrap().lease(SECOND)).await;
    assert_eq!(lease.while_valid(async { 7 }).await, Ok(7));
    assert_eq!(lease.while_valid(std::future::pending::<()>()).await, Err(Loss::RanOut));
    let late = lease.while_valid(async { panic!("it takes no step without the lock") }).await;
    assert_eq!(late, Err::<(), _>(Loss::RanOut));
}

async fn work_does_not_begin_while_somebody_else_has_the_lock(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let held = take(&ann.mutex("x").unwrap()).await;
    let lock = bob.mutex("x").unwrap();
    for wait in [ms(0), SECOND] {
        let refused = lock.run_within(wait, async |_| panic!("it began")).await;
        let refused = refused.map(|done: firstcome_lock::Finished<()>| done.output).unwrap_err();
        assert!(refused.hint().is_some());
        let LockedError::Held { name, waited, remaining, .. } = refused else { panic!("held") };
        assert_eq!((name.as_str(), waited), ("x", wait));
        assert!(matches!(remaining, Remaining::AtMost(left) if left > 15 * SECOND));
    }
    held.release().await.unwrap();
    let done = lock.run_within(10 * SECOND, async |lease| lease.name().to_owned()).await.unwrap();
    assert_eq!(done.output, "x");
    let never = bob.mutex("x").unwrap().lease(ms(1)).run(async |_| ()).await.unwrap_err();
    assert!(matches!(never, LockedError::Error(Error::OutOfRange { .. })), "{never}");
}

async fn work_that_is_dropped_or_panics_gives_the_lock_back(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let lock = ann.mutex("x").unwrap();
    let endless = lock.run(async |_| std::future::pending::<()>().await);
    assert!(tokio::time::timeout(ms(200), endless).await.is_err());
    until_free(&bob, "x").await;
    let panics =
        tokio::spawn(async move { lock.run(async |_| panic!("on purpose")).await.map(drop) });
    assert!(panics.await.is_err());
    until_free(&bob, "x").await;
}

async fn a_lease_is_held_no_longer_than_it_may_be(stage: Stage) {
    let ann = stage.client_with(Locks::builder().watchdog(SECOND)).await;
    let bob = stage.client().await;
    let (began, lock) = (std::time::Instant::now(), ann.mutex("x").unwrap().hold_at_most(ms(2500)));
    let lease = take(&lock).await;
    assert!(lease.remaining() <= ms(2500));
    assert_eq!(lease.lost().await, Loss::HeldTooLong);
    assert!(began.elapsed() >= ms(2500), "it was renewed until then");
    assert!(!lease.is_valid() && lease.remaining() == ms(0));
    assert!(matches!(lease.extend(SECOND).await, Err(Error::Lost(Loss::HeldTooLong))));
    // Nobody gave it back, and it is not renewed.
    until_free(&bob, "x").await;
    drop(lease);

    let stopped = lock.run(async |_| std::future::pending::<()>().await).await.unwrap_err();
    assert!(matches!(stopped, LockedError::Lost { loss: Loss::HeldTooLong, .. }), "{stopped}");
    until_free(&bob, "x").await;
    let refused = ann.mutex("x").unwrap().hold_at_most(ms(49)).try_lock().await;
    assert!(matches!(refused, Err(Error::OutOfRange { .. })));
}

async fn who_only_stood_in_line_knows_of_no_time(stage: Stage) {
    let ann = stage.client().await;
    let _held = take(&ann.mutex("x").unwrap()).await;
    let lock = ann.mutex("x").unwrap();
    let first = tokio::spawn(async move { lock.lock().await.map(drop) });
    until("it waits", async || ann.local_waiters("x") == 1).await;
    let waited = ann.mutex("x").unwrap().lock_within(ms(100)).await.unwrap();
    assert!(matches!(waited, TryLock::Held { remaining: Remaining::Unknown, .. }), "{waited:?}");
    first.abort();
}
