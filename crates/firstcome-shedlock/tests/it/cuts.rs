//! Answers that are lost.

use firstcome_shedlock::{
    Effect, KeySpace, MySqlOptions, PostgresOptions, RedisOptions, ShedLock, Table, Unlocked,
};
use firstcome_testbed::{Postgres, Proxy, ProxyFault, RedisServer};

use crate::scene::{Scene, fresh, on, take, try_take, until_taken};
use crate::stage::{SECOND, ms};

/// A client whose way to the store can be cut.
async fn through(proxy: &Proxy, scene: &Scene) -> ShedLock {
    match scene {
        Scene::Redis(redis) => {
            let options = RedisOptions::new(redis.url_through(proxy.port())).answer_within(SECOND);
            let keys = KeySpace::default().environment("test");
            ShedLock::redis(options, keys).await.unwrap()
        }
        Scene::Postgres { server, .. } => {
            let options = PostgresOptions::new(server.url_through(proxy.port()));
            // One connection, so that what a test has warmed up is what it cuts.
            let options = options.answer_within(SECOND).connections(1);
            ShedLock::postgres(options, Table::default()).await.unwrap()
        }
        Scene::MariaDb { server, url, .. } => {
            let there =
                url.replace(&format!(":{}/", server.port()), &format!(":{}/", proxy.port()));
            let options = MySqlOptions::new(there).answer_within(SECOND).connections(1);
            ShedLock::mysql(options, Table::default()).await.unwrap()
        }
    }
}

fn port(scene: &Scene) -> u16 {
    match scene {
        Scene::Redis(redis) => redis.port(),
        Scene::Postgres { server, .. } => server.port(),
        Scene::MariaDb { server, .. } => server.port(),
    }
}

/// Sends each request once, so that the server knows script and statement: what is cut afterwards is an answer.
async fn warm_up(client: &ShedLock) {
    let lock = take(client, &fresh("warm")).await;
    let lock = lock.extend(3600 * SECOND, ms(0)).await.unwrap().expect("it is held");
    lock.unlock().await.unwrap();
}

async fn a_lost_answer_leaves_nothing_taken(scene: Scene) {
    let bob = scene.client().await;
    let proxy = Proxy::start(port(&scene)).await;
    let ann = through(&proxy, &scene).await;
    let x = fresh("cut");
    // A row that is there, and one that is not.
    for _ in 0..2 {
        warm_up(&ann).await;
        proxy.set(ProxyFault::CutAtReply);
        let lost = ann.lock(&x, 3600 * SECOND, 3600 * SECOND).await.unwrap_err();
        assert_eq!(lost.effect(), Effect::Unknown, "{lost}");
        // While it cannot be undone, it is nobody's and taken; unless what was cut was an answer on the way there.
        if let Some(lock) = try_take(&bob, &x).await {
            lock.unlock().await.unwrap();
        }
        proxy.set(ProxyFault::None);
        until_taken(&bob, &x).await.unlock().await.unwrap();
    }
    ann.close().await;
}

async fn an_unlock_and_an_extension_are_sent_again(scene: Scene) {
    let bob = scene.client().await;
    let proxy = Proxy::start(port(&scene)).await;
    let ann = through(&proxy, &scene).await;
    let x = fresh("cut");
    warm_up(&ann).await;
    let lock = take(&ann, &x).await;
    proxy.set(ProxyFault::CutAtReply);
    let unlocking = tokio::spawn(lock.unlock());
    until_taken(&bob, &x).await.unlock().await.unwrap();
    proxy.set(ProxyFault::None);
    // It had freed the lock; whether it says so depends on who has had it since.
    let said = unlocking.await.unwrap();
    assert!(matches!(said, Ok(Unlocked::AlreadyLost) | Err(_)), "{said:?}");

    let y = fresh("cut");
    warm_up(&ann).await;
    let lock = ann.lock(&y, 600 * SECOND, ms(0)).await.unwrap().expect("it is free");
    proxy.set(ProxyFault::CutAtReply);
    let extending = tokio::spawn(lock.extend(3600 * SECOND, ms(0)));
    crate::stage::until("it was carried out", async || scene.is_long(&y)).await;
    proxy.set(ProxyFault::None);
    let lock = extending.await.unwrap().unwrap().expect("it is ours");
    assert_eq!(lock.unlock().await.unwrap(), Unlocked::Yes);
}

macro_rules! on_all {
    ($($name:ident)+) => {
        mod redis { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(scene) = super::Scene::redis() { super::$name(scene).await }
            }
        )+ }
        mod postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(scene) = super::Scene::db_time() { super::$name(scene).await }
            }
        )+ }
        mod mariadb { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(scene) = super::Scene::mariadb() { super::$name(scene).await }
            }
        )+ }
    };
}

on_all! {
    a_lost_answer_leaves_nothing_taken
    an_unlock_and_an_extension_are_sent_again
}

/// The name of the host as the holder, which is what ShedLock writes, gives back what is another's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bare_host_name_is_no_holder() {
    let Some(server) = Postgres::shared() else { return };
    let name = fresh("bare");
    let ann = on(server, Table::default().name(&name)).await;
    let late = ann.lock("x", 2 * SECOND, ms(0)).await.unwrap().expect("it is free");
    let next = until_taken(&ann, "x").await;
    // In contrast: both of one host have one name, and the late one frees what the next one works under.
    let bare = format!("UPDATE {name} SET locked_by = 'this-host'");
    server.sql("ledger", &bare);
    let freed = format!(
        "UPDATE {name} SET lock_until = timezone('utc', now()) WHERE name = 'x' AND locked_by = 'this-host' RETURNING 1"
    );
    assert_eq!(server.sql("ledger", &freed), "1");
    take(&ann, "x").await.unlock().await.unwrap();
    drop((late, next));
}

/// What a Redis in another use has under the key is in the way, and stays as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_of_another_kind_is_held() {
    let Some(redis) = RedisServer::start() else { return };
    let ann = ShedLock::redis(RedisOptions::new(redis.url()), KeySpace::default()).await.unwrap();
    assert_eq!(redis.ask("HSET job-lock:default:x a 1"), ":1");
    assert!(try_take(&ann, "x").await.is_none());
    assert!(redis.ask("HGET job-lock:default:x a").ends_with('1'));
}
