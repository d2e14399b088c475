//! A client whose runtime ends while others use it.

use std::sync::Arc;

use firstcome_lock::{Error, Locks, Loss};

use crate::stage::{SECOND, Stage, take, until};

on_every_store! {
    a_client_ends_with_its_runtime_and_says_so
}

async fn a_client_ends_with_its_runtime_and_says_so(stage: Stage) {
    let stage = Arc::new(stage);
    let theirs = Arc::clone(&stage);
    let made = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(1).enable_all().build().unwrap();
        let locks = runtime.block_on(theirs.client_with(Locks::builder().watchdog(SECOND)));
        (runtime, locks)
    });
    let (runtime, locks) = made.join().unwrap();
    // As long as it lasts, the client works in another runtime, too.
    let lease = take(&locks.mutex("x").unwrap()).await;
    let lock = locks.mutex("x").unwrap();
    let waiter = tokio::spawn(async move { lock.lock().await });
    let several = locks.all(&["x", "y"]).unwrap();
    let other_waiter = tokio::spawn(async move { several.lock().await.map(drop) });
    until("somebody waits", async || locks.local_waiters("x") == 1).await;
    runtime.shutdown_background();

    let ended = tokio::time::timeout(2 * SECOND, waiter).await.expect("who waits is told");
    assert!(matches!(ended.unwrap(), Err(Error::RuntimeEnded)));
    let ended = tokio::time::timeout(2 * SECOND, other_waiter).await.expect("who waits is told");
    assert!(matches!(ended.unwrap(), Err(Error::RuntimeEnded)));
    let tried = locks.mutex("y").unwrap().try_lock().await.unwrap_err();
    assert!(matches!(tried, Error::RuntimeEnded) && tried.hint().is_some(), "{tried}");
    assert!(matches!(locks.all(&["y"]).unwrap().try_lock().await, Err(Error::RuntimeEnded)));
    assert_eq!(lease.lost().await, Loss::RanOut);
    tokio::time::timeout(10 * SECOND, lease.release()).await.expect("it ends").ok();
    tokio::time::timeout(15 * SECOND, locks.close()).await.expect("it ends");
    assert!(matches!(locks.mutex("y").unwrap().try_lock().await, Err(Error::Closed)));
}
