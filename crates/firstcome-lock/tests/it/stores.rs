//! Servers that change their place, or speak TLS.

use firstcome_lock::{Error, Locks, Loss, Mistake, RedisOptions, Released};
use firstcome_store::StoreError;
use firstcome_testbed::{Certificates, RedisServer, RedisSettings, Sentinels};

use crate::stage::{SECOND, is_held, ms, take, until};

fn options(sentinels: &Sentinels) -> RedisOptions {
    RedisOptions::new(sentinels.url()).heartbeat(ms(500)).answer_within(ms(1000))
}

async fn client(sentinels: &Sentinels) -> Locks {
    Locks::builder().watchdog(15 * SECOND).connect(options(sentinels)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_that_keeps_the_lock_keeps_the_lease() {
    let Some(mut sentinels) = Sentinels::start() else { return };
    let (ann, bob) = (client(&sentinels).await, client(&sentinels).await);
    let lease = take(&ann.mutex("x").unwrap()).await;
    let lock = bob.mutex("x").unwrap();
    let waiter = tokio::spawn(async move { lock.lock_within(60 * SECOND).await.unwrap() });
    until("the replica has it", async || sentinels.servers()[1].ask("EXISTS x").ends_with(":1"))
        .await;
    sentinels.fail_over();
    // The new master answers, and knows the lock.
    until("it works again", async || is_held_anywhere(&ann).await).await;
    assert!(lease.is_valid());
    assert_eq!(lease.release().await.unwrap(), Released::Free);
    let next = tokio::time::timeout(20 * SECOND, waiter).await.unwrap().unwrap().acquired();
    assert!(next.expect("the waiter followed, too").is_valid());
}

async fn is_held_anywhere(locks: &Locks) -> bool {
    locks.inspect("x").await.is_ok_and(|holder| holder.is_some())
}

/// A failover to a replica that never had the lock: two may hold it, and the old one is told when it reconnects.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_that_loses_the_lock_is_noticed() {
    let Some(mut sentinels) = Sentinels::start() else { return };
    let ann = client(&sentinels).await;
    let careless = Locks::builder().inject(Mistake::IgnoreReconnect);
    let careless = careless.connect(options(&sentinels)).await.unwrap();
    take(&ann.mutex("warm").unwrap()).await.release().await.unwrap();
    sentinels.sever_replica();
    let renewed = take(&ann.mutex("x").unwrap()).await;
    let fixed = take(&ann.mutex("y").unwrap().lease(600 * SECOND)).await;
    let mistaken = take(&careless.mutex("mistaken").unwrap().lease(600 * SECOND)).await;
    // New connections have to log in since the replica was severed.
    let counted = sentinels.servers()[0].ask("AUTH x\r\nINCR counter\r\nINCR counter");
    assert!(counted.ends_with(":2"), "{counted}");
    sentinels.fail_over();
    assert_eq!(renewed.lost().await, Loss::Taken);
    assert_eq!(fixed.lost().await, Loss::Taken);
    let next = ann.mutex("x").unwrap().lock().await.unwrap();
    assert!(next.fence() > renewed.fence(), "the fence grew all the same");

    // In contrast: one that does not look when it reconnects believes in a lock that another has, and a fence that is
    // only counted begins anew.
    until("it works again", async || careless.inspect("x").await.is_ok()).await;
    let thief = take(&ann.mutex("mistaken").unwrap()).await;
    assert!(mistaken.is_valid() && thief.is_valid());
    assert!(thief.fence() > mistaken.fence());
    assert!(sentinels.servers()[1].ask("INCR counter").ends_with(":1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_with_an_authority_of_ones_own() {
    let settings = RedisSettings { tls: Some(Certificates::new()), ..RedisSettings::default() };
    let Some(redis) = RedisServer::with(settings) else { return };
    let authority = redis.authority().unwrap().to_owned();
    let trusting = RedisOptions::new(redis.url()).trust(authority);
    let (ann, bob) = (
        Locks::builder().connect(trusting.clone()).await.unwrap(),
        Locks::builder().connect(trusting).await.unwrap(),
    );
    let lease = take(&ann.mutex("x").unwrap()).await;
    let lock = bob.mutex("x").unwrap();
    let waiter = tokio::spawn(async move { lock.lock().await.unwrap() });
    tokio::task::yield_now().await;
    lease.release().await.unwrap();
    let next = tokio::time::timeout(5 * SECOND, waiter).await.unwrap().unwrap();
    assert!(is_held(&ann, "x").await);
    drop(next);

    let refused = Locks::connect(&redis.url()).await.unwrap_err();
    assert!(matches!(refused, Error::Store(StoreError::Tls { .. })), "{refused}");
    assert!(refused.hint().is_some());
    let plain = format!("redis://127.0.0.1:{}", redis.port());
    let options = RedisOptions::new(plain).connect_within(SECOND);
    assert!(Locks::builder().connect(options).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_and_a_user_of_ones_own() {
    let Some(redis) = RedisServer::start() else { return };
    assert_eq!(redis.ask("ACL SETUSER ann on >p%40ss ~* &* +@all"), "+OK");
    let url = format!("redis://ann:p%2540ss@127.0.0.1:{}/3", redis.port());
    let ann = Locks::connect(&url).await.unwrap();
    let lease = take(&ann.mutex("x").unwrap()).await;
    assert!(redis.ask("EXISTS x").ends_with(":0"), "not in database 0");
    assert_eq!(lease.release().await.unwrap(), Released::Free);
}
