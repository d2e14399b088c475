//! Who leads after the leader was told to stop, was killed, or stood still.

use crate::flood::Flood;
use crate::scene::{Scene, Setup};
use crate::server::PATIENCE;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const LEASE: Duration = Duration::from_secs(5);

/// Waits until another server than `before` says that another leads; gives who, and its term.
async fn successor(scene: &Scene, before: usize) -> (usize, u64) {
    let end = Instant::now() + PATIENCE;
    let others = || scene.nodes.iter().enumerate().filter(|(number, _)| *number != before);
    loop {
        for (_, node) in others() {
            let said = node.talk().get("/v1/nodes").await;
            if let Some(leader) = scene.leader_in(&said).filter(|leader| *leader != before) {
                return (leader, said["leader"]["term"].as_u64().unwrap());
            }
        }
        assert!(Instant::now() < end, "nobody follows");
        sleep(Duration::from_millis(2)).await;
    }
}

async fn term(scene: &Scene, of: usize) -> u64 {
    let end = Instant::now() + PATIENCE;
    loop {
        let said = scene.nodes[of].talk().get("/v1/nodes").await;
        if let Some(term) = said["leader"]["term"].as_u64() {
            return term;
        }
        assert!(Instant::now() < end, "nobody leads: {said}");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_leads_after_the_other_whether_told_to_stop_killed_or_paused() {
    one_after_the_other(Setup::default()).await;
}

pub(crate) async fn one_after_the_other(setup: Setup<'_>) {
    let settings = [("LEADER_LEASE_MS", "5000"), ("SNAPSHOT_EVERY", "1s")];
    let setup = Setup { settings: &settings, ..setup };
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let flood = Flood::of(&scene, "spring", 200.0);
    let mut last = 0;
    for how in ["told to stop", "killed", "paused"] {
        let first = scene.leader().await;
        let before = term(&scene, first).await;
        assert!(before >= last, "terms do not go back: {before} after {last}");
        let asked = Instant::now();
        match how {
            "told to stop" => assert!(scene.nodes[first].ends().await.success()),
            "killed" => scene.nodes[first].kill().await,
            _ => scene.nodes[first].pause(),
        }
        let gone = asked.elapsed();
        let (next, term) = successor(&scene, first).await;
        let took = asked.elapsed();
        println!("{how}: ended after {gone:.0?}, another leads after {took:.0?} (lease {LEASE:?})");
        assert!(term > before, "term {term} after {before}");
        last = term;
        if how == "paused" {
            scene.nodes[first].resume();
        } else {
            scene.nodes[first].start().await;
        }
        scene.nodes[first].ready().await;
        // It learns that it leads no more, and does not lead again by itself.
        let end = Instant::now() + PATIENCE;
        while scene.leader_in(&scene.nodes[first].talk().get("/v1/nodes").await) != Some(next) {
            assert!(Instant::now() < end, "the first still believes that it leads");
            sleep(Duration::from_millis(10)).await;
        }
    }
    flood.goes_on(20).await;
    flood.ends().await;
    scene.agrees("spring").await;
}
