//! What a network and a store can do to a lock, each with a mistaken that shows what the protection is for.

use std::time::Duration;

use firstcome_lock::{
    Builder, Effect, Error, FencedWrite, Locks, Loss, Mistake, RedisOptions, Released,
};
use firstcome_testbed::{Proxy, ProxyFault, RedisServer};

use crate::stage::{Inside, SECOND, client_of, is_held, ms, quiet, take, until, until_free};

/// A server, a proxy before it, a client of each.
struct Scene {
    redis: RedisServer,
    proxy: Proxy,
    /// Reaches the server by itself.
    bob: Locks,
}

impl Scene {
    async fn new() -> Option<Self> {
        let redis = RedisServer::start()?;
        let proxy = Proxy::start(redis.port()).await;
        let bob = client_of(&redis).await;
        Some(Self { redis, proxy, bob })
    }

    /// Makes a client that reaches the server through the proxy, and gives up on an answer soon.
    async fn ann(&self, builder: Builder) -> Locks {
        let options = RedisOptions::new(self.redis.url_through(self.proxy.port()))
            .answer_within(2 * SECOND)
            .connect_within(2 * SECOND);
        builder.connect(options).await.unwrap()
    }
}

fn making(mistake: Mistake) -> Builder {
    Locks::builder().inject(mistake)
}

/// The answer to an acquire is lost with the connection: the grant is undone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_whose_answer_was_lost_is_undone() {
    let Some(scene) = Scene::new().await else { return };
    for (builder, undone) in [(Locks::builder(), true), (making(Mistake::LeaveLostGrants), false)] {
        let ann = scene.ann(builder).await;
        let lock = ann.mutex(if undone { "x" } else { "mistaken" }).unwrap();
        take(&lock).await.release().await.unwrap();
        quiet(&scene.proxy).await;
        scene.proxy.set(ProxyFault::CutAtReply);
        let failure = lock.try_lock().await.unwrap_err();
        assert_eq!(failure.effect(), Effect::Unknown, "{failure}");
        assert!(is_held(&scene.bob, lock.name()).await, "it had been granted");
        scene.proxy.set(ProxyFault::None);
        if undone {
            until_free(&scene.bob, lock.name()).await;
        } else {
            ann.close().await;
            assert!(is_held(&scene.bob, lock.name()).await);
        }
    }
}

/// The request is lost with the connection before it reaches the server: nothing happened, and nobody says it did not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_was_lost_leaves_nothing() {
    let Some(scene) = Scene::new().await else { return };
    let ann = scene.ann(Locks::builder()).await;
    let lock = ann.mutex("x").unwrap();
    take(&lock).await.release().await.unwrap();
    quiet(&scene.proxy).await;
    scene.proxy.set(ProxyFault::CutAtRequest);
    let failure = lock.try_lock().await.unwrap_err();
    assert_eq!(failure.effect(), Effect::Unknown);
    scene.proxy.set(ProxyFault::None);
    take(&scene.bob.mutex("x").unwrap()).await.release().await.unwrap();
    // A wait rides it out.
    scene.proxy.set(ProxyFault::CutAtRequest);
    let waiter = tokio::spawn(async move { lock.lock().await.unwrap() });
    tokio::time::sleep(ms(50)).await;
    scene.proxy.set(ProxyFault::None);
    assert!(waiter.await.unwrap().is_valid());
}

/// An acquire that was sent blindly once more counts twice, and one release does not free the lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_is_sent_once() {
    let Some(scene) = Scene::new().await else { return };
    for (builder, once) in [(Locks::builder(), true), (making(Mistake::ResendAcquire), false)] {
        let ann = scene.ann(builder).await;
        // An owner that may hold it several times: for the others a second hold is never given.
        let lock = ann.mutex(if once { "x" } else { "mistaken" }).unwrap().owner(&ann.owner());
        take(&lock).await.release().await.unwrap();
        quiet(&scene.proxy).await;
        scene.proxy.set(ProxyFault::CutAtReply);
        let before = scene.proxy.connections();
        let trying = {
            let lock = lock.clone();
            tokio::spawn(async move { lock.try_lock().await })
        };
        until("it was granted", async || is_held(&scene.bob, lock.name()).await).await;
        // New connections are cut, too, until now.
        until("it dials again", async || scene.proxy.connections() > before).await;
        scene.proxy.set(ProxyFault::None);
        let tried = trying.await.unwrap();
        if once {
            assert!(tried.is_err());
            until_free(&scene.bob, "x").await;
        } else {
            let lease = tried.unwrap().acquired().unwrap();
            assert_eq!(scene.bob.inspect("mistaken").await.unwrap().unwrap().holds, 2);
            lease.release().await.unwrap();
            assert!(is_held(&scene.bob, "mistaken").await);
        }
    }
}

