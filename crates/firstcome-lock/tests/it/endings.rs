//! What a release says, and how a client ends, when answers get lost.

use firstcome_lock::{Error, Locks, Loss, RedisOptions, Released};
use firstcome_store::StoreError;
use firstcome_testbed::{Proxy, ProxyFault, RedisServer};

use crate::stage::{SECOND, client_of, is_held, ms, quiet, take, until};

const LISTENING: &str = "PUBSUB NUMSUB redisson_lock__channel:{x}";

struct Scene {
    redis: RedisServer,
    proxy: Proxy,
    bob: Locks,
}

impl Scene {
    async fn new() -> Option<Self> {
        let redis = RedisServer::start()?;
        let proxy = Proxy::start(redis.port()).await;
        let bob = client_of(&redis).await;
        Some(Self { redis, proxy, bob })
    }

    fn options(&self) -> RedisOptions {
        RedisOptions::new(self.redis.url_through(self.proxy.port())).connect_within(2 * SECOND)
    }
}

/// Trust has run out, and the store has the lock for its owner all the same: nobody else has had it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_between_the_end_of_trust_and_that_of_the_lease_frees_it() {
    let Some(scene) = Scene::new().await else { return };
    let ann = Locks::builder().watchdog(6 * SECOND).connect(scene.options()).await.unwrap();
    for lock in [ann.mutex("x").unwrap(), ann.token("t").unwrap()] {
        // The store renews it, and the answers do not come in time.
        let lease = take(&lock).await;
        scene.proxy.set(ProxyFault::StallReplies);
        assert_eq!(lease.lost().await, Loss::RanOut);
        scene.proxy.set(ProxyFault::None);
        until("there are answers again", async || ann.inspect(lock.name()).await.is_ok()).await;
        assert!(is_held(&scene.bob, lock.name()).await);
        assert_eq!(lease.release().await.unwrap(), Released::Free);
        assert!(!is_held(&scene.bob, lock.name()).await);
    }
    // Where the lease has ended at the store, somebody else may have had it.
    let lease = take(&ann.mutex("x").unwrap().lease(2 * SECOND)).await;
    until("it has ended", async || !is_held(&scene.bob, "x").await).await;
    assert_eq!(lease.release().await.unwrap(), Released::AlreadyLost);
}

/// A release is recognised for as long as it is sent again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_latch_outlives_the_repetitions_of_its_release() {
    let Some(scene) = Scene::new().await else { return };
    for (answer_within, lease) in [(100 * SECOND, 10 * SECOND), (SECOND, 3600 * SECOND)] {
        let ann = Locks::builder().connect(scene.options().answer_within(answer_within));
        let ann = ann.await.unwrap();
        // The server knows the script from here on: asking for its text would be cut, too.
        take(&ann.mutex("x").unwrap()).await.release().await.unwrap();
        let lease = take(&ann.mutex("x").unwrap().lease(lease)).await;
        quiet(&scene.proxy).await;
        let repeated_for = lease.remaining() + answer_within;
        scene.proxy.set(ProxyFault::CutAtReply);
        let releasing = tokio::spawn(lease.release());
        until("it is free", async || !is_held(&scene.bob, "x").await).await;
        // That of the one before may be there still.
        let latches = scene.redis.ask("KEYS redisson_unlock_latch*");
        let lives = latches.lines().filter(|line| line.starts_with("redisson")).map(|latch| {
            let life = scene.redis.ask(&format!("PTTL {latch}"));
            ms(life.trim_start_matches(':').parse().unwrap_or(0))
        });
        let longest = lives.max().unwrap();
        assert!(longest > repeated_for, "{longest:?} for {repeated_for:?}");
        scene.proxy.set(ProxyFault::None);
        let released = releasing.await.unwrap();
        assert!(matches!(released, Ok(Released::Free) | Err(Error::Pending { .. })));
        ann.close().await;
    }
}

