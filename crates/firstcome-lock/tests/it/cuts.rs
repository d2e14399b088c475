//! Connections and servers that go away in the middle of things, each also with the mistake that the client must not make.

use std::time::Duration;

use firstcome_lock::{Builder, Effect, Lock, Locks, Loss, Mistake, RedisOptions, TryLock};
use firstcome_testbed::{Proxy, ProxyFault, RedisServer};

use crate::stage::{SECOND, client_of, is_held, ms, take, until};

const LISTENING: &str = "PUBSUB NUMSUB redisson_lock__channel:{x}";

fn making(mistake: Mistake) -> Builder {
    Locks::builder().inject(mistake)
}

async fn through(proxy: &Proxy, redis: &RedisServer, builder: Builder) -> Locks {
    let options = RedisOptions::new(redis.url_through(proxy.port()))
        .answer_within(ms(400))
        .connect_within(2 * SECOND)
        .heartbeat(ms(500));
    builder.connect(options).await.unwrap()
}

/// Returns whether one who waits for `x`, for so long, notices a release that was announced while its connections were cut.
async fn notices_a_release_during_a_cut(builder: Builder, within: Duration) -> Option<bool> {
    let redis = RedisServer::start()?;
    let proxy = Proxy::start(redis.port()).await;
    let (ann, bob) = (through(&proxy, &redis, builder).await, client_of(&redis).await);
    // Far longer than anybody waits here, so that its end cannot be what wakes the waiter.
    let lease = take(&bob.mutex("x").unwrap().lease(3600 * SECOND)).await;
    let lock = ann.mutex("x").unwrap();
    let tries = scripts_run(&redis) + 2;
    let waiter = tokio::spawn(async move { lock.lock_within(within).await });
    until("it listens", async || redis.ask(LISTENING).ends_with(":1")).await;
    // Once it knows that it listens, it tries again: from then on it waits.
    until("it waits", async || scripts_run(&redis) >= tries).await;
    proxy.set(ProxyFault::Refuse);
    until("it is cut", async || redis.ask(LISTENING).ends_with(":0")).await;
    lease.release().await.unwrap();
    proxy.set(ProxyFault::None);
    Some(waiter.await.unwrap().unwrap().acquired().is_some())
}

fn scripts_run(redis: &RedisServer) -> u64 {
    redis.calls_of("evalsha") + redis.calls_of("eval")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_during_a_cut_is_noticed() {
    let noticed = notices_a_release_during_a_cut(Locks::builder(), 60 * SECOND).await;
    let Some(noticed) = noticed else { return };
    assert!(noticed);
    let mistaken = making(Mistake::IgnoreCut);
    assert_eq!(notices_a_release_during_a_cut(mistaken, 5 * SECOND).await, Some(false));
}

/// The connection for messages is cut and cannot be had again: the waiter goes on by asking.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_cannot_listen_any_more_asks() {
    let Some(redis) = RedisServer::start() else { return };
    for (builder, notices) in [(Locks::builder(), true), (making(Mistake::IgnoreCut), false)] {
        assert_eq!(redis.ask("ACL SETUSER ann on >pw ~* &* +@all"), "+OK");
        let url = format!("redis://ann:pw@127.0.0.1:{}", redis.port());
        let options = RedisOptions::new(url).heartbeat(ms(500));
        let (ann, bob) = (builder.connect(options).await.unwrap(), client_of(&redis).await);
        // Far longer than anybody waits here, so that its end cannot be what wakes the waiter.
        let lease = take(&bob.mutex("x").unwrap().lease(3600 * SECOND)).await;
        let lock = ann.mutex("x").unwrap();
        let tries = scripts_run(&redis) + 2;
        let within = if notices { 60 * SECOND } else { 6 * SECOND };
        let waiter = tokio::spawn(async move { lock.lock_within(within).await });
        until("it listens", async || redis.ask(LISTENING).ends_with(":1")).await;
        // Once it knows that it listens, it tries again: from then on it waits.
        until("it waits", async || scripts_run(&redis) >= tries).await;
        assert_eq!(redis.ask("ACL SETUSER ann resetchannels"), "+OK");
        until("it is cut", async || redis.ask(LISTENING).ends_with(":0")).await;
        lease.release().await.unwrap();
        let waited = waiter.await.unwrap();
        assert_eq!(matches!(waited, Ok(TryLock::Acquired(_))), notices, "{waited:?}");
        // Giving it back is announced, which takes the permission.
        assert_eq!(redis.ask("ACL SETUSER ann &*"), "+OK");
        drop(waited);
        ann.close().await;
    }
}