/// An acquire that was stuck in the network arrives after its sender gave up and undid it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_that_arrives_late_is_refused() {
    let Some(scene) = Scene::new().await else { return };
    for (builder, refused) in
        [(Locks::builder(), true), (making(Mistake::AcceptLateAcquire), false)]
    {
        // The heartbeat finds the connection dead first, so that the undoing goes over another one.
        let options = RedisOptions::new(scene.redis.url_through(scene.proxy.port()))
            .answer_within(2 * SECOND)
            .heartbeat(ms(500));
        let ann = builder.connect(options).await.unwrap();
        let lock = ann.mutex(if refused { "x" } else { "mistaken" }).unwrap();
        take(&lock).await.release().await.unwrap();
        scene.proxy.stall_existing();
        let failure = lock.try_lock().await.unwrap_err();
        assert_eq!(failure.effect(), Effect::Unknown);
        // It is working again, over a new connection, and the undoing has been done there.
        until_free(&ann, "other").await;
        tokio::time::sleep(3 * SECOND).await;
        let evaluated = scene.redis.calls_of("evalsha");
        scene.proxy.let_go();
        until("the late one arrived", async || scene.redis.calls_of("evalsha") > evaluated).await;
        assert_eq!(is_held(&scene.bob, lock.name()).await, !refused);
    }
}

/// The same, but it arrives while its sender is still entitled to it: the undoing waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_that_arrives_a_little_late_is_undone() {
    let Some(scene) = Scene::new().await else { return };
    let options = RedisOptions::new(scene.redis.url_through(scene.proxy.port()))
        .answer_within(3 * SECOND)
        .heartbeat(ms(500));
    let ann = Locks::builder().connect(options).await.unwrap();
    let lock = ann.mutex("x").unwrap();
    take(&lock).await.release().await.unwrap();
    scene.proxy.stall_existing();
    // The heartbeat finds the connection dead long before the answer is given up.
    assert_eq!(lock.try_lock().await.unwrap_err().effect(), Effect::Unknown);
    scene.proxy.let_go();
    ann.close().await;
    assert!(!is_held(&scene.bob, "x").await);
}

/// A connection that swallows everything is left for a new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_stopped_answering_is_left() {
    let Some(scene) = Scene::new().await else { return };
    let ann = scene.ann(Locks::builder()).await;
    let lease = take(&ann.mutex("held").unwrap()).await;
    scene.proxy.stall_existing();
    let lock = ann.mutex("x").unwrap();
    until("it works again", async || {
        lock.try_lock().await.is_ok_and(|tried| tried.acquired().is_some())
    })
    .await;
    assert!(lease.is_valid(), "what it held is still there");
    assert_eq!(lease.release().await.unwrap(), Released::Free);
}

/// Connections are cut while somebody waits: the release is not missed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_survives_a_cut() {
    let Some(scene) = Scene::new().await else { return };
    let ann = scene.ann(Locks::builder()).await;
    let lease = take(&scene.bob.mutex("x").unwrap()).await;
    let lock = ann.mutex("x").unwrap();
    let waiter = tokio::spawn(async move { lock.lock().await.unwrap() });
    until("it listens", async || {
        scene.redis.ask("PUBSUB NUMSUB redisson_lock__channel:{x}").ends_with(":1")
    })
    .await;
    scene.proxy.set(ProxyFault::Refuse);
    lease.release().await.unwrap();
    scene.proxy.set(ProxyFault::None);
    let lease = tokio::time::timeout(10 * SECOND, waiter).await.expect("not the whole lease");
    assert!(lease.unwrap().is_valid());
}

