//! Locks in a Redis Cluster, each at the server that has the slot of its name.

use firstcome_lock::{Error, Locks, RedisOptions, Released, TryLock};
use firstcome_store::StoreError;
use firstcome_testbed::{Certificates, RedisCluster};
use tokio::task::block_in_place;

use crate::stage::{SECOND, is_held, ms, take, until};

/// Names whose slots are at each of the servers.
const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "{g}h", "user:{42}"];

async fn client(cluster: &RedisCluster) -> Locks {
    let options = RedisOptions::new(cluster.url()).heartbeat(ms(500)).answer_within(ms(1000));
    Locks::builder().watchdog(15 * SECOND).connect(options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_at_the_owners_of_their_slots_and_follow_them() {
    let Some(mut cluster) = block_in_place(RedisCluster::start) else { return };
    let (ann, bob) = (client(&cluster).await, client(&cluster).await);
    let owners: std::collections::BTreeSet<_> = NAMES.map(|name| cluster.owner(name)).into();
    assert_eq!(owners.len(), 3, "each server has some");
    exclude_and_wake(&ann, &bob).await;
    together_in_one_slot(&ann, &bob).await;

    // All of them are renewed while one slot moves, and while a waiter waits for it.
    let mut held = Vec::new();
    for name in NAMES {
        held.push(take(&ann.mutex(name).unwrap().renewed(2 * SECOND)).await);
    }
    let lock = bob.mutex("a").unwrap();
    let waiter = tokio::spawn(async move { lock.lock_within(60 * SECOND).await.unwrap() });
    block_in_place(|| {
        cluster.move_slot("a", (cluster.owner("a") + 1) % 3, |_, _| std::thread::sleep(ms(300)))
    });
    tokio::time::sleep(4 * SECOND).await;
    assert!(held.iter().all(|lease| lease.is_valid()), "renewed at whoever has them");
    assert_eq!(held.remove(0).release().await.unwrap(), Released::Free);
    let next = tokio::time::timeout(5 * SECOND, waiter).await.unwrap().unwrap();
    assert!(next.acquired().is_some_and(|lease| lease.is_valid()), "woken at the new server");
    for lease in held {
        assert_eq!(lease.release().await.unwrap(), Released::Free);
    }

    // The owner of one is killed: the replica that takes over has the lock, and the others notice nothing.
    let there = take(&ann.mutex("b").unwrap().renewed(15 * SECOND)).await;
    let owner = cluster.owner("b");
    let elsewhere = NAMES.into_iter().find(|name| cluster.owner(name) != owner).unwrap();
    let other = take(&ann.mutex(elsewhere).unwrap().renewed(2 * SECOND)).await;
    let lock = bob.mutex("b").unwrap();
    let waiter = tokio::spawn(async move { lock.lock_within(60 * SECOND).await.unwrap() });
    tokio::time::sleep(ms(200)).await;
    block_in_place(|| cluster.fail_over("b"));
    until("it works again", async || is_there(&ann, "b").await).await;
    assert!(other.is_valid() && there.is_valid());
    assert_eq!(there.release().await.unwrap(), Released::Free);
    let next = tokio::time::timeout(20 * SECOND, waiter).await.unwrap().unwrap();
    assert!(next.acquired().is_some_and(|lease| lease.is_valid()), "the waiter followed, too");
    assert_eq!(other.release().await.unwrap(), Released::Free);
}

/// Somebody waits for the end of a long lease while the slot goes to another server, and while its server is killed. Messages
/// stay with the servers that have the slot: who listened at the old one would hear nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_listens_in_a_shard_goes_where_the_slot_goes() {
    let Some(mut cluster) = block_in_place(RedisCluster::start) else { return };
    let (ann, bob) = (client(&cluster).await, client(&cluster).await);
    // The connections follow the slot of the first lock that was used at a server, and not that of the others there.
    let first =
        NAMES.into_iter().find(|name| *name != "a" && cluster.owner(name) == cluster.owner("a"));
    drop(take(&bob.mutex(first.expect("one that is beside it")).unwrap()).await);
    for fail_over in [false, true] {
        let held = take(&ann.mutex("a").unwrap().lease(120 * SECOND)).await;
        let lock = bob.mutex("a").unwrap();
        let waiter = tokio::spawn(async move { lock.lock_within(60 * SECOND).await.unwrap() });
        listeners(&cluster, 1).await;
        block_in_place(|| match fail_over {
            false => cluster.move_slot("a", (cluster.owner("a") + 1) % 3, |_, _| {}),
            true => cluster.fail_over("a"),
        });
        listeners(&cluster, 1).await;
        until("it works again", async || is_there(&ann, "a").await).await;
        assert_eq!(held.release().await.unwrap(), Released::Free);
        let next = tokio::time::timeout(5 * SECOND, waiter).await.unwrap().unwrap();
        next.acquired().expect("it is woken").release().await.unwrap();
        listeners(&cluster, 0).await;
    }
}

/// Waits until so many listen for releases of the lock `a` at the server that has it.
async fn listeners(cluster: &RedisCluster, count: u32) {
    let (asked, count) = ("PUBSUB SHARDNUMSUB redisson_lock__channel:{a}", format!(":{count}"));
    until("so many listen", async || {
        block_in_place(|| cluster.server(cluster.owner("a")).ask(asked)).ends_with(&count)
    })
    .await;
}

async fn is_there(locks: &Locks, name: &str) -> bool {
    locks.inspect(name).await.is_ok_and(|holder| holder.is_some())
}

async fn exclude_and_wake(ann: &Locks, bob: &Locks) {
    for name in NAMES {
        let lease = take(&ann.mutex(name).unwrap()).await;
        assert!(matches!(bob.mutex(name).unwrap().try_lock().await, Ok(TryLock::Held { .. })));
        let lock = bob.mutex(name).unwrap();
        let waiter = tokio::spawn(async move { lock.lock().await.unwrap() });
        tokio::time::sleep(ms(50)).await;
        let first = lease.fence();
        assert_eq!(lease.release().await.unwrap(), Released::Free);
        let next = tokio::time::timeout(5 * SECOND, waiter).await.unwrap().unwrap();
        assert!(next.fence() > first, "{name}");
        next.release().await.unwrap();
        assert!(!is_held(ann, name).await);
    }
}

async fn together_in_one_slot(ann: &Locks, bob: &Locks) {
    let both = ann.all(&["{g}1", "{g}2"]).unwrap().try_lock().await.unwrap().acquired().unwrap();
    assert!(is_held(bob, "{g}1").await && is_held(bob, "{g}2").await);
    drop(both);
    let refused = ann.all(&["a", "b"]).unwrap().try_lock().await.unwrap_err();
    assert!(matches!(refused, Error::Name { .. }) && refused.to_string().contains("Redis Cluster"));
}

/// The addresses that the servers announce to clients with TLS are those with TLS, and each shows its certificate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_server_is_reached_with_tls() {
    let certificates = Certificates::new();
    let Some(cluster) = block_in_place(|| RedisCluster::with_tls(&certificates)) else { return };
    let trusting = RedisOptions::new(cluster.url()).trust(certificates.authority());
    let ann = Locks::builder().connect(trusting.clone()).await.unwrap();
    let bob = Locks::builder().connect(trusting).await.unwrap();
    exclude_and_wake(&ann, &bob).await;
    let refused = Locks::connect(&cluster.url()).await.unwrap_err();
    assert!(matches!(refused, Error::Store(StoreError::Tls { .. })), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_cluster_must_be_like_is_said() {
    // It announces a port at which nobody listens.
    let closed = firstcome_testbed::free_port().to_string();
    let announce = ["--cluster-announce-port", &closed];
    let Some(cluster) = block_in_place(|| RedisCluster::lone(&announce)) else { return };
    let url = format!("redis+cluster://127.0.0.1:{}", cluster.port());
    let options = RedisOptions::new(&*url).connect_within(SECOND);
    let refused = Locks::builder().connect(options).await.unwrap_err();
    assert!(refused.to_string().contains(&closed), "{refused}");
    assert!(refused.to_string().contains("cluster-announce-ip"), "{refused}");

    // A user who may not ask which server has a slot.
    let Some(cluster) = block_in_place(|| RedisCluster::lone(&[])) else { return };
    let user = "ACL SETUSER ann on >pw ~* &* +@all -cluster|slots";
    assert_eq!(cluster.ask(user), "+OK");
    let url = format!("redis+cluster://ann:pw@127.0.0.1:{}", cluster.port());
    let refused = Locks::connect(&url).await.unwrap_err();
    assert!(refused.to_string().contains("cluster|slots"), "{refused}");

    // One who may not ask how messages are published, and one who may not publish them in shards.
    for (missing, named) in [("pubsub|shardnumsub", "pubsub|shardnumsub"), ("spublish", "SPUBLISH")]
    {
        let user = format!("ACL SETUSER bob reset on >pw ~* &* +@all -{missing}");
        assert_eq!(cluster.ask(&user), "+OK");
        let url = format!("redis+cluster://bob:pw@127.0.0.1:{}", cluster.port());
        let refused = Locks::connect(&url).await.unwrap_err();
        assert!(refused.to_string().contains(named), "{refused}");
        Locks::connect(&format!("{url}?pubsub=plain")).await.unwrap();
    }

    let Some(plain) = firstcome_testbed::RedisServer::start() else { return };
    let url = plain.url().replace("redis://", "redis+cluster://");
    let refused = Locks::connect(&url).await.unwrap_err();
    assert!(matches!(refused, Error::Store(StoreError::NoCluster { .. })), "{refused}");
    assert!(refused.hint().is_some_and(|hint| hint.contains("redis://")));
}
