//! The same stories with a protection switched off: each must come to another end.

use crate::scene::{Scene, Setup};
use crate::server::PATIENCE;
use firstcome_client::Ask;
use firstcome_testbed::ProxyFault;
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What a batch that arrives twice came to.
async fn a_late_copy(settings: &[(&str, &str)]) -> Option<(Scene, serde_json::Value)> {
    let scene = Scene::set(Setup { settings, ..Setup::default() }).await?;
    let pools = json!([{"name": "main", "capacity": 9}]);
    let again = json!({"opens_at": "now", "claim_again": true, "pools": pools});
    scene.nodes[0].talk().put("spring", again).await;
    let node = &scene.nodes[0];
    // What it sends is kept back, not lost; it takes the connection for dead and sends it again.
    node.store.stall_existing();
    let won = node.talk().wins("spring", "ann").await;
    let path = format!("/v1/campaigns/spring/claims/ann?rank={won}&by=subject");
    let said = scene.nodes[1].talk().tell(Ask::change("DELETE", path)).await.unwrap();
    assert_eq!(said["outcome"], "cancelled", "{said}");
    let length = || scene.redis().ask("HGET fc:{main}:head position");
    let before = length();
    node.store.let_go();
    let end = Instant::now() + PATIENCE;
    while length() == before {
        assert!(Instant::now() < end, "the copy never arrives");
        sleep(Duration::from_millis(5)).await;
    }
    let position = length().lines().nth(1).unwrap().to_owned();
    let path = format!("/v1/campaigns/spring/claims/ann?min_position=0.{position}");
    let claims = scene.nodes[2].talk().get(&path).await;
    Some((scene, claims))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_arrives_once_more_after_its_answer_changes_nothing() {
    let Some((mut scene, claims)) = a_late_copy(&[]).await else { return };
    assert_eq!(claims["claims"].as_array().unwrap().len(), 1, "{claims}");
    assert!(!claims["claims"][0]["cancelled"].is_null(), "{claims}");
    scene.agrees("spring").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_batch_numbers_a_late_copy_claims_again() {
    let Some((_scene, claims)) = a_late_copy(&[("INJECT", "copies_run_twice")]).await else {
        return;
    };
    assert_eq!(claims["claims"].as_array().unwrap().len(), 2, "the story is blind: {claims}");
}

/// An older copy of the store's keys takes their place, behind everybody's back, and goes on.
async fn an_older_copy(settings: &[(&str, &str)]) -> Option<Scene> {
    let scene = Scene::set(Setup { settings, ..Setup::default() }).await?;
    scene.nodes[0].talk().open("spring", 100).await;
    assert_eq!(scene.nodes[0].talk().wins("spring", "ann").await, 1);
    let copied = scene.redis().ask(
        "MULTI\r\nCOPY fc:{main}:journal fc:{main}:journal-kept\r\n\
         COPY fc:{main}:head fc:{main}:head-kept\r\nEXEC",
    );
    assert!(copied.ends_with(":1\r\n:1"), "{copied}");
    // The third knows what the copy has, and nothing of what comes.
    let said = scene.nodes[0].talk().get("/v1/time").await;
    let min = said["position"].as_str().unwrap();
    scene.nodes[2].talk().get(&format!("/v1/time?min_position={min}")).await;
    scene.nodes[2].store.set(ProxyFault::Refuse);
    for who in ["bob", "cid"] {
        scene.nodes[0].talk().wins("spring", who).await;
    }
    let said = scene.nodes[0].talk().get("/v1/time").await;
    let min = said["position"].as_str().unwrap();
    scene.nodes[1].talk().get(&format!("/v1/time?min_position={min}")).await;
    scene.nodes[0].pause();
    scene.nodes[1].pause();
    let moved = scene.redis().ask(
        "MULTI\r\nRENAME fc:{main}:journal-kept fc:{main}:journal\r\n\
         RENAME fc:{main}:head-kept fc:{main}:head\r\nEXEC",
    );
    assert!(moved.ends_with("+OK\r\n+OK"), "{moved}");
    scene.nodes[2].store.set(ProxyFault::None);
    for who in ["zoe", "yan", "xia", "wim"] {
        scene.nodes[2].talk().wins("spring", who).await;
    }
    scene.nodes[0].resume();
    scene.nodes[1].resume();
    Some(scene)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_copy_in_the_stores_place_is_noticed_by_name_and_nobody_is_lost() {
    let Some(mut scene) = an_older_copy(&[]).await else { return };
    for node in &scene.nodes {
        assert!(node.talk().wins("spring", "bob").await > 1);
    }
    let agreed = scene.agrees("spring").await;
    assert_eq!(agreed.epoch(), 1);
    for who in ["ann", "bob", "cid", "zoe", "yan", "xia", "wim"] {
        assert!(agreed.rank(who).is_some(), "{who} was lost");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_name_of_the_entry_before_servers_tell_different_stories() {
    let Some(scene) = an_older_copy(&[("INJECT", "predecessor_ignored")]).await else { return };
    let end = Instant::now() + PATIENCE;
    loop {
        let mut said = Vec::new();
        for node in &scene.nodes {
            let view = node.talk().get("/v1/nodes").await;
            said.push((view["position"].clone(), view["digest"].clone()));
        }
        if said[0].0 == said[2].0 {
            assert_ne!(said[0].1, said[2].1, "the story is blind");
            return;
        }
        assert!(Instant::now() < end, "they do not come to one position: {said:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_counted_where_nothing_was_written_acknowledge_what_is_lost() {
    let settings = [
        ("DURABILITY", "copies=1"),
        ("COMMAND_WAIT_MS", "2000"),
        ("INJECT", "wait_on_other_connection"),
    ];
    let setup = Setup { replica: true, settings: &settings, ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 100).await;
    scene.stall_replica().await;
    let late = scene.nodes[0].talk().claim("spring", "late").await;
    assert_eq!(late["outcome"], "won", "the story is blind: {late}");
    for node in &mut scene.nodes {
        node.kill().await;
    }
    scene.fail_over();
    scene.nodes.clear();
    scene.change("DURABILITY", "memory");
    scene.add().await.ready().await;
    assert_eq!(scene.agrees("spring").await.rank("late"), None, "the story is blind");
}