/// The lock is given back after the waiter's try and before it is subscribed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_before_the_subscription_is_not_missed() {
    let Some(scene) = Scene::new().await else { return };
    let mistaken = making(Mistake::SubscribeWithoutRetry);
    for (builder, noticed) in [(Locks::builder(), true), (mistaken, false)] {
        let ann = scene.ann(builder).await;
        let name = if noticed { "x" } else { "mistaken" };
        let lock = ann.mutex(name).unwrap();
        take(&lock).await.release().await.unwrap();
        let lease = take(&scene.bob.mutex(name).unwrap()).await;
        // Its subscription is a new connection: several pieces away, each of them late.
        scene.proxy.set(ProxyFault::Delay(ms(120)));
        let tries = scene.redis.calls_of("evalsha");
        let waiter = tokio::spawn(async move { lock.lock_within(6 * SECOND).await.unwrap() });
        until("it has tried", async || scene.redis.calls_of("evalsha") > tries).await;
        lease.release().await.unwrap();
        scene.proxy.set(ProxyFault::None);
        assert_eq!(waiter.await.unwrap().acquired().is_some(), noticed);
    }
}

/// No renewal is answered: the holder is told before anybody else can have the lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loss_is_signalled_before_the_store_gives_the_lock_away() {
    let Some(scene) = Scene::new().await else { return };
    let watchdog = 6 * SECOND;
    let ann = scene.ann(Locks::builder().watchdog(watchdog)).await;
    let lease = take(&ann.mutex("x").unwrap()).await;
    scene.proxy.set(ProxyFault::StallReplies);
    assert_eq!(lease.lost().await, Loss::RanOut);
    assert!(!lease.is_valid());
    assert!(is_held(&scene.bob, "x").await, "the store still has it for the holder");
    scene.proxy.set(ProxyFault::None);

    // In contrast: without trust ending, it believes in a lock that another has.
    let ann = scene.ann(making(Mistake::TrustForEver).watchdog(watchdog)).await;
    let lease = take(&ann.mutex("mistaken").unwrap()).await;
    scene.proxy.set(ProxyFault::StallRequests);
    let next = scene.bob.mutex("mistaken").unwrap().lock_within(20 * SECOND).await.unwrap();
    assert!(next.acquired().is_some() && lease.is_valid());
    scene.proxy.set(ProxyFault::None);
}

/// One renewal is lost, the next one in time is not: nothing is signalled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_is_asked_again_while_there_is_trust() {
    let Some(scene) = Scene::new().await else { return };
    let ann = scene.ann(Locks::builder().watchdog(9 * SECOND)).await;
    let lease = take(&ann.mutex("x").unwrap()).await;
    scene.proxy.set(ProxyFault::CutAtReply);
    let lost = tokio::time::timeout(3 * SECOND, lease.lost()).await;
    assert!(lost.is_err());
    scene.proxy.set(ProxyFault::None);
    let lost = tokio::time::timeout(6 * SECOND, lease.lost()).await;
    assert!(lost.is_err() && lease.is_valid());
}

/// The answer to a release is lost: it is sent again, and recognised.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_whose_answer_was_lost_is_recognised() {
    let Some(scene) = Scene::new().await else { return };
    for (builder, recognised) in
        [(Locks::builder(), true), (making(Mistake::NewReleaseIdOnResend), false)]
    {
        let ann = scene.ann(builder).await;
        take(&ann.mutex("x").unwrap()).await.release().await.unwrap();
        let lease = take(&ann.mutex("x").unwrap()).await;
        quiet(&scene.proxy).await;
        scene.proxy.set(ProxyFault::CutAtReply);
        let before = scene.proxy.connections();
        let releasing = tokio::spawn(lease.release());
        until("it is free", async || !is_held(&scene.bob, "x").await).await;
        // The answer is on its way until then.
        until("it dials again", async || scene.proxy.connections() > before).await;
        scene.proxy.set(ProxyFault::None);
        let released = releasing.await.unwrap();
        let right = matches!(released, Ok(Released::Free) | Err(Error::Pending { .. }));
        assert_eq!(right, recognised, "{released:?}");
    }
}

