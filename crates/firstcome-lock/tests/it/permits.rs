//! Semaphores and read/write locks, in Redis and in databases.

use firstcome_lock::{Error, Lock, Locks, Loss, Mistake, Released, Remaining, TryLock};
use futures_util::future::join_all;

use crate::stage::{Inside, SECOND, Stage, ms, take, until};

on_stores! {
    [redis valkey postgres pgbouncer mariadb sqlite]
    {
        a_permit_ends_by_itself
        a_renewed_permit_outlives_itself
        an_extension_of_a_permit_lasts
        a_permit_given_back_wakes_the_one_who_waits
        a_wait_for_a_permit_ends_in_time
        dropped_permits_are_given_back
        closing_gives_permits_back
        readers_read_together_and_a_writer_writes_alone
        a_writer_comes_when_the_last_reader_has_gone
        fences_of_permits_grow
        forty_tasks_are_never_more_than_permits
        readers_and_writers_never_meet
        calls_dropped_at_random_leave_no_permit_out
    }
}

/// In Redis the first one says how many there are, and a name is one thing only.
mod in_databases {
    use super::{as_many_as_there_are, never_more_even_in_the_same_moment};

    on_stores! {
        [postgres pgbouncer mariadb sqlite]
        {
            as_many_as_there_are
            never_more_even_in_the_same_moment
        }
    }
}

async fn is_refused(lock: &Lock) -> bool {
    matches!(lock.try_lock().await.unwrap(), TryLock::Held { remaining: Remaining::AtMost(_), .. })
}

async fn as_many_as_there_are(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let three = |locks: &Locks| locks.semaphore("x", 3).unwrap();
    let (one, two, three_) =
        (take(&three(&ann)).await, take(&three(&bob)).await, take(&three(&ann)).await);
    assert!(is_refused(&three(&ann)).await && is_refused(&three(&bob)).await);
    let TryLock::Held { remaining: Remaining::AtMost(left), .. } =
        three(&bob).try_lock().await.unwrap()
    else {
        panic!("it is refused");
    };
    assert!(left > 20 * SECOND && left <= 30 * SECOND, "{left:?}");
    // One who thinks of more takes more; other things of the same name are others.
    take(&ann.semaphore("x", 4).unwrap()).await.release().await.unwrap();
    take(&ann.mutex("x").unwrap()).await.release().await.unwrap();
    take(&ann.write("x").unwrap()).await.release().await.unwrap();
    assert_eq!(two.release().await.unwrap(), Released::Free);
    let again = take(&three(&ann)).await;
    assert!(is_refused(&three(&bob)).await);
    for lease in [one, three_, again] {
        assert!(lease.is_valid());
        assert_eq!(lease.release().await.unwrap(), Released::Free);
    }
    for impossible in [0, 1001] {
        assert!(matches!(ann.semaphore("x", impossible), Err(Error::Unfit { .. })));
    }
}

async fn a_permit_ends_by_itself(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let kept = take(&ann.semaphore("x", 2).unwrap()).await;
    let lease = take(&ann.semaphore("x", 2).unwrap().lease(SECOND)).await;
    assert!(is_refused(&bob.semaphore("x", 2).unwrap()).await);
    assert_eq!(lease.lost().await, Loss::RanOut);
    let next = bob.semaphore("x", 2).unwrap().lock_within(10 * SECOND).await.unwrap().acquired();
    assert!(next.expect("it ended").fence() > lease.fence());
    assert_eq!(lease.release().await.unwrap(), Released::AlreadyLost);
    assert_eq!(kept.release().await.unwrap(), Released::Free);
}

async fn a_renewed_permit_outlives_itself(stage: Stage) {
    let ann = stage.client_with(Locks::builder().watchdog(2 * SECOND)).await;
    let bob = stage.client().await;
    let leases = [
        take(&ann.semaphore("x", 2).unwrap()).await,
        take(&ann.semaphore("x", 2).unwrap()).await,
        take(&ann.read("y").unwrap()).await,
        take(&ann.mutex("z").unwrap()).await,
    ];
    let (permit, writer) = (bob.semaphore("x", 2).unwrap(), bob.write("y").unwrap());
    let (permit, writer) =
        tokio::join!(permit.lock_within(5 * SECOND), writer.lock_within(5 * SECOND));
    assert!(permit.unwrap().acquired().is_none() && writer.unwrap().acquired().is_none());
    for lease in leases {
        assert_eq!(lease.release().await.unwrap(), Released::Free);
    }
}

async fn an_extension_of_a_permit_lasts(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let lease = take(&ann.write("x").unwrap().lease(SECOND)).await;
    lease.extend(20 * SECOND).await.unwrap();
    let TryLock::Held { remaining: Remaining::AtMost(left), .. } =
        bob.read("x").unwrap().try_lock().await.unwrap()
    else {
        panic!("it is held");
    };
    assert!(left > 10 * SECOND, "{left:?}");
    assert_eq!(lease.release().await.unwrap(), Released::Free);
    take(&bob.read("x").unwrap()).await.release().await.unwrap();
}

