//! Connections between servers and their store that are cut, stalled and slow.

use crate::flood::Flood;
use crate::scene::{Scene, Setup};
use firstcome_testbed::ProxyFault;
use std::time::Duration;
use tokio::time::sleep;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_bad_connection_to_the_store_breaks_a_promise() {
    bad_connections(Setup::default()).await;
}

pub(crate) async fn bad_connections(setup: Setup<'_>) {
    let settings = [("LEADER_LEASE_MS", "500"), ("SNAPSHOT_EVERY", "1s")];
    let setup = Setup { settings: &settings, ..setup };
    let Some(mut scene) = Scene::set(setup).await else { return };
    let mut random = fastrand::Rng::with_seed(scene.seed);
    scene.nodes[0].talk().open("spring", 1_500).await;
    let flood = Flood::of(&scene, "spring", 500.0);
    flood.goes_on(50).await;
    for _ in 0..16 {
        let link = &scene.nodes[random.usize(..3)].store;
        let lasts = Duration::from_millis(random.u64(20..700));
        match random.u32(..7) {
            0 => link.cut(),
            1 => link.set(ProxyFault::Refuse),
            2 => link.set(ProxyFault::StallReplies),
            3 => link.set(ProxyFault::StallRequests),
            4 => link.set(ProxyFault::CutAtReply),
            5 => link.set(ProxyFault::CutAtRequest),
            _ => link.set(ProxyFault::Delay(Duration::from_millis(random.u64(1..60)))),
        }
        sleep(lasts).await;
        if random.bool() {
            link.set(ProxyFault::None);
        }
    }
    for node in &scene.nodes {
        node.store.set(ProxyFault::None);
    }
    let report = flood.ends().await;
    let agreed = scene.agrees("spring").await;
    assert!(report.counts.acknowledged > 200, "{report:?}");
    assert_eq!(agreed.epoch(), 0, "the store lost nothing, so nothing forked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_whose_links_are_slow_differently_agree_all_the_same() {
    let Some(mut scene) = Scene::set(Setup::default()).await else { return };
    scene.nodes[0].talk().open("spring", 400).await;
    for (node, ms) in scene.nodes.iter().zip([0, 5, 40]) {
        node.store.set(ProxyFault::Delay(Duration::from_millis(ms)));
    }
    let flood = Flood::of(&scene, "spring", 300.0);
    flood.goes_on(300).await;
    flood.ends().await;
    scene.agrees("spring").await;
}
