//! Locks on NATS servers that are killed, and on three of them.

use firstcome_lock::{Error, Locks, TryLock};
use firstcome_testbed::{Nats, NatsCluster};
use tokio::task::block_in_place;

use crate::stage::{SECOND, take};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_outlives_a_killed_server() {
    let Some(mut server) = Nats::start() else { return };
    let locks = Locks::connect(&server.url()).await.unwrap();
    let other = Locks::connect(&server.url()).await.unwrap();
    let lease = take(&locks.mutex("door").unwrap().lease(60 * SECOND)).await;
    block_in_place(|| server.restart());
    let lock = other.mutex("door").unwrap().lease(SECOND);
    let asked = lock.lock_within(8 * SECOND).await.unwrap();
    assert!(!matches!(asked, TryLock::Acquired(_)), "it is held: {asked:?}");
    let fence = lease.fence();
    lease.release().await.unwrap();
    let next = lock.lock_within(10 * SECOND).await.unwrap().acquired().expect("it is free");
    assert!(next.fence() > fence);
    next.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewed_lock_on_three_servers_outlives_each_of_them_and_excludes_all_the_time() {
    let Some(mut cluster) = NatsCluster::start() else { return };
    let locks = Locks::connect(&cluster.url()).await.unwrap();
    let other = Locks::connect(&cluster.url()).await.unwrap();
    let lease = take(&locks.mutex("door").unwrap().renewed(20 * SECOND)).await;
    for number in 0..3 {
        block_in_place(|| cluster.servers[number].kill());
        let lock = other.mutex("door").unwrap().lease(SECOND);
        // Without an answer nobody has it, either.
        if let Ok(asked) = lock.lock_within(3 * SECOND).await {
            assert!(!matches!(asked, TryLock::Acquired(_)), "it is held: {asked:?}");
        }
        block_in_place(|| cluster.servers[number].restart());
    }
    assert!(lease.is_valid(), "it was renewed");
    let released = lease.release().await;
    assert!(matches!(released, Ok(_) | Err(Error::Pending { .. })), "{released:?}");
    let lock = other.mutex("door").unwrap().lease(2 * SECOND);
    let next = lock.lock_within(20 * SECOND).await.unwrap().acquired().expect("it is free");
    next.release().await.unwrap();
}
