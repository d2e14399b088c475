//! The stories of servers that share a store, told on a PostgreSQL, on a MariaDB and on NATS: killed, paused, cut off, failed over.

use crate::flood::Flood;
use crate::primary::Primary;
use crate::scene::{Scene, Setup};
use crate::server::{PATIENCE, Server};
use crate::{failovers, kills, leaders, links, stores};
use firstcome_testbed::Nats;
use std::time::Duration;
use tokio::task::block_in_place;
use tokio::time::Instant;
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
            async fn a_store_that_comes_back_empty_waits_for_the_operators_word_and_loses_nothing()
            {
                stores::comes_back_empty($setup).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn without_the_operators_word_an_emptied_store_stays_empty() {
                stores::stays_empty($setup).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_store_that_was_emptied_on_purpose_is_forgotten_and_begun_anew() {
                stores::emptied_on_purpose($setup).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn servers_that_may_put_an_emptied_store_back_by_themselves_and_nothing_is_lost()
            {
                stores::puts_itself_back($setup).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_space_that_was_begun_in_an_emptied_store_is_replaced_by_the_one_before() {
                stores::replaced($setup).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_database_that_is_killed_and_paused_loses_nothing() {
                database_killed_and_paused($setup).await;
            }
        }
    };
}

stories!(postgres, Setup::on_postgres());
stories!(mariadb, Setup::on_mariadb());
stories!(nats, Setup::on_nats());

async fn database_killed_and_paused(setup: Setup<'_>) {
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 100_000).await;
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
    told_again(async || a_standby_lacked().await).await;
}

async fn a_standby_lacked() -> bool {
    let setup = Setup { replica: true, ..Setup::on_postgres() };
    let Some(mut scene) = Scene::set(setup).await else { return true };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let flood = Flood::of(&scene, "spring", 400.0);
    flood.goes_on(100).await;
    scene.stall_replica().await;
    flood.goes_on(150).await;
    block_in_place(|| scene.fail_over());
    flood.goes_on(100).await;
    was_put_back(&mut scene, flood).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_mariadb_lost_is_put_back_and_nothing_is_lost() {
    told_again(async || a_mariadb_lost().await).await;
}

async fn a_mariadb_lost() -> bool {
    let Some(mut scene) = Scene::set(Setup::on_mariadb()).await else { return true };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let flood = Flood::of(&scene, "spring", 400.0);
    flood.goes_on(100).await;
    let Primary::MariaDb(mariadb, _) = &mut scene.primary else { unreachable!() };
    block_in_place(|| mariadb.keep_copy());
    flood.goes_on(150).await;
    let Primary::MariaDb(mariadb, _) = &mut scene.primary else { unreachable!() };
    block_in_place(|| mariadb.go_back_to_copy());
    flood.goes_on(100).await;
    was_put_back(&mut scene, flood).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lagged_makes_a_fork_of_a_standby() {
    failovers::lagged(Setup { replica: true, ..Setup::on_postgres() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lagged_makes_a_fork_of_a_mariadb() {
    failovers::lagged(Setup::on_mariadb()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lagged_makes_a_fork_of_a_nats_server() {
    failovers::lagged(Setup::on_nats()).await;
}

/// One of the two streams is deleted while servers run. They write the log again by themselves; without the other one the space is
/// gone, which is for the operator to mend.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_nats_that_is_deleted_comes_back_and_loses_nothing() {
    let Some(mut scene) = Scene::set(Setup::on_nats()).await else { return };
    scene.nodes[0].talk().open("spring", 10).await;
    assert_eq!(scene.nodes[1].talk().wins("spring", "ann").await, 1);
    // A server that has not heard of it yet would go on without it, and ann's claim would come back behind: a fork.
    scene.agrees("spring").await;
    scene.primary.delete("fc_log_main").await;
    assert_eq!(scene.nodes[2].talk().wins("spring", "bob").await, 2);
    assert_eq!(scene.agrees("spring").await.epoch(), 0, "all servers were there");
    scene.primary.delete("fc_journal_main").await;
    let said = stores::the_word(&scene).await;
    assert_eq!(said["reseed"], "accepted", "{said}");
    scene.all_ready().await;
    assert_eq!(scene.nodes[2].talk().wins("spring", "cid").await, 3);
    let agreed = scene.agrees("spring").await;
    assert_eq!(["ann", "bob", "cid"].map(|who| agreed.rank(who)), [Some(1), Some(2), Some(3)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_nats_server_lost_is_put_back_and_nothing_is_lost() {
    told_again(async || a_nats_server_lost().await).await;
}

async fn a_nats_server_lost() -> bool {
    let Some(mut scene) = Scene::set(Setup::on_nats()).await else { return true };
    scene.nodes[0].talk().open("spring", 30_000).await;
    let flood = Flood::of(&scene, "spring", 400.0);
    flood.goes_on(100).await;
    let Primary::Nats(nats) = &mut scene.primary else { unreachable!() };
    let copy = block_in_place(|| {
        nats.kill();
        let copy = nats.copy_of_data();
        nats.restart();
        copy
    });
    flood.goes_on(150).await;
    let Primary::Nats(nats) = &mut scene.primary else { unreachable!() };
    block_in_place(|| {
        nats.kill();
        nats.replace_data(&copy);
        nats.restart();
    });
    flood.goes_on(100).await;
    was_put_back(&mut scene, flood).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fsync_in_nats_is_promised_only_where_it_is_proven() {
    let (Some(plain), Some(syncing)) = (Nats::start(), Nats::syncing()) else {
        return;
    };
    let fsync = ("DURABILITY", "fsync");
    for (nats, monitor, durability, starts, words) in [
        (&plain, None, None, true, "quorum-memory: "),
        (&plain, Some(plain.monitor()), None, true, "does not sync each write"),
        (&plain, Some(plain.monitor()), Some(fsync), false, "does not sync each write"),
        (&syncing, None, Some(fsync), false, "no monitoring address is named"),
        (
            &syncing,
            Some(plain.monitor()),
            Some(fsync),
            false,
            "no monitoring address of the server",
        ),
        (&syncing, Some("http://127.0.0.1:1".to_owned()), Some(fsync), false, "127.0.0.1:1: "),
        (&syncing, Some(syncing.monitor()), None, true, "fsync: "),
        (&syncing, None, None, true, "quorum-memory: "),
    ] {
        let monitor = monitor.as_deref().map(|monitor| ("NATS_MONITOR", monitor));
        let settings: Vec<_> = monitor.into_iter().chain(durability).collect();
        let url = |port| format!("nats://127.0.0.1:{port}");
        let mut server = Server::at(nats.port(), url, &settings).await;
        let said = if starts {
            server.start().await;
            server.ready().await;
            // What it says passes a thread of its own.
            let begun = Instant::now();
            while !server.errors().contains(words) && begun.elapsed() < PATIENCE {
                sleep(Duration::from_millis(20)).await;
            }
            server.kill().await;
            server.errors()
        } else {
            server.cannot_start().await.1
        };
        assert!(said.contains(words), "{settings:?}: {words}: {said}");
    }
}

/// Has the servers that lead the streams of the journal give that up.
async fn step_down(url: &str) {
    use firstcome_store::nats::{NatsConnection, NatsOptions};
    let nats = NatsConnection::connect(NatsOptions::new(url)).await.unwrap();
    for stream in ["fc_log_main", "fc_journal_main"] {
        let step_down = format!("STREAM.LEADER.STEPDOWN.{stream}");
        // A cluster that has lost a server a moment ago may have nobody who answers.
        let begun = Instant::now();
        while let Err(failure) = nats.ask(&step_down, &serde_json::Value::Null).await {
            assert!(begun.elapsed() < PATIENCE, "{failure}");
        }
    }
    nats.close().await;
}

/// The leaders of the streams step down, each server of the cluster is killed in turn, and then all at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nats_servers_that_step_down_and_are_killed_in_turn_and_together_lose_nothing() {
    let Some(mut scene) = Scene::set(Setup::on_nats_cluster()).await else { return };
    scene.nodes[0].talk().open("spring", 30_000).await;
    let flood = Flood::of(&scene, "spring", 200.0);
    for number in 0..3 {
        flood.goes_on(40).await;
        let Primary::NatsCluster(cluster) = &mut scene.primary else { unreachable!() };
        step_down(&cluster.url()).await;
        flood.goes_on(40).await;
        let Primary::NatsCluster(cluster) = &mut scene.primary else { unreachable!() };
        block_in_place(|| cluster.servers[number].kill());
        flood.goes_on(40).await;
        let Primary::NatsCluster(cluster) = &mut scene.primary else { unreachable!() };
        block_in_place(|| cluster.servers[number].restart());
    }
    flood.goes_on(40).await;
    block_in_place(|| scene.primary.restart());
    flood.goes_on(40).await;
    flood.ends().await;
    assert_eq!(scene.agrees("spring").await.epoch(), 0, "it lost nothing, so nothing forked");
}

/// The whole cluster comes back with folders of a while ago: servers that run write again what they have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_three_nats_servers_lost_together_is_put_back_and_nothing_is_lost() {
    told_again(async || three_nats_servers_lost_together().await).await;
}

async fn three_nats_servers_lost_together() -> bool {
    let Some(mut scene) = Scene::set(Setup::on_nats_cluster()).await else { return true };
    scene.nodes[0].talk().open("spring", 30_000).await;
    let flood = Flood::of(&scene, "spring", 200.0);
    flood.goes_on(60).await;
    let Primary::NatsCluster(cluster) = &mut scene.primary else { unreachable!() };
    let copies = block_in_place(|| {
        cluster.servers.iter_mut().for_each(Nats::kill);
        let copies: Vec<_> = cluster.servers.iter().map(Nats::copy_of_data).collect();
        cluster.restart();
        copies
    });
    flood.goes_on(100).await;
    let Primary::NatsCluster(cluster) = &mut scene.primary else { unreachable!() };
    block_in_place(|| {
        cluster.servers.iter_mut().for_each(Nats::kill);
        cluster.servers.iter().zip(&copies).for_each(|(server, copy)| server.replace_data(copy));
        cluster.restart();
    });
    flood.goes_on(60).await;
    was_put_back(&mut scene, flood).await
}

/// Each server of the cluster in turn loses the last third of its messages, as a file that was cut off has it: the other two
/// bring it back, or servers that run do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_servers_whose_messages_were_cut_off_in_turn_lose_nothing() {
    let Some(mut scene) = Scene::set(Setup::on_nats_cluster()).await else { return };
    scene.nodes[0].talk().open("spring", 30_000).await;
    let flood = Flood::of(&scene, "spring", 200.0);
    for number in 0..3 {
        flood.goes_on(60).await;
        let Primary::NatsCluster(cluster) = &mut scene.primary else { unreachable!() };
        let server = &mut cluster.servers[number];
        let cut = block_in_place(|| {
            server.kill();
            let streams = ["fc_log_main", "fc_journal_main"];
            let cut = streams.map(|stream| server.cut_messages(stream, 0.33));
            server.restart();
            cut
        });
        assert!(cut[0] > 0, "nothing was cut off the log: the story is about nothing");
    }
    flood.goes_on(60).await;
    flood.ends().await;
    assert_eq!(scene.agrees("spring").await.epoch(), 0, "all servers were there");
}

/// Each server of the cluster is parted from the other two in turn. Servers that are connected to it find another one or wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_servers_that_are_parted_in_turn_lose_nothing() {
    let Some(mut scene) = Scene::set(Setup::on_nats_with_links()).await else { return };
    scene.nodes[0].talk().open("spring", 30_000).await;
    let flood = Flood::of(&scene, "spring", 200.0);
    for number in 0..3 {
        flood.goes_on(60).await;
        let Primary::NatsCluster(cluster) = &scene.primary else { unreachable!() };
        cluster.part(number);
        sleep(Duration::from_secs(6)).await;
        cluster.join(number);
    }
    flood.goes_on(60).await;
    flood.ends().await;
    assert_eq!(scene.agrees("spring").await.epoch(), 0, "it lost nothing, so nothing forked");
}

/// Ends the story of a store that lost entries; says whether all servers were there in time. One that is connected again more
/// than half a second after the others meets a fork, in which ranks may change: other stories are about that.
pub(crate) async fn was_put_back(scene: &mut Scene, flood: Flood) -> bool {
    let report = flood.ends_anyhow().await;
    if scene.agrees("spring").await.epoch() > 0 {
        return false;
    }
    assert!(report.kept(), "promises were broken: {:#?}", report.violations.kept());
    assert!(put_back(scene).await > 0, "the copies lacked nothing: the story is about nothing");
    true
}

/// Tells a story of a store that lost entries again where servers came back too late in it.
pub(crate) async fn told_again(story: impl AsyncFn() -> bool) {
    for _ in 0..3 {
        if story().await {
            return;
        }
    }
    panic!("servers came back too late in each story");
}

/// How many entries the servers put back.
async fn put_back(scene: &Scene) -> u64 {
    let mut back = 0;
    for node in &scene.nodes {
        back += node.talk().count("firstcome_put_back_total").await;
    }
    back
}
