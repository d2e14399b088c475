//! Locks that replicas have to acknowledge.

use firstcome_lock::{Error, Locks, RedisOptions, Released};
use firstcome_testbed::{RedisCluster, RedisServer, RedisSettings, Sentinels};
use tokio::task::block_in_place;

use crate::stage::{SECOND, is_held, ms, take, until};

/// A master and a replica that has caught up.
async fn pair() -> Option<(RedisServer, RedisServer)> {
    let master = RedisServer::start()?;
    let settings = RedisSettings { replica_of: Some(master.port()), ..RedisSettings::default() };
    let replica = RedisServer::with(settings)?;
    // A server that never had a replica counts nothing of what it wrote, and takes the first one for up to date at once: so
    // twice.
    for _ in 0..2 {
        until("the replica follows", async || {
            master.ask("INCR warm\r\nWAIT 1 100").ends_with(":1")
        })
        .await;
    }
    Some((master, replica))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_taken_is_on_the_replica() {
    let Some((master, replica)) = pair().await else { return };
    let locks = Locks::builder().replicas(1, SECOND);
    let locks = locks.connect(RedisOptions::new(master.url())).await.unwrap();
    for lock in [locks.mutex("x").unwrap(), locks.token("t").unwrap()] {
        let lease = take(&lock).await;
        assert!(replica.ask(&format!("EXISTS {}", lease.name())).ends_with(":1"));
        assert_eq!(lease.release().await.unwrap(), Released::Free);
    }
    let all = locks.all(&["x", "y"]).unwrap().lock().await.unwrap();
    assert!(replica.ask("EXISTS x y").ends_with(":2"));
    all.release().await.unwrap();
    // Many at once share what is waited for.
    let before = master.calls_of("wait");
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..50 {
        let lock = locks.mutex(&format!("n{number}")).unwrap();
        tasks.spawn(async move { lock.lock().await.unwrap().release().await.unwrap() });
    }
    while let Some(done) = tasks.join_next().await {
        assert_eq!(done.unwrap(), Released::Free);
    }
    let waits = master.calls_of("wait") - before;
    assert!((1..=50).contains(&waits), "{waits}");
    locks.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_too_few_replicas_have_is_given_back() {
    let Some((master, replica)) = pair().await else { return };
    let builder = || Locks::builder().replicas(1, ms(200)).ride_out(SECOND);
    let locks = builder().connect(RedisOptions::new(master.url())).await.unwrap();
    let careless = Locks::connect(&master.url()).await.unwrap();
    replica.pause();
    let refused = locks.mutex("x").unwrap().try_lock().await.unwrap_err();
    let Error::TooFewReplicas { name, wanted, acknowledged, .. } = &refused else {
        panic!("{refused}")
    };
    assert_eq!((name.as_str(), *wanted, *acknowledged), ("x", 1, 0));
    assert!(refused.hint().is_some());
    assert!(!is_held(&careless, "x").await, "it was given back");
    let waited = locks.mutex("x").unwrap().lock_within(10 * SECOND).await;
    assert!(matches!(waited, Err(Error::TooFewReplicas { .. })), "tried for a second: {waited:?}");
    let all = locks.all(&["x", "y"]).unwrap().try_lock().await;
    assert!(matches!(all, Err(Error::TooFewReplicas { .. })), "{all:?}");
    until("both are given back", async || {
        !is_held(&careless, "x").await && !is_held(&careless, "y").await
    })
    .await;
    // In contrast: a client that does not ask for it is none the wiser, and a failover now would forget its lock.
    let unsafe_one = take(&careless.mutex("x").unwrap()).await;
    replica.resume();
    unsafe_one.release().await.unwrap();
    let lock = locks.mutex("x").unwrap();
    until("the replica is there again", async || {
        lock.try_lock().await.is_ok_and(|tried| tried.acquired().is_some())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_cannot_be_asked_for_are_refused() {
    let memory = firstcome_lock::Memory::new();
    let refused = Locks::builder().replicas(1, ms(100)).memory(&memory).unwrap_err();
    assert!(matches!(refused, Error::Unfit { .. }) && refused.hint().is_some(), "{refused}");
    for (count, within) in [(0, ms(100)), (101, ms(100)), (1, ms(0)), (1, ms(1001))] {
        let options = RedisOptions::new("redis://127.0.0.1:1");
        let refused = Locks::builder().replicas(count, within).connect(options).await.unwrap_err();
        assert!(
            matches!(refused, Error::Unfit { .. } | Error::OutOfRange { .. }),
            "refused before anything is dialled: {refused}"
        );
    }
}

/// The twin of this, without replicas to wait for, is `a_failover_that_loses_the_lock_is_noticed`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_lock_is_taken_that_the_next_master_would_not_know() {
    let Some(mut sentinels) = Sentinels::start() else { return };
    let options = || RedisOptions::new(sentinels.url()).heartbeat(ms(500)).answer_within(ms(1000));
    let builder = Locks::builder().watchdog(15 * SECOND).ride_out(SECOND).replicas(1, SECOND);
    let locks = builder.connect(options()).await.unwrap();
    let looks = Locks::builder().connect(options()).await.unwrap();
    let kept = locks.mutex("kept").unwrap().lock_within(20 * SECOND).await.unwrap().acquired();
    let kept = kept.expect("the replica is there");
    sentinels.sever_replica();
    let refused = locks.mutex("x").unwrap().try_lock().await;
    assert!(matches!(refused, Err(Error::TooFewReplicas { .. })), "{refused:?}");
    sentinels.fail_over();
    until("it works again", async || looks.inspect("kept").await.is_ok()).await;
    assert_eq!(looks.inspect("kept").await.unwrap().unwrap().owner, kept.owner());
    assert!(kept.is_valid() && !is_held(&looks, "x").await);
}

/// Each server of a cluster has replicas of its own; who has a lock is asked for those, also after its slot was moved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_replicas_of_the_server_that_has_the_lock_are_asked() {
    let Some(cluster) = block_in_place(RedisCluster::start) else { return };
    let options = RedisOptions::new(cluster.url()).heartbeat(ms(500)).answer_within(ms(1000));
    let builder = Locks::builder().replicas(1, ms(200)).ride_out(SECOND);
    let locks = builder.connect(options).await.unwrap();
    let taken = async |name: &str| {
        locks.mutex(name).unwrap().try_lock().await.is_ok_and(|tried| tried.acquired().is_some())
    };
    let names = ["a", "b", "c", "d", "e", "f"];
    for name in names {
        until("its replica is there", async || taken(name).await).await;
    }
    let owner = cluster.owner("a");
    let elsewhere = names.into_iter().find(|name| cluster.owner(name) != owner).unwrap();
    let replica = cluster.server(owner + 3);
    replica.pause();
    let refused = locks.mutex("a").unwrap().try_lock().await.unwrap_err();
    assert!(matches!(refused, Error::TooFewReplicas { .. }), "{refused}");
    until("another server's replica has what is taken there", async || taken(elsewhere).await)
        .await;
    replica.resume();
    until("it is there again", async || taken("a").await).await;
    // The slot goes to another server, and its replica is the one that counts.
    let other = cluster.owner(elsewhere);
    block_in_place(|| cluster.move_slot("a", other, |_, _| {}));
    until("the other replica has it", async || taken("a").await).await;
    cluster.server(other + 3).pause();
    assert!(matches!(
        locks.mutex("a").unwrap().try_lock().await,
        Err(Error::TooFewReplicas { .. })
    ));
    cluster.server(other + 3).resume();
}
