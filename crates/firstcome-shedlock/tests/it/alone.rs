//! What every store must do, stamped once for each.

use firstcome_shedlock::{Error, Unlocked};

use crate::scene::{Scene, fresh, take, try_take, until_taken};
use crate::stage::{Inside, SECOND, ms};

macro_rules! on_every_store {
    ($($name:ident)+) => {
        on_every_store! { @ redis $($name)+ }
        on_every_store! { @ db_time $($name)+ }
        on_every_store! { @ client_time $($name)+ }
        on_every_store! { @ mariadb $($name)+ }
        on_every_store! { @ mariadb_client_time $($name)+ }
    };
    (@ $store:ident $($name:ident)+) => {
        mod $store { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(scene) = super::Scene::$store() { super::$name(scene).await }
            }
        )+ }
    };
}

on_every_store! {
    one_holds_it_and_the_others_are_refused
    at_most_frees_it
    at_least_keeps_it
    an_extension_replaces_at_most
    an_extension_can_set_at_least
    what_was_lost_is_not_extended
    an_unlock_that_is_too_late_leaves_the_next_one_alone
    a_dropped_handle_unlocks
    nobody_gets_what_nobody_waits_for
    only_one_at_a_time
    durations_and_names_are_checked
    a_closed_client_says_so
}

async fn one_holds_it_and_the_others_are_refused(scene: Scene) {
    let (ann, bob) = (scene.client().await, scene.client().await);
    let (x, y) = (fresh("x"), fresh("y"));
    for _ in 0..10 {
        let lock = take(&ann, &x).await;
        assert!(try_take(&bob, &x).await.is_none());
        assert!(try_take(&ann, &x).await.is_none(), "it is nobody's twice");
        let other = take(&bob, &y).await;
        assert_eq!((lock.name(), other.name()), (x.as_str(), y.as_str()));
        assert_ne!(lock.locked_by(), other.locked_by());
        assert!(lock.remaining() > 3000 * SECOND);
        assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
        let next = take(&bob, &x).await;
        assert_eq!(next.unlock().await.unwrap(), Unlocked::Yes);
        assert_eq!(other.unlock().await.unwrap(), Unlocked::Yes);
    }
}

async fn at_most_frees_it(scene: Scene) {
    let (ann, bob) = (scene.client().await, scene.client().await);
    let x = fresh("x");
    let lock = ann.lock(&x, 4 * SECOND, ms(0)).await.unwrap().expect("it is free");
    assert!(try_take(&bob, &x).await.is_none());
    let next = until_taken(&bob, &x).await;
    assert_eq!(lock.remaining(), ms(0), "it knew before");
    assert_eq!(lock.unlock().await.unwrap(), Unlocked::AlreadyLost);
    assert_eq!(next.unlock().await.unwrap(), Unlocked::Yes);
}

async fn at_least_keeps_it(scene: Scene) {
    let (ann, bob) = (scene.client().await, scene.client().await);
    let (x, y) = (fresh("x"), fresh("y"));
    let hour = 3600 * SECOND;
    let long = ann.lock(&x, hour, hour).await.unwrap().expect("it is free");
    assert_eq!(long.unlock().await.unwrap(), Unlocked::Yes);
    assert!(try_take(&bob, &x).await.is_none());
    assert!(scene.is_long(&x));
    // What is kept is not *at most*: this one is free soon after.
    let short = ann.lock(&y, hour, SECOND).await.unwrap().expect("it is free");
    assert_eq!(short.unlock().await.unwrap(), Unlocked::Yes);
    assert!(!scene.is_long(&y));
    drop(until_taken(&bob, &y).await);
}

async fn an_extension_replaces_at_most(scene: Scene) {
    let (ann, bob) = (scene.client().await, scene.client().await);
    let x = fresh("x");
    let lock = ann.lock(&x, 10 * SECOND, ms(0)).await.unwrap().expect("it is free");
    assert!(!scene.is_long(&x));
    let lock = lock.extend(3600 * SECOND, ms(0)).await.unwrap().expect("it is held");
    assert!(scene.is_long(&x));
    assert!(lock.remaining() > 3000 * SECOND);
    // And again, to something shorter.
    let lock = lock.extend(SECOND, ms(0)).await.unwrap().expect("it is held");
    assert!(!scene.is_long(&x));
    let next = until_taken(&bob, &x).await;
    assert_eq!(lock.unlock().await.unwrap(), Unlocked::AlreadyLost);
    assert_eq!(next.unlock().await.unwrap(), Unlocked::Yes);
}

async fn an_extension_can_set_at_least(scene: Scene) {
    let (ann, bob) = (scene.client().await, scene.client().await);
    let x = fresh("x");
    let lock = take(&ann, &x).await;
    let lock = lock.extend(3600 * SECOND, 3600 * SECOND).await.unwrap().expect("it is held");
    assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
    assert!(try_take(&bob, &x).await.is_none());
    assert!(scene.is_long(&x));
}

