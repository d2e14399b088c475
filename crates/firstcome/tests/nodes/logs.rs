//! What an operator reads: who leads, and that a store went away and came back, each once.

use crate::scene::{Scene, Setup};
use crate::server::{PATIENCE, Server};
use firstcome_testbed::ProxyFault;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Returns the lines of an event that a server has written.
fn lines(node: &Server, event: &str) -> Vec<Value> {
    let errors = node.errors();
    let read =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
    errors.lines().map(read).filter(|line: &Value| line["event"] == event).collect()
}

/// Waits until a server has written so many lines of an event; gives the last.
async fn said(node: &Server, event: &str, times: usize) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let mut found = lines(node, event);
        if found.len() >= times {
            return found.remove(times - 1);
        }
        assert!(Instant::now() < end, "{times} {event}: {}", node.errors());
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_change_is_said_once_by_everybody_who_sees_it() {
    let settings = [("LEADER_LEASE_MS", "3000")];
    let setup = Setup { settings: &settings, ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 1_000).await;
    let first = scene.leader().await;
    let term = said(&scene.nodes[first], "leader_elected", 1).await["term"].as_u64().unwrap();
    let others: Vec<usize> = (0..3).filter(|node| *node != first).collect();
    for other in &others {
        said(&scene.nodes[*other], "leader_seen", 1).await;
    }
    scene.nodes[first].kill().await;
    let end = Instant::now() + PATIENCE;
    let is_later = |line: &Value| line["term"].as_u64() > Some(term);
    let leads =
        |other: &&usize| lines(&scene.nodes[**other], "leader_elected").iter().any(is_later);
    let next = loop {
        if let Some(next) = others.iter().find(leads) {
            break *next;
        }
        assert!(Instant::now() < end, "nobody follows");
        sleep(Duration::from_millis(20)).await;
    };

    // The one who does not lead loses sight of the store, for longer than commands are tried.
    let alone = others.into_iter().find(|node| *node != next).unwrap();
    let node = &scene.nodes[alone];
    node.store.set(ProxyFault::Refuse);
    node.store.cut();
    let refused = |node: &Server| {
        lines(node, "store_lost").iter().filter(|line| line["commands"] == "refused").count()
    };
    let end = Instant::now() + PATIENCE;
    while refused(node) == 0 {
        assert!(Instant::now() < end, "{}", node.errors());
        sleep(Duration::from_millis(20)).await;
    }
    // A machine that is busy may have looked like a store that is late before.
    let losses = lines(node, "store_lost");
    assert_eq!(losses[losses.len() - 2]["commands"], "tried", "{losses:?}");
    let back = lines(node, "store_back").len();
    node.store.set(ProxyFault::None);
    let lost = said(node, "store_back", back + 1).await["lost_ms"].as_u64().unwrap();
    assert!(lost >= 4_000, "{lost} ms");
    node.talk().wins("spring", "ann-who-has-a-name").await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(refused(node), 1, "once: {}", node.errors());
    assert_eq!(refused(&scene.nodes[next]), 0, "its store was there");
    assert!(!node.errors().contains("ann-who-has-a-name"), "{}", node.errors());
}