/// Whatever the lease: while nobody knows what became of a release its latch stays, and it ends by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn latches_last_long_enough_and_not_for_ever() {
    let Some(scene) = Scene::new().await else { return };
    // In the first the copy of the lock would end too soon by itself, in the last too late.
    for (name, lease) in [("a", 5 * SECOND), ("b", 30 * SECOND), ("c", 604_800 * SECOND)] {
        let ann = scene.ann(Locks::builder()).await;
        let lease = ann.mutex(name).unwrap().lease(lease).lock().await.unwrap();
        quiet(&scene.proxy).await;
        scene.proxy.set(ProxyFault::CutAtReply);
        let releasing = tokio::spawn(lease.release());
        until("it is free", async || !is_held(&scene.bob, name).await).await;
        let latches = scene.redis.ask(&format!("KEYS redisson_unlock_latch:{{{name}}}:*"));
        let latch = latches.lines().last().unwrap();
        let left = scene.redis.ask(&format!("PTTL {latch}"));
        let left: u64 = left.trim_start_matches(':').parse().expect("it has an end");
        assert!((19_000..=86_400_000).contains(&left), "{name}: {left} ms");
        scene.proxy.set(ProxyFault::None);
        drop(releasing.await.unwrap());
        ann.close().await;
    }
}

/// A hold that was lost, to nobody or to somebody else, is told so and leaves nothing behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn releasing_what_is_somebody_elses_changes_nothing() {
    let Some(scene) = Scene::new().await else { return };
    let ann = scene.ann(Locks::builder()).await;
    for taken in [false, true] {
        let old = take(&ann.mutex("x").unwrap()).await;
        assert!(scene.bob.force_release("x").await.unwrap());
        let new = if taken { Some(take(&scene.bob.mutex("x").unwrap()).await) } else { None };
        assert_eq!(old.release().await.unwrap(), Released::AlreadyLost);
        assert_eq!(is_held(&scene.bob, "x").await, taken);
        let gone = async || scene.redis.ask("KEYS redisson_unlock_latch*").starts_with("*0");
        until("no latch is left", gone).await;
        if let Some(new) = new {
            assert_eq!(new.release().await.unwrap(), Released::Free);
        }
    }
}

/// The answer to a hand-over within the process is lost: it is recognised, and nobody meets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cuts_at_random_keep_owners_apart_and_leave_nothing_held() {
    let Some(scene) = Scene::new().await else { return };
    let ann = scene.ann(Locks::builder()).await;
    let inside = Inside::default();
    let tasks: Vec<_> = (0..8)
        .map(|i| {
            let locks = if i < 6 { ann.clone() } else { scene.bob.clone() };
            let inside = inside.clone();
            tokio::spawn(async move {
                let lock = locks.mutex("x").unwrap();
                for _ in 0..30 {
                    let Ok(lease) = lock.lock().await else { continue };
                    if lease.is_valid() {
                        inside.visit().await;
                    }
                    drop(lease.release().await);
                }
            })
        })
        .collect();
    let cutting = async {
        loop {
            tokio::time::sleep(ms(fastrand::u64(5..40))).await;
            match fastrand::u32(..3) {
                0 => scene.proxy.cut(),
                1 => scene.proxy.set(ProxyFault::CutAtReply),
                _ => scene.proxy.set(ProxyFault::Delay(ms(3))),
            }
            tokio::time::sleep(ms(fastrand::u64(1..15))).await;
            scene.proxy.set(ProxyFault::None);
        }
    };
    let working = async {
        for task in tasks {
            task.await.unwrap();
        }
    };
    tokio::select! {
        () = working => {}
        () = cutting => {}
    }
    scene.proxy.set(ProxyFault::None);
    assert_eq!(inside.most(), 1);
    until_free(&scene.bob, "x").await;
}