/// A token lock has no latch: after an answer that was lost, nobody can tell whether it had been lost before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_release_without_an_answer_does_not_claim_a_loss() {
    let Some(scene) = Scene::new().await else { return };
    let ann = Locks::builder().connect(scene.options()).await.unwrap();
    take(&ann.token("t").unwrap()).await.release().await.unwrap();
    let lease = take(&ann.token("t").unwrap()).await;
    quiet(&scene.proxy).await;
    scene.proxy.set(ProxyFault::CutAtReply);
    let before = scene.proxy.connections();
    let releasing = tokio::spawn(lease.release());
    until("it is free", async || !is_held(&scene.bob, "t").await).await;
    // The answer is on its way until then.
    until("it dials again", async || scene.proxy.connections() > before).await;
    scene.proxy.set(ProxyFault::None);
    let released = releasing.await.unwrap();
    let unknown =
        matches!(released, Err(Error::Store(StoreError::Unknown { .. }) | Error::Pending { .. }));
    assert!(unknown, "{released:?}");
}

/// Passing it on gets no answer, several times: whatever became of it, nobody claims that it had been lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_over_without_answers_does_not_claim_a_loss() {
    let Some(scene) = Scene::new().await else { return };
    let options = scene.options().answer_within(5 * SECOND);
    let ann = Locks::builder().connect(options).await.unwrap();
    let first = take(&ann.mutex("x").unwrap()).await;
    let lock = ann.mutex("x").unwrap();
    let waiter = tokio::spawn(async move { lock.lock().await.unwrap().release().await.unwrap() });
    until("it is in line", async || scene.redis.ask(LISTENING).ends_with(":1")).await;
    first.release().await.unwrap();
    waiter.await.unwrap();
    // One who comes next for a lease that ends before the repetition is answered, and one for a long one.
    for next in [ms(50), 30 * SECOND] {
        until("the one before has left", async || scene.redis.ask(LISTENING).ends_with(":0")).await;
        let lease = take(&ann.mutex("x").unwrap()).await;
        let waiter = {
            let lock = ann.mutex("x").unwrap().lease(next);
            tokio::spawn(async move { lock.lock().await })
        };
        until("it is in line", async || scene.redis.ask(LISTENING).ends_with(":1")).await;
        quiet(&scene.proxy).await;
        let owner = lease.owner().to_owned();
        scene.proxy.set(ProxyFault::CutAtReply);
        let releasing = tokio::spawn(lease.release());
        until("it was passed", async || {
            let holder = scene.bob.inspect("x").await.unwrap();
            holder.is_none_or(|holder| holder.owner != owner)
        })
        .await;
        tokio::time::sleep(ms(100)).await;
        scene.proxy.set(ProxyFault::None);
        let released = releasing.await.unwrap();
        assert!(!matches!(released, Ok(Released::AlreadyLost)), "{released:?}");
        drop(waiter.await.unwrap());
        until("nobody has it", async || !is_held(&scene.bob, "x").await).await;
    }
}

/// A store that refuses to release is no loss: the lock stays taken, and that is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_is_refused_says_so() {
    let Some(redis) = RedisServer::start() else { return };
    assert_eq!(redis.ask("ACL SETUSER ann on >pw ~* &* +@all"), "+OK");
    let ann = Locks::connect(&format!("redis://ann:pw@127.0.0.1:{}", redis.port())).await.unwrap();
    let lease = take(&ann.mutex("x").unwrap()).await;
    assert_eq!(redis.ask("ACL SETUSER ann resetkeys ~other"), "+OK");
    let refused = lease.release().await.unwrap_err();
    assert!(matches!(refused, Error::Store(StoreError::Denied { .. })), "{refused:?}");
    assert!(refused.hint().is_some() && is_held(&client_of(&redis).await, "x").await);
}

/// One name of many that must not be renewed any more does not take the others with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_that_is_refused_for_one_is_granted_to_the_others() {
    let Some(redis) = RedisServer::start() else { return };
    assert_eq!(redis.ask("ACL SETUSER ann on >pw ~* &* +@all"), "+OK");
    let url = format!("redis://ann:pw@127.0.0.1:{}", redis.port());
    let ann = Locks::builder().watchdog(4 * SECOND).connect(RedisOptions::new(url)).await.unwrap();
    let mut leases = Vec::new();
    for number in 0..250 {
        leases.push(take(&ann.mutex(&format!("n{number}")).unwrap()).await);
    }
    let denied = take(&ann.mutex("denied").unwrap()).await;
    assert_eq!(redis.ask("ACL SETUSER ann resetkeys ~n* ~*{n*"), "+OK");
    assert_eq!(denied.lost().await, Loss::RanOut);
    tokio::time::sleep(4 * SECOND).await;
    assert!(leases.iter().all(firstcome_lock::Lease::is_valid));
}

