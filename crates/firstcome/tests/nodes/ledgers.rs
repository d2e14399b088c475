//! Leaders that die or stand still while they write results into a ledger.

use crate::flood::Flood;
use crate::scene::{Scene, Setup};
use crate::server::PATIENCE;
use firstcome_testbed::Postgres;
use std::time::Duration;
use tokio::time::{Instant, sleep};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_result_is_in_the_ledger_once_however_many_leaders_fall() {
    let Some(postgres) = Postgres::start() else { return };
    let url = postgres.url();
    let settings = [
        ("LEDGER", &url[..]),
        ("LEADER_LEASE_MS", "500"),
        ("SETTLE_INTERVAL_MS", "20"),
        ("SNAPSHOT_EVERY", "1s"),
    ];
    let setup = Setup { settings: &settings, ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    let mut random = fastrand::Rng::with_seed(scene.seed);
    scene.nodes[0].talk().open("spring", 100_000).await;
    let flood = Flood::of(&scene, "spring", 400.0);
    for _ in 0..5 {
        flood.goes_on(30).await;
        let leader = scene.leader().await;
        if random.bool() {
            scene.nodes[leader].kill().await;
            scene.nodes[leader].start().await;
        } else {
            scene.nodes[leader].pause();
            sleep(Duration::from_millis(random.u64(400..1_000))).await;
            scene.nodes[leader].resume();
        }
    }
    flood.ends().await;
    let end = Instant::now() + PATIENCE;
    let last = loop {
        let said = scene.nodes[0].talk().get("/v1/nodes").await;
        if said["settled"] == said["last_result"] {
            break said["settled"].as_u64().unwrap();
        }
        assert!(Instant::now() < end, "it is not settled: {said}");
        sleep(Duration::from_millis(20)).await;
    };
    let agreed = scene.agrees("spring").await;
    assert_eq!(agreed.results.len() as u64, last, "one campaign's results are all there are");
    let counted = postgres.run(
        "SELECT count(*), count(DISTINCT number), min(number), max(number) FROM firstcome_main.results",
        &[],
    );
    assert_eq!(counted.replace(' ', ""), format!("{last}|{last}|1|{last}"));
}