/// The server dies and comes back with nothing: the holder is told, and fences still grow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_forgot_everything_still_mints_higher_fences() {
    let Some(mut redis) = RedisServer::start() else { return };
    let options = RedisOptions::new(redis.url()).heartbeat(ms(200));
    let ann = Locks::builder().connect(options).await.unwrap();
    let lease = take(&ann.mutex("x").unwrap()).await;
    let fixed = take(&ann.mutex("fixed").unwrap().lease(60 * SECOND)).await;
    assert!(redis.ask("INCR counter").ends_with(":1") && redis.ask("INCR counter").ends_with(":2"));
    redis.restart();
    // Also one that is never renewed is looked at when the connection is a new one.
    assert_eq!(lease.lost().await, Loss::Taken);
    assert_eq!(fixed.lost().await, Loss::Taken);
    let next = ann.mutex("x").unwrap().lock().await.unwrap();
    assert!(next.fence() > lease.fence());
    // In contrast: a counter begins anew.
    assert!(redis.ask("INCR counter").ends_with(":1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_gone_fails_a_try_in_time_and_a_wait_by_its_deadline() {
    let Some(mut redis) = RedisServer::start() else { return };
    let options = RedisOptions::new(redis.url()).answer_within(SECOND);
    let patient = client_of(&redis).await;
    let ann = Locks::builder().ride_out(ms(500)).connect(options).await.unwrap();
    let lock = ann.mutex("x").unwrap();
    take(&lock).await.release().await.unwrap();
    redis.kill();
    until("it is noticed", async || {
        lock.try_lock().await.is_err_and(|failure| failure.effect() == Effect::None)
    })
    .await;
    assert!(matches!(lock.lock().await, Err(Error::Store(_))), "after riding it out");
    let waited = tokio::time::timeout(10 * SECOND, lock.lock_within(ms(100))).await;
    let unknown = matches!(waited.unwrap(), Err(Error::Store(_) | Error::NoAnswerYet { .. }));
    assert!(unknown, "nobody says who has it");
    // A wait that is patient enough sees it come back.
    redis.restart();
    let lease = patient.mutex("x").unwrap().lock_within(20 * SECOND).await.unwrap().acquired();
    assert!(lease.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flushed_script_cache_is_filled_again() {
    let Some(redis) = RedisServer::start() else { return };
    let ann = client_of(&redis).await;
    let guard = ann.fenced_value("value").unwrap();
    for _ in 0..3 {
        assert_eq!(redis.ask("SCRIPT FLUSH"), "+OK");
        let lease = take(&ann.mutex("x").unwrap()).await;
        assert_eq!(redis.ask("SCRIPT FLUSH"), "+OK");
        assert_eq!(guard.write(&lease, b"1").await.unwrap(), FencedWrite::Written);
        lease.extend(SECOND).await.unwrap();
        assert_eq!(redis.ask("SCRIPT FLUSH"), "+OK");
        assert_eq!(lease.release().await.unwrap(), Released::Free);
    }
}

/// A server that stands still answers when it goes on; what was promised meanwhile is taken back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_server_leaves_nothing_behind() {
    let Some(redis) = RedisServer::start() else { return };
    let options = RedisOptions::new(redis.url()).answer_within(SECOND).heartbeat(SECOND);
    let ann = Locks::builder().connect(options).await.unwrap();
    let lock = ann.mutex("x").unwrap();
    take(&lock).await.release().await.unwrap();
    redis.pause();
    let failure = lock.try_lock().await.unwrap_err();
    assert_eq!(failure.effect(), Effect::Unknown);
    redis.resume();
    let bob = client_of(&redis).await;
    until_free(&bob, "x").await;
}

/// How far in the future a fence may have been pushed does not matter: the next one is higher still.
#[tokio::test]
async fn a_fence_ahead_of_the_clock_still_grows() {
    let Some(redis) = RedisServer::start() else { return };
    let ann = client_of(&redis).await;
    let ahead = take(&ann.mutex("x").unwrap()).await.fence().get() + 1_000_000_000_000;
    until_free(&ann, "x").await;
    assert_eq!(redis.ask(&format!("SET fc:fence:{{x}} {ahead}")), "+OK");
    assert_eq!(take(&ann.mutex("x").unwrap()).await.fence().get(), ahead + 1);
    let life = redis.ask("PTTL fc:fence:{x}");
    let life: u64 = life.trim_start_matches(':').parse().unwrap();
    assert!(Duration::from_millis(life) > Duration::from_secs(86_000));
}
