//! A space in a Redis Cluster: its slot is moved to another server, and the owner of the slot is killed.

use crate::flood::Flood;
use crate::primary::Primary;
use crate::scene::{Scene, Setup};
use firstcome_testbed::RedisCluster;
use std::process::Command;
use tokio::task::block_in_place;

/// A key of the space.
const KEY: &str = "fc:{main}:head";

fn cluster(scene: &mut Scene) -> &mut RedisCluster {
    let Primary::Cluster(cluster) = &mut scene.primary else { panic!("this story is about one") };
    cluster
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_moves_and_an_owner_that_is_killed_lose_nothing() {
    let settings = [("DURABILITY", "copies=1")];
    let setup = Setup { cluster: true, direct: true, settings: &settings, ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let flood = Flood::of(&scene, "spring", 200.0);
    flood.goes_on(100).await;
    block_in_place(|| {
        let cluster = cluster(&mut scene);
        cluster.move_slot(KEY, (cluster.owner(KEY) + 1) % 3, |_, _| ());
    });
    flood.goes_on(100).await;
    block_in_place(|| cluster(&mut scene).fail_over(KEY));
    // Its replica was the copy: none is left to confirm.
    let killed = block_in_place(|| cluster(&mut scene).restart_killed());
    assert!(killed > 0);
    flood.goes_on(100).await;
    flood.ends().await;
    let agreed = scene.agrees("spring").await;
    assert!(agreed.results.len() >= 300);

    // The tools that read the store find the space, too, and locks are in each of the servers.
    let url = scene.url();
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
        command.args(words).env_clear().env("FIRSTCOME_STORE", &url);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, said) = run(&["journal", "verify", "--store", &url]);
    assert_eq!(code, Some(0), "{said}");
    for name in ["a", "b", "c", "d", "e"] {
        let (code, said) = run(&["lock", name, "--", "true"]);
        assert_eq!(code, Some(0), "{said}");
    }
    let (code, said) = run(&["locks", "list", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(&["lock", "x", "--", env!("CARGO_BIN_EXE_firstcome"), "locks", "list"]);
    assert!(code == Some(0) && said.contains("x "), "{said}");
}
