//! An entry that breaks a rule stops every server of a space, and none of them any more once it is skipped.

use crate::scene::{Scene, Setup};
use crate::server::PATIENCE;
use std::process::Command;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Runs a verb on the store of a scene; gives its exit code and all it said.
fn verb(scene: &Scene, args: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
    command.args(args).env_clear().env("FIRSTCOME_STORE", scene.redis().url());
    command.env("FIRSTCOME_INJECT", "claim_breaks_rule");
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout) + &text(output.stderr))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_an_entry_stopped_go_on_by_themselves_once_it_is_skipped() {
    let setup = Setup { settings: &[("INJECT", "claim_breaks_rule")], ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    let mut talk = scene.nodes[0].talk();
    talk.open("spring", 100).await;
    talk.open("poison", 100).await;
    for who in ["ann", "bob", "cid"] {
        talk.wins("spring", who).await;
    }
    assert_eq!(talk.claim("poison", "eve").await["outcome"], "unknown");
    let mut position = String::new();
    for node in &scene.nodes {
        node.not_ready().await;
        let end = Instant::now() + PATIENCE;
        let why = loop {
            let said = node.talk().claim("spring", "dan").await;
            let why = said["detail"].as_str().unwrap_or_default().to_owned();
            if why.contains("campaign poison") {
                break why;
            }
            assert!(Instant::now() < end, "{said}");
            sleep(Duration::from_millis(20)).await;
        };
        position = why.split_once("journal skip ").unwrap().1.split(' ').next().unwrap().to_owned();
        assert!(!node.errors().contains("panicked"), "{}", node.errors());
    }
    // One that is started again meanwhile comes up, too.
    scene.nodes[2].kill().await;
    scene.nodes[2].start().await;
    scene.nodes[2].not_ready().await;
    let spring = scene.nodes[2].talk().get("/v1/campaigns/spring").await;
    assert_eq!((&spring["pools"][0]["taken"], &spring["stale"]), (&3.into(), &true.into()));

    let (code, said) = verb(&scene, &["journal", "skip", "2", "--reason", "issue 15"]);
    assert_eq!((code, said.contains("there is nothing to skip")), (1, true), "{said}");
    let (code, said) = verb(&scene, &["journal", "skip", &position, "--reason", "issue 15"]);
    assert_eq!(code, 0, "{said}");
    scene.all_ready().await;
    for (node, who) in scene.nodes.iter().zip(["dan", "fay", "gus"]) {
        node.talk().wins("spring", who).await;
    }
    let agreed = scene.agrees("spring").await;
    for (rank, who) in [(1, "ann"), (2, "bob"), (3, "cid")] {
        assert_eq!(agreed.rank(who), Some(rank));
    }
    assert_eq!(agreed.epoch(), 0);
    let (code, said) = verb(&scene, &["audit"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(&format!("1 entry skipped: {position}, issue 15\n")), "{said}");
    let (code, said) = verb(&scene, &["journal", "verify"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("1 entry skipped"), "{said}");

    // Each of them restarted has what was there before.
    for node in 0..scene.nodes.len() {
        scene.nodes[node].kill().await;
        scene.nodes[node].start().await;
        scene.nodes[node].ready().await;
    }
    assert_eq!(scene.agrees("spring").await.rank("gus"), agreed.rank("gus"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_that_a_server_applied_is_not_skipped() {
    let Some(mut scene) = Scene::without_nodes(Setup::default()).await else { return };
    // Its build has no such mistake, so it goes on.
    let node = scene.add().await;
    node.ready().await;
    let mut talk = node.talk();
    talk.open("poison", 100).await;
    talk.wins("poison", "eve").await;
    let (code, said) = verb(&scene, &["journal", "skip", "2", "--reason", "issue 15"]);
    assert_eq!(code, 1, "{said}");
    let address = format!("127.0.0.1:{}", scene.nodes[0].port());
    assert!(said.contains("entry 2 was applied by the server at"), "{said}");
    assert!(said.contains(&address), "{said}");
}