async fn what_was_lost_is_not_extended(scene: Scene) {
    let (ann, bob) = (scene.client().await, scene.client().await);
    let (x, y) = (fresh("x"), fresh("y"));
    let hour = 3600 * SECOND;
    let over = ann.lock(&x, SECOND, ms(0)).await.unwrap().expect("it is free");
    let taken = ann.lock(&y, SECOND, ms(0)).await.unwrap().expect("it is free");
    let next = until_taken(&bob, &y).await;
    assert!(taken.extend(hour, ms(0)).await.unwrap().is_none(), "it is another's");
    // That one ended before `y` did, and nobody has taken it.
    assert!(over.extend(hour, ms(0)).await.unwrap().is_none(), "it is over");
    assert!(!scene.is_long(&x));
    assert!(scene.is_long(&y));
    assert_eq!(next.unlock().await.unwrap(), Unlocked::Yes);
}

async fn an_unlock_that_is_too_late_leaves_the_next_one_alone(scene: Scene) {
    // Two holders of one host, even of one client: what tells them apart is made anew for each.
    let ann = scene.client().await;
    let x = fresh("x");
    let late = ann.lock(&x, SECOND, ms(0)).await.unwrap().expect("it is free");
    let next = until_taken(&ann, &x).await;
    assert_eq!(late.unlock().await.unwrap(), Unlocked::AlreadyLost);
    assert!(scene.is_long(&x) && try_take(&ann, &x).await.is_none());
    assert_eq!(next.unlock().await.unwrap(), Unlocked::Yes);
}

async fn a_dropped_handle_unlocks(scene: Scene) {
    let (ann, bob) = (scene.client().await, scene.client().await);
    let (x, y) = (fresh("x"), fresh("y"));
    drop(take(&ann, &x).await);
    drop(until_taken(&bob, &x).await);
    // So does a future that has the handle, wherever it is dropped.
    for polls in 0..4 {
        let unlocking = Box::pin(take(&ann, &y).await.unlock());
        give_up_after(polls, unlocking).await;
        until_taken(&bob, &y).await.unlock().await.unwrap();
        let extending = Box::pin(take(&ann, &y).await.extend(3600 * SECOND, ms(0)));
        give_up_after(polls, extending).await;
        until_taken(&bob, &y).await.unlock().await.unwrap();
    }
    ann.close().await;
}

/// Polls a future so many times, then drops it; tells whether that was before it was ready.
async fn give_up_after<F: Future + Unpin>(polls: u32, mut future: F) -> bool {
    for _ in 0..polls {
        let once = std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut future).poll(context).is_ready())
        });
        if once.await {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

async fn nobody_gets_what_nobody_waits_for(scene: Scene) {
    let (ann, bob) = (scene.client().await, scene.client().await);
    for polls in 0..40 {
        let x = fresh("x");
        // Some are dropped before anything was sent, some before the answer, some with the answer.
        let hour = 3600 * SECOND;
        if give_up_after(polls % 4, Box::pin(ann.lock(&x, hour, hour))).await {
            drop(until_taken(&bob, &x).await);
        }
    }
}

async fn only_one_at_a_time(scene: Scene) {
    let (inside, x) = (Inside::default(), fresh("x"));
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let (client, inside, x) = (scene.client().await, inside.clone(), x.clone());
        tasks.push(tokio::spawn(async move {
            for _ in 0..25 {
                let lock = until_taken(&client, &x).await;
                inside.visit().await;
                assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(inside.most(), 1);
}

async fn durations_and_names_are_checked(scene: Scene) {
    let ann = scene.client().await;
    for (most, least) in [(ms(0), ms(0)), (ms(49), ms(0)), (SECOND, ms(1001))] {
        let refused = ann.lock("x", most, least).await.unwrap_err();
        assert!(matches!(refused, Error::OutOfRange { .. }) && refused.hint().is_some());
    }
    let refused = ann.lock("", SECOND, ms(0)).await.unwrap_err();
    assert!(matches!(refused, Error::Unfit { .. }) && refused.hint().is_some(), "{refused}");
    // As an extension, too: the handle is used up, and the lock stays taken until it ends by itself.
    let x = fresh("x");
    let refused = take(&ann, &x).await.extend(SECOND, 2 * SECOND).await.unwrap_err();
    assert!(matches!(refused, Error::OutOfRange { .. }), "{refused}");
    assert!(try_take(&ann, &x).await.is_none());
}

async fn a_closed_client_says_so(scene: Scene) {
    let (ann, bob) = (scene.client().await, scene.client().await);
    let x = fresh("x");
    drop(take(&ann, &x).await);
    ann.close().await;
    assert!(matches!(ann.lock(&x, SECOND, ms(0)).await.unwrap_err(), Error::Closed));
    // What was under way was finished first.
    take(&bob, &x).await.unlock().await.unwrap();
}
