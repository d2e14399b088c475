//! A database whose address leads to another server from one moment to the next, which was behind.

use firstcome_lock::{Loss, Released};
use firstcome_testbed::{MariaDb, Postgres, Proxy};

use crate::stage::{SECOND, Stage, take, until};

/// One who renews is told at the next renewal; one with a fixed lease is not, and the fence tells the two apart. Nobody
/// looks at what is held when a connection is new, as is done with Redis: those of a pool come and go.
async fn what_the_new_server_never_knew_is_lost(stage: Stage, proxy: Proxy, next: u16) {
    let (ann, bob) = (
        stage.client_with(firstcome_lock::Locks::builder().watchdog(6 * SECOND)).await,
        stage.client().await,
    );
    let renewed = take(&ann.mutex("x").unwrap()).await;
    let permit = take(&ann.write("x").unwrap()).await;
    let fixed = take(&ann.mutex("y").unwrap().lease(600 * SECOND)).await;
    proxy.lead_to(next);
    // The tables are made by a client that is new, as they would be there in a copy.
    stage.client().await.close().await;
    until("the new server answers", async || bob.inspect("x").await.is_ok()).await;
    let thief = take(&bob.mutex("y").unwrap()).await;
    assert!(fixed.is_valid() && thief.is_valid(), "two of them, until it is used up");
    assert!(thief.fence() > fixed.fence());
    for lost in [renewed, permit] {
        let loss = tokio::time::timeout(10 * SECOND, lost.lost()).await.expect("it is told");
        assert_eq!(loss, Loss::Taken);
        assert_eq!(lost.release().await.unwrap(), Released::AlreadyLost);
    }
    assert_eq!(fixed.release().await.unwrap(), Released::AlreadyLost);
    assert!(thief.is_valid());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres() {
    let (Some(old), Some(new)) = (Postgres::start(), Postgres::start()) else { return };
    let proxy = Proxy::start(old.port()).await;
    let stage = Stage::Database(old.url_through(proxy.port()));
    what_the_new_server_never_knew_is_lost(stage, proxy, new.port()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_mariadb() {
    let (Some(old), Some(new)) = (MariaDb::start(), MariaDb::start()) else { return };
    let url = old.new_database();
    new.sql(&format!("CREATE DATABASE {}", url.rsplit('/').next().unwrap()));
    let proxy = Proxy::start(old.port()).await;
    let port = |port: u16| format!("127.0.0.1:{port}/");
    let stage = Stage::Database(url.replace(&port(old.port()), &port(proxy.port())));
    what_the_new_server_never_knew_is_lost(stage, proxy, new.port()).await;
}
