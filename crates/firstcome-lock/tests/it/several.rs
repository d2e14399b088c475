//! Several locks that are taken together or not at all.

use std::time::Duration;

use firstcome_lock::{
    Error, LockedError, Locks, Loss, Memory, Mistake, MultiLease, Released, TryLock,
};

use crate::stage::{Inside, SECOND, Stage, is_held, ms, take, until, until_free};

on_every_store! {
    all_or_none_are_taken
    callers_with_overlapping_names_all_get_their_turn
    a_wait_for_several_is_woken_and_ends_in_time
    the_loss_of_one_is_the_loss_of_the_whole
    nothing_stays_of_a_call_that_is_dropped
    one_that_cannot_be_taken_leaves_the_others_free
}

async fn take_all(locks: &Locks, names: &[&str]) -> MultiLease {
    locks.all(names).unwrap().try_lock().await.unwrap().acquired().expect("they are free")
}

async fn all_or_none_are_taken(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let taken = take(&bob.mutex("t").unwrap()).await;
    let all = ann.all(&["y", "t", "x"]).unwrap();
    let TryLock::Held { name, remaining, .. } = all.try_lock().await.unwrap() else {
        panic!("one of them is taken")
    };
    assert_eq!(name, "t");
    assert!(remaining.at_most().is_some_and(|left| left > 20 * SECOND));
    assert!(!is_held(&bob, "x").await && !is_held(&bob, "y").await, "none is held");
    taken.release().await.unwrap();

    let mut fences = Vec::new();
    for _ in 0..2 {
        let lease = take_all(&ann, &["y", "t", "x"]).await;
        let names: Vec<_> = lease.leases().iter().map(firstcome_lock::Lease::name).collect();
        assert_eq!(names, ["t", "x", "y"]);
        assert!(lease.is_valid() && lease.of("x").is_some() && lease.of("z").is_none());
        fences.push(lease.of("t").unwrap().fence());
        for name in ["x", "y", "t"] {
            let tried = bob.mutex(name).unwrap().try_lock().await.unwrap();
            assert!(tried.acquired().is_none(), "{name}");
        }
        assert_eq!(lease.release().await.unwrap(), Released::Free);
        for name in ["x", "y", "t"] {
            assert!(!is_held(&bob, name).await, "{name}");
        }
    }
    assert!(fences[0] < fences[1]);
    let done = all.run(async |lease| lease.leases().len()).await.unwrap();
    assert_eq!((done.output, done.released.unwrap()), (3, Released::Free));
    drop(take_all(&ann, &["x", "y"]).await);
    until_free(&bob, "x").await;
    until_free(&bob, "y").await;
}

/// Names, of which each two sets have one in common, in an order that makes a circle.
const CIRCLE: [[&str; 2]; 3] = [["x", "y"], ["y", "t"], ["t", "x"]];

/// Tells whether everybody got their turns within a time.
async fn everybody_gets_turns(clients: Vec<Locks>, turns: u32, within: Duration) -> bool {
    let inside = [Inside::default(), Inside::default(), Inside::default()];
    let mut tasks = tokio::task::JoinSet::new();
    for locks in clients {
        for names in CIRCLE {
            let (all, inside) = (locks.all(&names).unwrap(), inside.clone());
            tasks.spawn(async move {
                let places = names.map(|name| ["x", "y", "t"].iter().position(|n| *n == name));
                for _ in 0..turns {
                    let lease = all.lock().await.unwrap();
                    let (one, other) = (&inside[places[0].unwrap()], &inside[places[1].unwrap()]);
                    tokio::join!(one.visit_for(ms(1)), other.visit_for(ms(1)));
                    assert!(lease.is_valid());
                    lease.release().await.unwrap();
                }
            });
        }
    }
    let all = async {
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    };
    let ended = tokio::time::timeout(within, all).await.is_ok();
    assert!(inside.iter().all(|inside| inside.most() <= 1), "two had the same lock");
    ended
}

async fn callers_with_overlapping_names_all_get_their_turn(stage: Stage) {
    let clients = vec![stage.client().await, stage.client().await];
    assert!(everybody_gets_turns(clients, 4, 120 * SECOND).await);
    let bob = stage.client().await;
    for name in ["x", "y", "t"] {
        // A request of somebody who was passed the lock meanwhile may still take it, and gives it back.
        until("it is free", async || !is_held(&bob, name).await).await;
    }
}

async fn a_wait_for_several_is_woken_and_ends_in_time(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let held = take_all(&bob, &["y", "t"]).await;
    let all = ann.all(&["x", "y", "t"]).unwrap();
    let began = std::time::Instant::now();
    let waited = all.lock_within(SECOND).await.unwrap();
    assert!(began.elapsed() >= SECOND);
    let TryLock::Held { name, .. } = waited else { panic!("they are held") };
    assert_eq!(name, "t");
    until("nothing is held after a wait", async || !is_held(&bob, "x").await).await;

    let waiting = tokio::spawn(async move { all.lock().await.unwrap() });
    tokio::time::sleep(ms(50)).await;
    take(&bob.mutex("x").unwrap()).await.release().await.unwrap();
    held.release().await.unwrap();
    let got = tokio::time::timeout(10 * SECOND, waiting).await;
    let got = got.expect("woken long before the leases of 30 s end").unwrap();
    assert!(got.is_valid());
    got.release().await.unwrap();
}