/// Closing waits for an acquire and a release that are under way, and nothing of them stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_waits_for_what_is_under_way() {
    let Some(scene) = Scene::new().await else { return };
    for _ in 0..3 {
        let ann = Locks::builder().connect(scene.options()).await.unwrap();
        let held = take(&ann.mutex("held").unwrap()).await;
        take(&ann.mutex("x").unwrap()).await.release().await.unwrap();
        let requests = scene.proxy.requests();
        scene.proxy.set(ProxyFault::Delay(ms(300)));
        let lock = ann.mutex("x").unwrap();
        let acquiring = tokio::spawn(async move { lock.try_lock().await });
        let releasing = tokio::spawn(held.release());
        tokio::task::yield_now().await;
        ann.close().await;
        assert!(!is_held(&scene.bob, "x").await && !is_held(&scene.bob, "held").await);
        let acquired = acquiring.await.unwrap();
        assert!(matches!(acquired, Err(Error::Closed)), "{acquired:?}");
        drop(releasing.await.unwrap());
        scene.proxy.set(ProxyFault::None);
        assert!(scene.proxy.requests() > requests);
    }
}

/// A store that does not answer keeps nobody from ending, however long the leases are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_does_not_wait_for_a_store_that_is_gone() {
    let Some(mut redis) = RedisServer::start() else { return };
    let options = RedisOptions::new(redis.url()).answer_within(SECOND).connect_within(SECOND);
    let ann = Locks::builder().connect(options).await.unwrap();
    let day = 86_400 * SECOND;
    let (one, two) = (ann.mutex("x").unwrap().lease(day), ann.mutex("y").unwrap().lease(day));
    let (released, dropped) = (take(&one).await, take(&two).await);
    let _kept = take(&ann.mutex("z").unwrap()).await;
    redis.pause();
    let acquired = ann.mutex("a").unwrap().lease(day).try_lock().await;
    assert!(matches!(acquired, Err(Error::Store(_))));
    redis.kill();
    assert!(matches!(released.release().await, Err(Error::Pending { .. } | Error::Store(_))));
    drop(dropped);
    let (first, second) = (ann.clone(), ann.clone());
    let both = async { tokio::join!(first.close(), second.close()) };
    tokio::time::timeout(10 * SECOND, both).await.expect("both end");
}

/// Clones that close together end as soon as everything is finished: none of their requests to end is overlooked.
///
/// On one thread all of them ask before the background task looks.
#[tokio::test]
async fn clones_that_close_together_end_at_once() {
    let Some(scene) = Scene::new().await else { return };
    for (clones, held) in [(1, false), (2, false), (3, false), (2, true)] {
        let options = scene.options().answer_within(60 * SECOND);
        let ann = Locks::builder().connect(options).await.unwrap();
        let lease = if held { Some(take(&ann.mutex("x").unwrap()).await) } else { None };
        let closing = futures_util::future::join_all((0..clones).map(|_| ann.close()));
        let ended = tokio::time::timeout(20 * SECOND, closing).await;
        assert!(ended.is_ok(), "{clones} clones wait, and nothing is left to wait for");
        assert!(!is_held(&scene.bob, "x").await);
        drop(lease);
    }
}

/// An owner whose acquire got no answer cannot take the lock anew before that is undone, and is told so in time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_whose_acquire_is_being_undone_is_told_so() {
    let Some(scene) = Scene::new().await else { return };
    let options = scene.options().answer_within(SECOND);
    let ann = Locks::builder().connect(options).await.unwrap();
    let lock = ann.mutex("x").unwrap().owner(&ann.owner());
    take(&lock).await.release().await.unwrap();
    quiet(&scene.proxy).await;
    scene.proxy.set(ProxyFault::CutAtReply);
    assert!(matches!(lock.try_lock().await, Err(Error::Store(StoreError::Unknown { .. }))));
    let pending = tokio::time::timeout(10 * SECOND, lock.try_lock()).await.unwrap().unwrap_err();
    let pending_or_away = matches!(pending, Error::Pending { .. } | Error::Store(_));
    assert!(pending_or_away && pending.hint().is_some(), "{pending:?}");
    scene.proxy.set(ProxyFault::None);
    until("it is undone", async || {
        lock.try_lock().await.is_ok_and(|tried| tried.acquired().is_some())
    })
    .await;
}