async fn a_permit_given_back_wakes_the_one_who_waits(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let leases =
        [take(&ann.semaphore("x", 2).unwrap()).await, take(&ann.semaphore("x", 2).unwrap()).await];
    let waiting: Vec<_> = [&ann, &bob, &bob]
        .map(|locks| {
            let lock = locks.semaphore("x", 2).unwrap();
            tokio::spawn(async move { lock.lock().await.unwrap().release().await.unwrap() })
        })
        .into();
    tokio::task::yield_now().await;
    for lease in leases {
        lease.release().await.unwrap();
    }
    // Who is not told waits for the end of a lease of 30 s.
    for waiter in waiting {
        let waited = tokio::time::timeout(15 * SECOND, waiter).await.expect("it is told");
        assert_eq!(waited.unwrap(), Released::Free);
    }
}

async fn a_wait_for_a_permit_ends_in_time(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let lease = take(&ann.semaphore("x", 1).unwrap()).await;
    let waited = bob.semaphore("x", 1).unwrap().lock_within(SECOND).await.unwrap();
    assert!(matches!(waited, TryLock::Held { remaining: Remaining::AtMost(_), .. }));
    lease.release().await.unwrap();
}

async fn dropped_permits_are_given_back(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let lease = take(&ann.semaphore("x", 1).unwrap()).await;
    let waiter = tokio::spawn(async move {
        let lock = bob.semaphore("x", 1).unwrap();
        lock.lock().await.unwrap()
    });
    drop(lease);
    let next = tokio::time::timeout(15 * SECOND, waiter).await.expect("it is told").unwrap();
    assert_eq!(next.release().await.unwrap(), Released::Free);
}

async fn closing_gives_permits_back(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let permit = take(&ann.semaphore("x", 1).unwrap()).await;
    let reader = take(&ann.read("y").unwrap()).await;
    ann.close().await;
    assert_eq!((permit.lost().await, reader.lost().await), (Loss::Closed, Loss::Closed));
    take(&bob.semaphore("x", 1).unwrap()).await.release().await.unwrap();
    take(&bob.write("y").unwrap()).await.release().await.unwrap();
}

async fn readers_read_together_and_a_writer_writes_alone(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let mut readers = Vec::new();
    for locks in [&ann, &bob, &ann, &bob] {
        readers.push(take(&locks.read("x").unwrap()).await);
    }
    assert!(is_refused(&bob.write("x").unwrap()).await);
    for reader in readers {
        assert!(is_refused(&ann.write("x").unwrap()).await);
        assert_eq!(reader.release().await.unwrap(), Released::Free);
    }
    let writer = take(&ann.write("x").unwrap()).await;
    assert!(
        is_refused(&bob.write("x").unwrap()).await && is_refused(&bob.read("x").unwrap()).await
    );
    assert_eq!(writer.release().await.unwrap(), Released::Free);
    take(&bob.read("x").unwrap()).await.release().await.unwrap();
}

async fn a_writer_comes_when_the_last_reader_has_gone(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let long = take(&ann.read("x").unwrap()).await;
    // One that does not say when it goes.
    take(&ann.read("x").unwrap().lease(SECOND)).await.leak();
    let lock = bob.write("x").unwrap();
    let writer = tokio::spawn(async move { lock.lock().await.unwrap() });
    // A reader of the same process stands behind its writer; one of another process does not.
    until("they wait", async || !take_if_free(&bob.read("x").unwrap()).await).await;
    assert!(take_if_free(&ann.read("x").unwrap()).await);
    assert!(!writer.is_finished());
    long.release().await.unwrap();
    let writer = tokio::time::timeout(15 * SECOND, writer).await.expect("it is told").unwrap();
    assert!(is_refused(&ann.read("x").unwrap()).await);
    writer.release().await.unwrap();
}

/// Tells whether it was free, and nobody of the same process was in line.
async fn take_if_free(lock: &Lock) -> bool {
    match lock.lock_within(SECOND).await.unwrap().acquired() {
        Some(lease) => lease.release().await.unwrap() == Released::Free,
        None => false,
    }
}

async fn fences_of_permits_grow(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let mut last = None;
    let mut kept = Vec::new();
    for turn in 0..12 {
        let locks = if turn % 2 == 0 { &ann } else { &bob };
        let lease = take(&locks.semaphore("x", 6).unwrap()).await;
        assert!(Some(lease.fence()) > last, "{:?} after {last:?}", lease.fence());
        last = Some(lease.fence());
        kept.push(lease);
        if turn % 3 != 0 || kept.len() > 4 {
            kept.remove(0).release().await.unwrap();
        }
    }
}