/// A holder dies, and nobody says so: the waiter looks when the lease should have ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_lease_is_looked_for() {
    let Some(redis) = RedisServer::start() else { return };
    let bob = client_of(&redis).await;
    for (builder, noticed) in [(Locks::builder(), true), (making(Mistake::IgnoreLeaseEnd), false)] {
        let name = if noticed { "x" } else { "mistaken" };
        let ann = builder.connect(RedisOptions::new(redis.url())).await.unwrap();
        take(&bob.mutex(name).unwrap().lease(2 * SECOND)).await.leak();
        let waited = ann.mutex(name).unwrap().lock_within(8 * SECOND).await.unwrap();
        assert_eq!(waited.acquired().is_some(), noticed);
    }
}

/// What keeps answers from a holder for two renewals.
enum Silence {
    Network,
    Server,
}

/// Returns whether a holder that got no answer to two renewals in a row has its lease in the end, once there are answers
/// again before its trust is over.
async fn outlasts(silence: Silence, builder: Builder) -> Option<bool> {
    let redis = RedisServer::start()?;
    let proxy = Proxy::start(redis.port()).await;
    let ann = through(&proxy, &redis, builder.watchdog(12 * SECOND)).await;
    let lease = take(&ann.mutex("x").unwrap()).await;
    // The first renewal, after a third of the lease, is answered.
    let mut left = lease.remaining();
    until("it is renewed", || {
        let before = std::mem::replace(&mut left, lease.remaining());
        std::future::ready(left > before)
    })
    .await;
    match silence {
        Silence::Network => proxy.set(ProxyFault::CutAtReply),
        Silence::Server => redis.pause(),
    }
    // The next two are not; the one after them would come too late.
    until("little trust is left", async || lease.remaining() < 2 * SECOND).await;
    match silence {
        Silence::Network => proxy.set(ProxyFault::None),
        Silence::Server => redis.resume(),
    }
    let lost = tokio::time::timeout(3 * SECOND, lease.lost()).await;
    assert!(lost.is_err() || lost == Ok(Loss::RanOut), "{lost:?}");
    Some(lost.is_err())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_whose_answer_was_lost_is_asked_again() {
    let protected = outlasts(Silence::Network, making(Mistake::RenewEachThird));
    let mistaken = making(Mistake::RenewEachThird).inject(Mistake::RenewOnce);
    let mistaken = outlasts(Silence::Network, mistaken);
    let (Some(protected), Some(mistaken)) = tokio::join!(protected, mistaken) else { return };
    assert!(protected && !mistaken, "{protected} {mistaken}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stands_still_costs_no_lease_that_could_be_renewed() {
    let protected = outlasts(Silence::Server, making(Mistake::RenewEachThird));
    let mistaken = making(Mistake::RenewEachThird).inject(Mistake::RenewOnce);
    let mistaken = outlasts(Silence::Server, mistaken);
    let (Some(protected), Some(mistaken)) = tokio::join!(protected, mistaken) else { return };
    assert!(protected && !mistaken, "{protected} {mistaken}");
}

/// Returns whether something stays held of an acquire that a server got while it stood still, and whose sender has given
/// up.
async fn stays_after_a_pause(builder: Builder) -> Option<bool> {
    let redis = RedisServer::start()?;
    let options = RedisOptions::new(redis.url()).answer_within(SECOND).heartbeat(SECOND);
    let ann = builder.connect(options).await.unwrap();
    let lock = ann.mutex("x").unwrap();
    take(&lock).await.release().await.unwrap();
    let evaluated = redis.calls_of("evalsha");
    redis.pause();
    let failure = lock.try_lock().await.unwrap_err();
    assert_eq!(failure.effect(), Effect::Unknown);
    // Its time was counted from a little later than the sender's, and by another clock.
    tokio::time::sleep(ms(100)).await;
    redis.resume();
    until("it arrived", async || redis.calls_of("evalsha") > evaluated).await;
    ann.close().await;
    Some(is_held(&client_of(&redis).await, "x").await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_got_while_it_stood_still_leaves_nothing() {
    let Some(stays) = stays_after_a_pause(Locks::builder()).await else { return };
    assert!(!stays);
    // Being refused for lateness and being undone are each enough.
    assert_eq!(stays_after_a_pause(making(Mistake::LeaveLostGrants)).await, Some(false));
    assert_eq!(stays_after_a_pause(making(Mistake::AcceptLateAcquire)).await, Some(false));
    let mistaken = making(Mistake::LeaveLostGrants).inject(Mistake::AcceptLateAcquire);
    assert_eq!(stays_after_a_pause(mistaken).await, Some(true));
}

/// Acquires and releases a lot while connections are cut at random, and gives whether something of it stays held.
async fn stays_after_random_cuts(builder: Builder) -> Option<bool> {
    const NAMES: u32 = 40;
    let redis = RedisServer::start()?;
    let proxy = Proxy::start(redis.port()).await;
    let (ann, bob) = (through(&proxy, &redis, builder).await, client_of(&redis).await);
    let try_all = async {
        let mut lost = 0;
        // Until enough answers were lost for it to matter.
        while lost < 30 {
            let lock: Lock = ann.mutex(&format!("n{}", fastrand::u32(..NAMES))).unwrap();
            match lock.try_lock().await {
                Ok(tried) => drop(tried),
                Err(failure) => {
                    lost += u32::from(failure.effect() == Effect::Unknown);
                    // One cut is counted once.
                    until("it works again", async || ann.inspect("n0").await.is_ok()).await;
                }
            }
        }
    };
    let cut = async {
        loop {
            tokio::time::sleep(ms(fastrand::u64(5..40))).await;
            match fastrand::u32(..4) {
                0 => proxy.cut(),
                1 => proxy.set(ProxyFault::CutAtRequest),
                _ => proxy.set(ProxyFault::CutAtReply),
            }
            tokio::time::sleep(ms(fastrand::u64(1..15))).await;
            proxy.set(ProxyFault::None);
        }
    };
    tokio::select! {
        () = try_all => {}
        () = cut => {}
    }
    proxy.set(ProxyFault::None);
    ann.close().await;
    let mut held = 0;
    for number in 0..NAMES {
        held += u32::from(is_held(&bob, &format!("n{number}")).await);
    }
    Some(held > 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acquires_cut_at_random_leave_nothing_held() {
    let Some(stays) = stays_after_random_cuts(Locks::builder()).await else { return };
    assert!(!stays);
    assert_eq!(stays_after_random_cuts(making(Mistake::LeaveLostGrants)).await, Some(true));
}

/// A server that comes back empty: one whose lease is fixed is told, too, because it looks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_held_is_looked_for_at_a_new_server() {
    let Some(mut redis) = RedisServer::start() else { return };
    let options = RedisOptions::new(redis.url()).heartbeat(ms(200));
    let ann = Locks::builder().connect(options.clone()).await.unwrap();
    let careless = making(Mistake::IgnoreReconnect).connect(options).await.unwrap();
    let lease = take(&ann.mutex("x").unwrap().lease(600 * SECOND)).await;
    let mistaken = take(&careless.mutex("mistaken").unwrap().lease(600 * SECOND)).await;
    redis.restart();
    assert_eq!(lease.lost().await, Loss::Taken);
    until("the careless one is connected, too", async || careless.inspect("x").await.is_ok()).await;
    let bob = client_of(&redis).await;
    let thief = take(&bob.mutex("mistaken").unwrap()).await;
    assert!(mistaken.is_valid() && thief.is_valid(), "two believe in it");
}
