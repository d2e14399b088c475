//! The stories of servers that share a store, told on a PostgreSQL and on a MariaDB: killed, paused, cut off, failed over.

use crate::flood::Flood;
use crate::scene::{Primary, Scene, Setup};
use crate::{kills, leaders, links};
use std::time::Duration;
use tokio::task::block_in_place;
use tokio::time::sleep;

/// The stories that each database is told.
macro_rules! stories {
    ($database:ident, $setup:expr) => {
        mod $database {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn nothing_acknowledged_is_lost_however_often_servers_are_killed_and_paused() {
                kills::servers_killed_and_paused($setup).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn all_servers_are_restarted_in_turn_under_load_and_no_request_is_lost() {
                kills::servers_restarted_in_turn($setup).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn all_servers_killed_at_once_lose_nothing_that_the_store_has() {
                kills::all_servers_killed($setup).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn no_bad_connection_to_the_store_breaks_a_promise() {
                links::bad_connections($setup).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn one_leads_after_the_other_whether_told_to_stop_killed_or_paused() {
                leaders::one_after_the_other($setup).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_database_that_is_killed_and_paused_loses_nothing() {
                database_killed_and_paused($setup).await;
            }
        }
    };
}

stories!(postgres, Setup::on_postgres());
#[cfg(feature = "mysql")]
stories!(mariadb, Setup::on_mariadb());

async fn database_killed_and_paused(setup: Setup<'_>) {
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 3_000).await;
    let flood = Flood::of(&scene, "spring", 400.0);
    for round in 0..4 {
        flood.goes_on(60).await;
        if round % 2 == 0 {
            block_in_place(|| scene.primary.restart());
        } else {
            block_in_place(|| scene.primary.pause());
            sleep(Duration::from_millis(1_500)).await;
            block_in_place(|| scene.primary.resume());
        }
    }
    flood.goes_on(60).await;
    flood.ends().await;
    assert_eq!(scene.agrees("spring").await.epoch(), 0, "it lost nothing, so nothing forked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_promoted_standby_lacks_is_put_back_and_nothing_is_lost() {
    let setup = Setup { replica: true, ..Setup::on_postgres() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 3_000).await;
    let flood = Flood::of(&scene, "spring", 400.0);
    flood.goes_on(100).await;
    scene.stall_replica().await;
    flood.goes_on(150).await;
    block_in_place(|| scene.fail_over());
    flood.goes_on(100).await;
    flood.ends().await;
    let agreed = scene.agrees("spring").await;
    assert_eq!(agreed.epoch(), 0, "all servers were there");
    assert!(put_back(&scene).await > 0, "the standby lacked nothing: the story is about nothing");
}

#[cfg(feature = "mysql")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_mariadb_lost_is_put_back_and_nothing_is_lost() {
    let Some(mut scene) = Scene::set(Setup::on_mariadb()).await else { return };
    scene.nodes[0].talk().open("spring", 3_000).await;
    let flood = Flood::of(&scene, "spring", 400.0);
    flood.goes_on(100).await;
    let Primary::MariaDb(mariadb, _) = &mut scene.primary else { unreachable!() };
    block_in_place(|| mariadb.keep_copy());
    flood.goes_on(150).await;
    let Primary::MariaDb(mariadb, _) = &mut scene.primary else { unreachable!() };
    block_in_place(|| mariadb.go_back_to_copy());
    flood.goes_on(100).await;
    flood.ends().await;
    let agreed = scene.agrees("spring").await;
    assert_eq!(agreed.epoch(), 0, "all servers were there");
    assert!(put_back(&scene).await > 0, "the copy lacked nothing: the story is about nothing");
}

/// How many entries the servers put back.
async fn put_back(scene: &Scene) -> u64 {
    let mut back = 0;
    for node in &scene.nodes {
        back += node.talk().count("firstcome_put_back_total").await;
    }
    back
}