/// Forty tasks of two clients visit five times each, and give the most that were inside together.
async fn visits_of_forty(stage: &Stage, lock_of: impl Fn(&Locks) -> Lock) -> i64 {
    let clients = [stage.client().await, stage.client().await];
    let inside = Inside::default();
    let tasks: Vec<_> = (0..40)
        .map(|i| {
            let (lock, inside) = (lock_of(&clients[i % 2]), inside.clone());
            tokio::spawn(async move {
                for _ in 0..5 {
                    let lease = lock.lock().await.unwrap();
                    inside.visit_for(ms(5)).await;
                    assert!(lease.is_valid());
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
    tokio::time::timeout(25 * SECOND, all).await.expect("each is told when it is its turn");
    inside.most()
}

async fn forty_tasks_are_never_more_than_permits(stage: Stage) {
    let most = visits_of_forty(&stage, |locks| locks.semaphore("x", 3).unwrap()).await;
    assert!((2..=3).contains(&most), "{most}");
}

async fn readers_and_writers_never_meet(stage: Stage) {
    let clients = [stage.client().await, stage.client().await];
    let (reading, writing) = (Inside::default(), Inside::default());
    let (met, together) = (Inside::default(), Inside::default());
    let tasks = (0..16).map(|i| {
        let locks = clients[i % 2].clone();
        let (reading, writing) = (reading.clone(), writing.clone());
        let (met, together) = (met.clone(), together.clone());
        tokio::spawn(async move {
            for turn in 0..6 {
                if (turn + i) % 3 == 0 {
                    let lease = locks.write("x").unwrap().lock().await.unwrap();
                    writing.enter();
                    if reading.now() > 0 || writing.now() > 1 {
                        met.enter();
                    }
                    tokio::time::sleep(ms(2)).await;
                    writing.leave();
                    lease.release().await.unwrap();
                } else {
                    let lease = locks.read("x").unwrap().lock().await.unwrap();
                    reading.enter();
                    if writing.now() > 0 {
                        met.enter();
                    }
                    if reading.now() > 1 {
                        together.enter();
                    }
                    tokio::time::sleep(ms(5)).await;
                    reading.leave();
                    lease.release().await.unwrap();
                }
            }
        })
    });
    let all = join_all(tasks.collect::<Vec<_>>());
    for done in tokio::time::timeout(25 * SECOND, all).await.expect("each has its turn") {
        done.unwrap();
    }
    assert_eq!(met.now(), 0);
    assert!(together.now() > 0, "readers read together");
}

/// Returns how many of twelve, who ask for one of three in the same moment, get one; the most of several rounds.
async fn most_of_twelve(clients: &[Locks], rounds: usize) -> usize {
    let mut most = 0;
    for round in 0..rounds {
        let name = format!("round {round} of {}", clients[0].id());
        // The row is there, and free.
        take(&clients[0].semaphore(&name, 3).unwrap()).await.release().await.unwrap();
        let asking = (0..12).map(|i| {
            let lock = clients[i % clients.len()].semaphore(&name, 3).unwrap();
            tokio::spawn(async move { lock.try_lock().await.unwrap().acquired() })
        });
        let got = join_all(asking.collect::<Vec<_>>()).await;
        let got: Vec<_> = got.into_iter().filter_map(|got| got.unwrap()).collect();
        most = most.max(got.len());
        for lease in got {
            assert_eq!(lease.release().await.unwrap(), Released::Free);
        }
    }
    most
}

async fn never_more_even_in_the_same_moment(stage: Stage) {
    let clients = [stage.client().await, stage.client().await, stage.client().await];
    assert_eq!(most_of_twelve(&clients, 25).await, 3);

    // In contrast: who counts first, and takes one in a second step, takes too many.
    let careless = || Locks::builder().inject(Mistake::CountPermitsBeforehand);
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(stage.client_with(careless()).await);
    }
    until("there are too many", async || most_of_twelve(&clients, 5).await > 3).await;
}

async fn calls_dropped_at_random_leave_no_permit_out(stage: Stage) {
    let (locks, bob) = (stage.client().await, stage.client().await);
    for _ in 0..60 {
        let lock = match fastrand::u8(..3) {
            0 => locks.semaphore("s", 2).unwrap(),
            1 => locks.read("x").unwrap(),
            _ => locks.write("x").unwrap(),
        };
        let asking = lock.lock_within(ms(50));
        tokio::time::timeout(std::time::Duration::from_micros(fastrand::u64(..4000)), asking)
            .await
            .ok();
    }
    // Both permits, and the lock alone.
    let all = ["s", "s", "x"].map(|name| match name {
        "s" => bob.semaphore(name, 2).unwrap(),
        _ => bob.write(name).unwrap(),
    });
    let got = join_all(all.iter().map(|lock| lock.lock_within(10 * SECOND))).await;
    for got in got {
        got.unwrap().acquired().expect("all are given back").release().await.unwrap();
    }
}

#[tokio::test]
async fn other_stores_say_that_they_have_none() {
    let locks = Locks::memory();
    for lock in [locks.semaphore("x", 2), locks.read("x"), locks.write("x")] {
        let refused = lock.unwrap_err();
        assert!(matches!(refused, Error::Unfit { .. }) && refused.hint().is_some(), "{refused}");
    }
}
