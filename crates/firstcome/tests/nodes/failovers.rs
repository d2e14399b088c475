//! A replica that lacks the newest entries takes its primary's place.

use crate::databases::{told_again, was_put_back};
use crate::flood::Flood;
use crate::scene::{Agreed, Scene, Setup};
use firstcome_testbed::ProxyFault;
use std::time::Duration;
use tokio::task::block_in_place;
use tokio::time::sleep;

async fn with_replica(settings: &[(&str, &str)]) -> Option<Scene> {
    Scene::set(Setup { replica: true, settings, ..Setup::default() }).await
}

/// Returns the reports of forks, as a server tells them.
async fn told(scene: &Scene) -> String {
    let said = scene.nodes[2].talk().get("/v1/forks").await;
    let forks = said["forks"].as_array().into_iter().flatten();
    forks.filter_map(|fork| fork["report"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_promoted_replica_lacks_is_put_back_and_nothing_is_lost() {
    told_again(async || a_replica_lacked().await).await;
}

async fn a_replica_lacked() -> bool {
    let Some(mut scene) = with_replica(&[("DURABILITY", "memory")]).await else { return true };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let flood = Flood::of(&scene, "spring", 400.0);
    flood.goes_on(100).await;
    scene.stall_replica().await;
    flood.goes_on(150).await;
    scene.fail_over();
    flood.goes_on(100).await;
    was_put_back(&mut scene, flood).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_copy_of_each_claim_all_servers_and_the_primary_may_go_at_once() {
    let settings = [("DURABILITY", "copies=1"), ("COMMAND_WAIT_MS", "1000")];
    let Some(mut scene) = with_replica(&settings).await else { return };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let mut told = Vec::new();
    for number in 0..40 {
        let who = format!("kept-{number}");
        told.push((scene.nodes[number % 3].talk().wins("spring", &who).await, who));
    }
    scene.stall_replica().await;
    let late = scene.nodes[0].talk().claim("spring", "late").await;
    assert_eq!(late["outcome"], "unknown", "the copy has not got it: {late}");
    for node in &mut scene.nodes {
        node.kill().await;
    }
    scene.fail_over();
    // No replica is left: the promise is the operator's to lower.
    let Some(agreed) = start_again(&mut scene, "memory").await else { return };
    for (rank, who) in &told {
        assert_eq!(agreed.rank(who), Some(*rank), "{who} was told");
    }
    assert_eq!(agreed.rank("late"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_memory_alone_what_the_replica_lacked_goes_with_all_servers_and_nothing_else() {
    let Some(mut scene) = with_replica(&[("DURABILITY", "memory")]).await else { return };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let mut told = Vec::new();
    for number in 0..30 {
        let who = format!("kept-{number}");
        told.push((scene.nodes[number % 3].talk().wins("spring", &who).await, who));
    }
    scene.stall_replica().await;
    for number in 0..5 {
        scene.nodes[number % 3].talk().wins("spring", &format!("gone-{number}")).await;
    }
    for node in &mut scene.nodes {
        node.kill().await;
    }
    scene.fail_over();
    let Some(agreed) = start_again(&mut scene, "memory").await else { return };
    for (rank, who) in &told {
        assert_eq!(agreed.rank(who), Some(*rank), "{who} was told");
    }
    assert_eq!(agreed.results.len(), told.len(), "as the table of guarantees says");
    assert_eq!(scene.nodes[0].talk().wins("spring", "next").await, 31, "ranks have no gap");
}

async fn start_again(scene: &mut Scene, durability: &str) -> Option<Agreed> {
    scene.nodes.clear();
    scene.change("DURABILITY", durability);
    for _ in 0..3 {
        scene.add().await;
    }
    scene.all_ready().await;
    Some(scene.agrees("spring").await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lagged_makes_a_fork_and_the_list_says_whose_rank_changed() {
    let settings = [("DURABILITY", "memory")];
    lagged(Setup { replica: true, settings: &settings, ..Setup::default() }).await;
}

pub(crate) async fn lagged(setup: Setup<'_>) {
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 6).await;
    assert_eq!(scene.nodes[0].talk().wins("spring", "ann").await, 1);
    let behind = scene.nodes[0].talk().get("/v1/time").await;
    let behind = behind["position"].as_str().unwrap().to_owned();
    scene.nodes[2].talk().get(&format!("/v1/time?min_position={behind}")).await;
    scene.keep_state().await;
    // The third hears nothing from here on.
    scene.nodes[2].store.set(ProxyFault::Refuse);
    for (who, rank) in [("bob", 2), ("cid", 3), ("dan", 4), ("eve", 5)] {
        assert_eq!(scene.nodes[rank % 2].talk().wins("spring", who).await, rank as u64);
    }
    let old = scene.nodes[1].talk().claim("spring", "eve").await;
    let old = old["position"].as_str().unwrap().to_owned();
    scene.nodes[0].talk().get(&format!("/v1/time?min_position={old}")).await;
    // Both who know of them stand still longer than anybody waits for them.
    scene.nodes[0].pause();
    scene.nodes[1].pause();
    block_in_place(|| scene.go_back());
    scene.nodes[2].store.set(ProxyFault::None);
    let third = &scene.nodes[2];
    for (who, rank) in [("zoe", 2), ("cid", 3), ("yan", 4)] {
        assert_eq!(third.talk().wins("spring", who).await, rank, "nobody there knew more");
    }
    scene.nodes[0].resume();
    scene.nodes[1].resume();
    sleep(Duration::from_millis(500)).await;
    let end = tokio::time::Instant::now() + Duration::from_secs(20);
    loop {
        let told = told(&scene).await;
        if told.matches("the journal forked").count() >= 2 {
            break;
        }
        assert!(tokio::time::Instant::now() < end, "no reports: {told}");
        sleep(Duration::from_millis(50)).await;
    }
    let agreed = scene.agrees("spring").await;
    assert_eq!(agreed.epoch(), 1, "the epoch was raised once");
    let ranks = ["ann", "zoe", "cid", "yan", "bob", "dan", "eve"].map(|who| agreed.rank(who));
    let expected = [Some(1), Some(2), Some(3), Some(4), Some(5), Some(6), None];
    assert_eq!(ranks, expected, "six places, in the order of the history that goes on");
    let said = told(&scene).await;
    for line in [
        "\"bob\" changed from rank 2 to 5",
        "\"cid\" kept rank 3",
        "\"dan\" changed from rank 4 to 6",
        "\"eve\" lost rank 5",
    ] {
        // One report each of those who went over.
        assert_eq!(said.matches(line).count(), 2, "{line} is not in both of: {said}");
    }
    for node in &scene.nodes {
        let stale = node.talk().claim_past("spring", "bob", &old).await;
        assert_eq!(stale["outcome"], "stale_position", "{stale}");
        let again = node.talk().claim("spring", "bob").await;
        assert_eq!(again["rank"], 5, "{again}");
    }
}