async fn the_loss_of_one_is_the_loss_of_the_whole(stage: Stage) {
    let ann = stage.client_with(Locks::builder().watchdog(3 * SECOND)).await;
    let bob = stage.client().await;
    let lease = take_all(&ann, &["x", "y"]).await;
    assert!(bob.force_release("y").await.unwrap());
    assert_eq!(lease.lost().await, Loss::Taken);
    assert!(!lease.is_valid() && lease.remaining() == ms(0));
    assert!(lease.of("x").unwrap().is_valid(), "the other one is still held");
    assert_eq!(lease.lost().await, Loss::Taken, "it stays so");
    assert_eq!(lease.release().await.unwrap(), Released::AlreadyLost);
    assert!(!is_held(&bob, "x").await);

    let all = ann.all(&["x", "y"]).unwrap();
    let stopped = all
        .run(async |_| {
            assert!(bob.force_release("y").await.unwrap());
            std::future::pending::<()>().await;
        })
        .await
        .unwrap_err();
    let LockedError::Lost { name, loss, .. } = stopped else { panic!("{stopped}") };
    assert_eq!((name.as_str(), loss), ("y", Loss::Taken));
    until_free(&bob, "x").await;

    let short = ann.all(&["x", "y"]).unwrap().hold_at_most(ms(100)).lock().await.unwrap();
    assert_eq!(short.lost().await, Loss::HeldTooLong);
    short.release().await.unwrap();
}

async fn nothing_stays_of_a_call_that_is_dropped(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let all = ann.all(&["x", "y", "t"]).unwrap();
    for micros in (0..40).map(|step| step * 150) {
        let within = Duration::from_micros(micros);
        drop(tokio::time::timeout(within, all.lock()).await);
    }
    for name in ["x", "y", "t"] {
        until_free(&bob, name).await;
    }
    let held = take(&bob.mutex("t").unwrap()).await;
    assert!(tokio::time::timeout(ms(200), all.lock()).await.is_err());
    until_free(&bob, "x").await;
    held.release().await.unwrap();
}

/// A token lock has another kind of key in Redis, so that asking for it as a lock fails; elsewhere it is just taken.
async fn one_that_cannot_be_taken_leaves_the_others_free(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let token = take(&bob.token("t").unwrap()).await;
    let tried = ann.all(&["mine", "t", "x"]).unwrap().try_lock().await;
    assert!(!matches!(tried, Ok(TryLock::Acquired(_))), "{tried:?}");
    for name in ["mine", "x"] {
        until("it is free", async || !is_held(&bob, name).await).await;
    }
    token.release().await.unwrap();
    take_all(&ann, &["mine", "t", "x"]).await.release().await.unwrap();
}

#[tokio::test]
async fn names_that_cannot_be_are_refused() {
    let locks = Locks::memory();
    let many: Vec<_> = (0..65).map(|number| format!("n{number}")).collect();
    assert!(locks.all(&many[..64]).is_ok());
    for (names, reason) in [(&many[..], "65"), (&[], "empty")] {
        let refused = locks.all(names).unwrap_err();
        assert!(refused.to_string().contains(reason) && refused.hint().is_some(), "{refused}");
    }
    let twice = locks.all(&["b", "a", "b"]).unwrap_err();
    assert!(twice.to_string().contains("\"b\" stands there twice"), "{twice}");
    assert!(matches!(locks.all(&["a", ""]), Err(Error::Name { .. })));
    let all = locks.all(&["b", "a"]).unwrap();
    assert_eq!(all.names().collect::<Vec<_>>(), ["a", "b"]);
    assert!(matches!(all.lease(ms(1)).try_lock().await, Err(Error::OutOfRange { .. })));
}

/// In contrast: those who keep what they have while they wait for the next one, in whatever order, wait for each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeping_locks_while_waiting_for_others_ends_in_a_circle() {
    let memory = Memory::new();
    let careless = || {
        let builder = Locks::builder().inject(Mistake::KeepWhileWaiting);
        builder.inject(Mistake::TakeUnsorted).memory(&memory).unwrap()
    };
    assert!(!everybody_gets_turns(vec![careless(), careless()], 200, 5 * SECOND).await);
}

/// Has two try at once for the same names in different order, again and again; counts the times when neither got them.
async fn tries_that_nobody_wins(builder: impl Fn() -> firstcome_lock::Builder) -> u32 {
    // A store that is asked for one after the other, and that takes its time.
    let stage = Stage::sqlite();
    let (ann, bob) = (stage.client_with(builder()).await, stage.client_with(builder()).await);
    let mut nobody = 0;
    for _ in 0..60 {
        let (one, other) = (ann.all(&["a", "b"]).unwrap(), bob.all(&["b", "a"]).unwrap());
        let (one, other) = tokio::join!(one.try_lock(), other.try_lock());
        let winners: Vec<_> =
            [one, other].into_iter().filter_map(|tried| tried.unwrap().acquired()).collect();
        assert!(winners.len() < 2, "both got them");
        nobody += u32::from(winners.is_empty());
        for winner in winners {
            winner.release().await.unwrap();
        }
    }
    nobody
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_those_who_try_at_once_one_gets_all() {
    assert_eq!(tries_that_nobody_wins(Locks::builder).await, 0);
    // In contrast: who takes them in the order they are named in meets the other one in the middle.
    let unsorted = || Locks::builder().inject(Mistake::TakeUnsorted);
    assert!(tries_that_nobody_wins(unsorted).await > 0);
}
