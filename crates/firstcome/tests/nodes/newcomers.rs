//! Servers that join while a flood runs, and servers too old for what stands in the store.

use crate::flood::Flood;
use crate::scene::{Scene, Setup};
use crate::server::PATIENCE;
use crate::talk::condition;
use firstcome_core::command::{BodyWriter, Command};
use firstcome_core::names::NodeId;
use firstcome_core::{LEVEL, SpaceId};
use firstcome_journal::redis::{Durability, Options, Redis};
use firstcome_journal::{Append, Journal, Name};
use tokio::time::Instant;

/// Opens the journal of the scene beside its servers.
pub(crate) async fn journal(scene: &Scene) -> (Redis, Journal) {
    let store = firstcome_store::RedisOptions::new(scene.redis().url());
    let options = Options::new(SpaceId([1; 16]), Durability::Memory);
    let redis = Redis::open(store, options).await.unwrap();
    (redis.clone(), Journal::Redis(redis))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_joins_during_a_flood_and_its_snapshots_is_ready_once_it_caught_up() {
    let settings = [("SNAPSHOT_EVERY", "1s"), ("LEADER_LEASE_MS", "500")];
    let setup = Setup { settings: &settings, ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let flood = Flood::of(&scene, "spring", 500.0);
    for _ in 0..3 {
        flood.goes_on(250).await;
        let before = scene.nodes[0].talk().get("/v1/time").await;
        let joined = scene.add().await;
        joined.ready().await;
        let now = joined.talk().get("/v1/time").await;
        let at = |said: &serde_json::Value| {
            let (_, position) = said["position"].as_str()?.split_once('.')?;
            position.parse::<u64>().ok()
        };
        assert!(at(&now) >= at(&before), "ready at {now}, but {before} was there before it came");
        let gone = scene.nodes.len() - 2;
        scene.nodes[gone].kill().await;
    }
    let report = flood.ends().await;
    let written: u64 = {
        let mut written = 0;
        for node in scene.nodes.iter().filter(|node| node.runs()) {
            written += node.talk().count("firstcome_snapshots_total").await;
        }
        written
    };
    println!("{} acknowledged, {written} snapshots", report.counts.acknowledged);
    scene.agrees("spring").await;
}

fn journal_end(scene: &Scene) -> String {
    scene.redis().ask("XLEN fc:{main}:journal")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_of_a_newer_level_stops_every_older_server_with_a_sentence() {
    let Some(mut scene) = Scene::set(Setup::default()).await else { return };
    scene.nodes[0].talk().open("spring", 10).await;
    let (redis, journal) = journal(&scene).await;
    let stranger = NodeId([9; 16]);
    let mut body = BodyWriter::at_level(LEVEL + 1, stranger, 1, 0);
    assert!(body.push(&Command::claim("spring", None, "new")));
    let head = journal.head().await.unwrap();
    let append = Append {
        body: body.finish().into(),
        name: Name { node: stranger, number: 1 },
        applied: head.position,
        applied_name: head.name,
    };
    journal.append(append).await.unwrap();
    redis.close().await;
    let end = journal_end(&scene);
    let sentence = format!("level {}", LEVEL + 1);
    for node in &scene.nodes {
        let begun = Instant::now();
        while !condition(node.port()).await.contains(&sentence) {
            assert!(begun.elapsed() < PATIENCE, "{}", condition(node.port()).await);
        }
        let said = node.talk().claim("spring", "ann").await;
        assert_eq!(
            (&said["outcome"], &said["changed"]),
            (&"unavailable".into(), &"no".into()),
            "{said}"
        );
        assert!(said["detail"].as_str().unwrap().contains(&sentence), "{said}");
        let read = node.talk().get("/v1/campaigns/spring").await;
        assert_eq!(read["stale"], true, "{read}");
    }
    assert_eq!(journal_end(&scene), end, "they wrote behind what they cannot read");
    for node in &mut scene.nodes {
        let ended = node.ends().await;
        assert_eq!(ended.code(), Some(3), "{ended}");
        let (_, errors) = node.cannot_start().await;
        for said in [node.errors(), errors] {
            assert!(said.contains(&sentence) && !said.contains("panicked"), "{said}");
        }
    }
}
