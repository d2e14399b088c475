//! A store that is killed, comes back with or without what it had, is emptied, or is full.

use crate::flood::Flood;
use crate::moves;
use crate::scene::{Scene, Setup};
use crate::server::{PATIENCE, Server};
use crate::talk::condition;
use firstcome_testbed::{Folder, ProxyFault, RedisSettings};
use std::path::PathBuf;
use std::time::Duration;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep};

fn words(words: &[&str]) -> RedisSettings {
    let more = words.iter().map(|word| (*word).to_owned()).collect();
    RedisSettings { more, ..RedisSettings::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_with_its_file_is_killed_and_nothing_is_lost() {
    let setup = Setup {
        redis: words(&["--appendonly", "yes", "--appendfsync", "everysec"]),
        ..Setup::default()
    };
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let flood = Flood::of(&scene, "spring", 500.0);
    for _ in 0..3 {
        flood.goes_on(60).await;
        scene.primary.restart();
    }
    flood.goes_on(60).await;
    flood.ends().await;
    assert_eq!(scene.agrees("spring").await.epoch(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_comes_back_empty_waits_for_the_operators_word_and_loses_nothing() {
    comes_back_empty(Setup::default()).await;
}

pub(crate) async fn comes_back_empty(setup: Setup<'_>) {
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let flood = Flood::of(&scene, "spring", 500.0);
    flood.goes_on(100).await;
    block_in_place(|| scene.primary.come_back_empty());
    let said = the_word(&scene).await;
    assert_eq!(said["reseed"], "accepted", "{said}");
    flood.goes_on(100).await;
    // Once more, now emptied while it runs.
    scene.primary.empty().await;
    let said = the_word(&scene).await;
    assert_eq!(said["reseed"], "accepted", "{said}");
    flood.goes_on(100).await;
    flood.ends().await;
    let agreed = scene.agrees("spring").await;
    assert_eq!(agreed.epoch(), 2, "whoever followed another history must find out");
}

/// Tells the server that applied most to write its state into the store, once it knows that that is gone.
pub(crate) async fn the_word(scene: &Scene) -> serde_json::Value {
    let most = reach(scene).await.into_iter().max().unwrap();
    for _ in 0..500 {
        let said = scene.nodes[most.1].talk().post("/v1/reseed", None).await;
        if said["outcome"] != "nothing_lost" {
            return said;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("it does not see that its store is empty");
}

/// Returns how far each server has applied the journal, and its number, once it knows that the store is not there.
async fn reach(scene: &Scene) -> Vec<(u64, usize)> {
    let mut all = Vec::new();
    for (number, node) in scene.nodes.iter().enumerate().filter(|(_, node)| node.runs()) {
        node.not_ready().await;
        let said = node.talk().get("/v1/nodes").await;
        let (_, position) = said["position"].as_str().unwrap().split_once('.').unwrap();
        all.push((position.parse().unwrap(), number));
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_operators_word_an_emptied_store_stays_empty() {
    stays_empty(Setup::default()).await;
}

pub(crate) async fn stays_empty(setup: Setup<'_>) {
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 10).await;
    assert_eq!(scene.nodes[1].talk().claim("spring", "ann").await["rank"], 1);
    let refused = scene.nodes[0].talk().post("/v1/reseed", None).await;
    assert_eq!(refused["outcome"], "nothing_lost", "{refused}");
    scene.primary.empty().await;
    for node in &scene.nodes {
        node.not_ready().await;
    }
    let said = scene.nodes[2].talk().claim("spring", "bob").await;
    assert_eq!(said["outcome"], "unavailable", "{said}");
    assert_eq!(said["changed"], "no", "{said}");
    let url = scene.url();
    let (code, said) = moves::run(&["journal", "verify", "--store", &url]);
    assert!(code == 3 && said.contains("no space"), "somebody wrote without being told to: {said}");
    // A rolling deploy, or a crash: it must not begin a new space in the place of the one that the others have.
    assert!(scene.nodes[1].ends().await.success());
    for may_begin in [true, false] {
        scene.nodes[1].may_begin = may_begin;
        let (ended, said) = scene.nodes[1].cannot_start().await;
        assert_eq!(ended.code(), Some(3), "{said}");
        for words in ["the store was emptied", "firstcome nodes reseed", "firstcome journal forget"]
        {
            assert!(said.contains(words), "{said}");
        }
    }
    the_word(&scene).await;
    scene.nodes[0].ready().await;
    scene.nodes[1].start().await;
    scene.all_ready().await;
    assert_eq!(scene.nodes[1].talk().wins("spring", "ann").await, 1);
    assert_eq!(scene.nodes[2].talk().wins("spring", "bob").await, 2);
    scene.agrees("spring").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_was_emptied_on_purpose_is_forgotten_and_begun_anew() {
    emptied_on_purpose(Setup::default()).await;
}

pub(crate) async fn emptied_on_purpose(setup: Setup<'_>) {
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 10).await;
    let url = scene.url();
    let forget = |space: &str| moves::run(&["journal", "forget", space, "--store", &url]);
    let nobodys = "0".repeat(32);
    let (code, said) = forget(&nobodys);
    assert!(code == 1 && said.contains("has a space"), "{code}: {said}");
    scene.primary.empty().await;
    for node in &scene.nodes {
        node.not_ready().await;
        marks(node).await;
    }
    let runs = scene.nodes[0].talk().get("/v1/nodes").await["space"].as_str().unwrap().to_owned();
    let (code, said) = forget(&runs);
    let own = format!(":{}", scene.nodes[0].port());
    assert!(code == 1 && said.contains("stop them first") && said.contains(&own), "{code}: {said}");
    for node in &mut scene.nodes {
        assert!(node.ends().await.success());
        node.may_begin = false;
    }
    let (_, said) = scene.nodes[0].cannot_start().await;
    let (_, behind) = said.split_once("emptied: space ").expect("it says what was there");
    let space = &behind[..32];
    let (code, said) = forget(&nobodys);
    assert!(code == 3 && said.contains("no mark"), "{code}: {said}");
    let (code, said) = forget(space);
    assert!(code == 0 && said.contains(space), "{code}: {said}");
    let begun = Instant::now();
    for node in &mut scene.nodes {
        node.start().await;
    }
    assert!(begun.elapsed() >= Duration::from_secs(3), "it looks before it begins a space");
    scene.all_ready().await;
    scene.nodes[1].talk().open("spring", 10).await;
    assert_eq!(scene.nodes[2].talk().wins("spring", "ann").await, 1);
    scene.agrees("spring").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_may_put_an_emptied_store_back_by_themselves_and_nothing_is_lost() {
    puts_itself_back(Setup::default()).await;
}

pub(crate) async fn puts_itself_back(setup: Setup<'_>) {
    let setup = Setup { settings: &[("ON_EMPTIED", "reseed")], ..setup };
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let flood = Flood::of(&scene, "spring", 500.0);
    flood.goes_on(100).await;
    let emptied = Instant::now();
    block_in_place(|| scene.primary.come_back_empty());
    flood.goes_on(100).await;
    assert!(
        emptied.elapsed() >= Duration::from_secs(4),
        "all that have the space say how far first"
    );
    // Once more, now emptied while it runs, and one of those that have it dies.
    scene.primary.empty().await;
    let (_, least) = reach(&scene).await.into_iter().min().unwrap();
    scene.nodes[least].kill().await;
    flood.goes_on(100).await;
    scene.nodes[least].start().await;
    flood.ends().await;
    scene.all_ready().await;
    scene.agrees("spring").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_space_that_was_begun_in_an_emptied_store_is_replaced_by_the_one_before() {
    replaced(Setup::default()).await;
}

pub(crate) async fn replaced(setup: Setup<'_>) {
    let Some(mut scene) = Scene::set(setup).await else { return };
    scene.nodes[0].talk().open("spring", 10).await;
    assert_eq!(scene.nodes[1].talk().claim("spring", "ann").await["rank"], 1);
    // Nobody who has the space reaches the store while it is emptied and another one begins there.
    scene.nodes.iter().for_each(|node| node.store.set(ProxyFault::Refuse));
    scene.primary.empty().await;
    let newcomer = scene.add().await;
    newcomer.ready().await;
    newcomer.talk().open("autumn", 10).await;
    assert_eq!(newcomer.talk().wins("autumn", "bob").await, 1);
    let began = newcomer.talk().get("/v1/nodes").await["space"].as_str().unwrap().to_owned();
    scene.nodes.iter().for_each(|node| node.store.set(ProxyFault::None));
    let folder = Folder::new("replaced");
    let file = folder.path().join("autumn.fcspace").to_str().unwrap().to_owned();
    let (url, port) = (scene.url(), scene.nodes[0].port());
    let server = format!("http://127.0.0.1:{port}");
    let replace = |more: &[&str]| {
        let args = ["nodes", "reseed", "--url", &server, "--store", &url, "--file", &file];
        moves::run(&[&args, &["--replace", &began][..], more].concat())
    };
    for node in &scene.nodes[..3] {
        node.not_ready().await;
    }
    let (code, said) = moves::run(&["nodes", "reseed", "--url", &server, "--yes"]);
    assert!(code == 1 && said.contains("nothing"), "{code}: {said}");
    // What the other space has is not lost by accident.
    let (code, said) = replace(&[]);
    assert!(code == 1 && said.contains("has 1 results"), "{code}: {said}");
    assert_eq!(scene.nodes[3].talk().wins("autumn", "cid").await, 2);
    // Somebody ended it before, and came no further.
    let (code, said) = moves::run(&["journal", "export", "--store", &url, "--output", &file]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = replace(&[]);
    assert!(code == 1 && said.contains("has 2 results"), "{code}: {said}");
    let own = scene.nodes[0].talk().get("/v1/nodes").await["space"].as_str().unwrap().to_owned();
    let files = ["--store", &url, "--file", &file, "--url", &server, "--yes"];
    let (code, said) = moves::run(&[&["nodes", "reseed", "--replace", &own][..], &files].concat());
    assert!(code == 2 && said.contains("the server itself"), "{code}: {said}");
    let (code, said) = replace(&["--yes"]);
    assert_eq!(code, 0, "{said}");
    let said = scene.nodes[3].talk().claim("autumn", "dan").await;
    assert_eq!(said["outcome"], "space_moved", "{said}");
    scene.nodes[3].kill().await;
    scene.nodes.pop();
    scene.all_ready().await;
    assert_eq!(scene.nodes[1].talk().wins("spring", "bob").await, 2);
    let (code, said) = replace(&["--yes"]);
    assert!(code == 0 && said.contains("nothing was changed"), "{code}: {said}");
    let (code, said) = moves::run(&["audit", "--file", &file]);
    assert_eq!(code, 0, "{said}");
    assert!(scene.agrees("spring").await.epoch() >= 1, "it was seeded anew");
}

/// Waits until a server has marked the emptied store.
async fn marks(node: &Server) {
    let end = Instant::now() + PATIENCE;
    while !node.errors().contains("store_marked") {
        assert!(Instant::now() < end, "{}", node.errors());
        sleep(Duration::from_millis(20)).await;
    }
}

/// Returns the files of spaces in a data folder.
fn files(folder: &Folder) -> Vec<PathBuf> {
    let names = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    names.filter(|path| path.extension().is_some_and(|end| end == "fcspace")).collect()
}

/// Ends a server, which leaves its space in one file of its data folder and says so with these words.
async fn leaves_a_file(node: &mut Server, folder: &Folder, words: &[&str]) {
    assert!(node.ends().await.success());
    let said = node.errors();
    let [file] = &files(folder)[..] else { panic!("{said}") };
    assert!(said.contains("last_with_space") && said.contains(file.to_str().unwrap()), "{said}");
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
    let (code, said) = moves::run(&["audit", "--file", file.to_str().unwrap()]);
    assert_eq!(code, 0, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_server_that_has_the_space_of_an_emptied_store_leaves_it_in_a_file() {
    let Some(mut scene) = Scene::without_nodes(Setup::default()).await else { return };
    let folders = [Folder::new("last-one"), Folder::new("last-two")];
    for folder in &folders {
        scene.change("DATA", folder.path().to_str().unwrap());
        scene.add().await.ready().await;
    }
    scene.nodes[0].talk().open("spring", 10).await;
    assert_eq!(scene.nodes[1].talk().wins("spring", "ann").await, 1);
    let other = Folder::new("last-three");
    scene.change("DATA", other.path().to_str().unwrap());
    scene.says_the_same("spring").await;
    scene.primary.empty().await;
    for node in &scene.nodes {
        marks(node).await;
    }
    assert!(scene.nodes[0].ends().await.success());
    assert!(files(&folders[0]).is_empty(), "{}", scene.nodes[0].errors());
    assert!(scene.nodes[1].ends().await.success());
    let [file] = &files(&folders[1])[..] else { panic!("{}", scene.nodes[1].errors()) };
    let file = file.to_str().unwrap();
    let said = scene.nodes[1].errors();
    assert!(said.contains("last_with_space") && said.contains(file), "{said}");
    let (code, said) = moves::run(&["audit", "--file", file]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = moves::run(&["journal", "import", file, "--store", &scene.url()]);
    assert_eq!(code, 0, "{said}");
    for node in &mut scene.nodes {
        node.start().await;
    }
    scene.all_ready().await;
    assert_eq!(scene.nodes[0].talk().wins("spring", "bob").await, 2);
    scene.agrees("spring").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_has_more_of_an_emptied_store_than_those_that_stay_leaves_it_in_a_file() {
    let Some(mut scene) = Scene::without_nodes(Setup::default()).await else { return };
    let folders = [Folder::new("ahead"), Folder::new("behind")];
    for folder in &folders {
        scene.change("DATA", folder.path().to_str().unwrap());
        scene.add().await.ready().await;
    }
    scene.nodes[0].talk().open("spring", 10).await;
    assert_eq!(scene.nodes[1].talk().wins("spring", "ann").await, 1);
    scene.nodes[1].store.set(ProxyFault::Refuse);
    scene.nodes[1].not_ready().await;
    assert_eq!(scene.nodes[0].talk().wins("spring", "bob").await, 2);
    scene.primary.empty().await;
    scene.nodes[1].store.set(ProxyFault::None);
    for node in &scene.nodes {
        marks(node).await;
    }
    leaves_a_file(&mut scene.nodes[0], &folders[0], &["no other server has", "has it up to"]).await;
    // It is the last one then.
    leaves_a_file(&mut scene.nodes[1], &folders[1], &["the last server"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_leaves_its_space_also_where_another_one_was_begun_or_the_store_is_gone() {
    let Some(mut scene) = Scene::without_nodes(Setup::default()).await else { return };
    let folders = [Folder::new("first-space"), Folder::new("second-space")];
    scene.change("DATA", folders[0].path().to_str().unwrap());
    scene.add().await.ready().await;
    scene.nodes[0].talk().open("spring", 10).await;
    assert_eq!(scene.nodes[0].talk().wins("spring", "ann").await, 1);
    // It cannot mark the store before another space is begun there.
    scene.nodes[0].store.set(ProxyFault::Refuse);
    scene.primary.empty().await;
    scene.change("DATA", folders[1].path().to_str().unwrap());
    let newcomer = scene.add().await;
    newcomer.ready().await;
    newcomer.talk().open("autumn", 10).await;
    scene.nodes[0].store.set(ProxyFault::None);
    let end = Instant::now() + PATIENCE;
    while !condition(scene.nodes[0].port()).await.contains("is of space") {
        assert!(Instant::now() < end, "{}", scene.nodes[0].errors());
        sleep(Duration::from_millis(20)).await;
    }
    leaves_a_file(&mut scene.nodes[0], &folders[0], &["the last server known"]).await;
    scene.primary.empty().await;
    marks(&scene.nodes[1]).await;
    scene.nodes[1].store.set(ProxyFault::Refuse);
    leaves_a_file(&mut scene.nodes[1], &folders[1], &["the last server known"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_forgets_its_scripts_is_taught_them_again() {
    let Some(mut scene) = Scene::set(Setup::default()).await else { return };
    scene.nodes[0].talk().open("spring", 100_000).await;
    let flood = Flood::of(&scene, "spring", 400.0);
    for _ in 0..5 {
        flood.goes_on(40).await;
        assert_eq!(scene.redis().ask("SCRIPT FLUSH"), "+OK");
    }
    let report = flood.ends().await;
    assert_eq!((report.counts.unknown, report.counts.busy), (0, 0), "nobody noticed");
    scene.agrees("spring").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_store_says_so_and_goes_on_when_there_is_room() {
    let Some(mut scene) = Scene::set(Setup::default()).await else { return };
    scene.nodes[0].talk().open("spring", 1_000_000).await;
    let flood = Flood::of(&scene, "spring", 400.0);
    flood.goes_on(50).await;
    assert_eq!(scene.redis().ask("CONFIG SET maxmemory 1mb"), "+OK");
    let mut full = false;
    for number in 0..400 {
        let who = format!("late-{number}");
        let said = scene.nodes[number % 3].talk().claim("spring", &who).await;
        full = said["outcome"] == "store_full";
        if full {
            assert_eq!((&said["changed"], &said["retry"]), (&"no".into(), &true.into()), "{said}");
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    assert!(full, "a store without room was never said to be full");
    assert_eq!(scene.redis().ask("CONFIG SET maxmemory 0"), "+OK");
    flood.goes_on(50).await;
    flood.ends().await;
    scene.all_ready().await;
    scene.agrees("spring").await;
}
