//! A space moves from a data folder to a store that servers share and back, while people claim, and keeps every promise.

use crate::scene::{Scene, Setup};
use crate::server::{KEY, PATIENCE, Server};
use firstcome_testbed::ProxyFault;
use firstcome_testbed::{Folder, Proxy};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep};

/// Returns the command of a verb.
fn verb(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
    command.args(args).env_clear().env("FIRSTCOME_KEY", KEY).stdin(Stdio::null());
    command
}

/// Runs a verb to its end; gives its exit code and all it said.
pub(crate) fn run(args: &[&str]) -> (i32, String) {
    let Output { status, stdout, stderr } = block_in_place(|| verb(args).output().unwrap());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout) + &text(stderr))
}

/// Runs a verb that must do as it is told, and gives what it said as JSON.
pub(crate) fn done(args: &[&str]) -> Value {
    let (code, said) = run(&[args, &["--json"]].concat());
    assert_eq!(code, 0, "{args:?}: {said}");
    serde_json::from_str(&said).unwrap_or_else(|why| panic!("{why}: {said}"))
}

/// A server alone on a data folder.
async fn embedded(data: &Path) -> Server {
    let mut server = Server::alone(data.to_str().unwrap(), &[]).await;
    server.start().await;
    server.ready().await;
    server
}

/// Returns who has which rank in the campaign, by a server's results.
pub(crate) async fn ranks(server: &Server) -> BTreeMap<String, u64> {
    let results = server.talk().results("spring").await;
    let rank = |line: &Value| {
        (line["subject"].as_str().unwrap().to_owned(), line["rank"].as_u64().unwrap())
    };
    results.iter().map(rank).collect()
}

/// Returns the digest that a server has at a position.
pub(crate) async fn digest_of(server: &Server, position: &Value) -> Value {
    let number = position.as_str().unwrap().split_once('.').unwrap().1;
    server.talk().get(&format!("/v1/audit?position={number}")).await["digest"].clone()
}

/// The stories that each store is told.
macro_rules! stories {
    ($store:ident, $setup:expr) => {
        mod $store {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_campaign_begun_alone_goes_on_in_the_store_and_alone_again() {
                there_and_back($setup).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn what_is_acknowledged_while_a_space_moves_is_in_the_new_place() {
                let Some((lost, heard)) = moved_in_a_flood($setup, None).await else { return };
                assert_eq!(lost, Vec::<String>::new(), "of {heard}");
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn an_import_that_is_killed_leaves_no_space_and_can_be_run_again() {
                killed_imports($setup).await;
            }
        }
    };
}

stories!(redis, Setup::default());
stories!(postgres, Setup::on_postgres());
stories!(mariadb, Setup::on_mariadb());
stories!(nats, Setup::on_nats());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_space_that_does_not_end_loses_what_is_acknowledged_while_it_moves() {
    let mistake = Some("export_without_end");
    let Some((lost, heard)) = moved_in_a_flood(Setup::default(), mistake).await else { return };
    assert!(!lost.is_empty(), "the story is blind: {heard} were acknowledged");
}

async fn there_and_back(setup: Setup<'_>) {
    let Some(mut scene) = Scene::without_nodes(setup).await else { return };
    let folder = Folder::new("moves");
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| path(name).to_str().unwrap().to_owned();
    let mut alone = embedded(&path("one")).await;
    let mut talk = alone.talk();
    talk.open("spring", 1_000).await;
    for number in 1..=20 {
        assert_eq!(talk.wins("spring", &format!("s{number}")).await, number);
    }
    let (code, said) = run(&["journal", "export", "--data", &text("one"), "--output", &text("a")]);
    assert_eq!((code, said.contains("is in use by process")), (3, true), "{said}");
    // A copy of it can be had, under another id, and nothing ends.
    let copy =
        done(&["journal", "export", "--data", &text("one"), "--copy", "--output", &text("c")]);
    assert!(talk.wins("spring", "s21").await == 21);
    assert!(alone.ends().await.success());
    let before = done(&["audit", "--data", &text("one")]);

    let first = done(&["journal", "export", "--data", &text("one"), "--output", &text("a")]);
    assert_eq!(
        (&first["digest"], &first["complete"]),
        (&before["digest_recomputed"], &true.into())
    );
    assert_ne!(first["space"], copy["space"]);
    let checked = done(&["audit", "--file", &text("a")]);
    assert_eq!(checked["digest_recomputed"], first["digest"]);
    assert_eq!(checked["from"], "beginning");
    let (status, said) = alone.cannot_start().await;
    assert!(!status.success() && said.contains("it was moved to another store"), "{said}");
    // Written once more, it is the same.
    let again = done(&["journal", "export", "--data", &text("one"), "--output", &text("b")]);
    assert_eq!((&again["digest"], &again["position"]), (&first["digest"], &first["position"]));

    let url = scene.url();
    let ledger = format!("sqlite:{}", text("ledger"));
    let to = ["journal", "import", &text("a"), "--store", &url, "--ledger", &ledger];
    let brought = done(&to);
    assert_eq!((&brought["digest"], &brought["position"]), (&first["digest"], &first["position"]));
    assert_eq!((&brought["space"], &brought["ledger_through"]), (&first["space"], &21.into()));
    let (code, said) = run(&to);
    assert_eq!((code, said.contains("has a space there already")), (1, true), "{said}");
    scene.change("LEDGER", &ledger);
    for _ in 0..2 {
        scene.add().await.ready().await;
    }
    for node in &scene.nodes {
        assert_eq!(digest_of(node, &first["position"]).await, first["digest"]);
        assert_eq!(node.talk().wins("spring", "s7").await, 7, "it repeats what it said elsewhere");
    }
    assert_eq!(scene.nodes[0].talk().wins("spring", "s22").await, 22);
    assert_eq!(scene.agrees("spring").await.rank("s21"), Some(21));

    // Its servers run while it moves back, and say where they are.
    let second = done(&["journal", "export", "--store", &url, "--output", &text("d")]);
    assert_eq!((&second["space"], &second["complete"]), (&first["space"], &false.into()));
    for node in &scene.nodes {
        node.not_ready().await;
        let said = node.talk().claim("spring", "late").await;
        assert_eq!(
            (said["changed"].as_str(), said["outcome"].as_str()),
            (Some("no"), Some("space_moved"))
        );
        let end = Instant::now() + PATIENCE;
        while !node.errors().contains("\"event\":\"space_moved\"") {
            assert!(Instant::now() < end, "it does not log it: {}", node.errors());
            sleep(Duration::from_millis(10)).await;
        }
    }
    let audited = done(&["audit", "--store", &url, "--ledger", &ledger]);
    assert_eq!(audited["digest_recomputed"], second["digest"]);
    assert!(audited["moved_at"].is_number(), "{audited}");
    let ledger = format!("sqlite:{}", text("ledger"));
    let to = ["journal", "import", &text("d"), "--data", &text("two"), "--ledger", &ledger];
    let brought = done(&to);
    assert_eq!(brought["digest"], second["digest"]);
    let data = text("two");
    let mut alone = Server::alone(&data, &[("LEDGER", &ledger)]).await;
    alone.start().await;
    alone.ready().await;
    assert_eq!(digest_of(&alone, &second["position"]).await, second["digest"]);
    assert_eq!(alone.talk().wins("spring", "s3").await, 3);
    assert_eq!(alone.talk().wins("spring", "s23").await, 23);
    assert_eq!(alone.talk().results("spring").await.len(), 23);
    assert!(alone.ends().await.success());
    let audited = done(&["audit", "--data", &data, "--ledger", &ledger]);
    assert_eq!(
        (&audited["ok"], &audited["ledger_through"]),
        (&true.into(), &23.into()),
        "{audited}"
    );

    // The copy is another space.
    done(&["journal", "import", &text("c"), "--data", &text("three")]);
    let data = text("three");
    let mut copied = Server::alone(&data, &[("LEDGER", "none")]).await;
    copied.start().await;
    copied.ready().await;
    assert_eq!(copied.talk().wins("spring", "somebody-else").await, 21);
    copied.kill().await;
}

/// Twelve who claim in one campaign, one subject after the other, and what they heard.
pub(crate) struct Crowd {
    heard: Arc<Mutex<BTreeMap<String, u64>>>,
    stop: Arc<AtomicBool>,
    people: tokio::task::JoinSet<()>,
}

impl Crowd {
    pub(crate) async fn comes_to(scene: &Scene) -> Self {
        scene.nodes[0].talk().open("spring", 1_000_000).await;
        let heard = Arc::new(Mutex::new(BTreeMap::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let mut people = tokio::task::JoinSet::new();
        for one in 0..12 {
            let (heard, stop) = (Arc::clone(&heard), Arc::clone(&stop));
            let mut talk = scene.nodes[one % scene.nodes.len()].talk();
            people.spawn(async move {
                for number in 0..100_000 {
                    let who = format!("s{one}-{number}");
                    let Ok(said) = talk.try_claim("spring", &who).await else { continue };
                    if let Some(rank) = said["rank"].as_u64() {
                        heard.lock().unwrap().insert(who, rank);
                    } else if said["outcome"] == "space_moved" || stop.load(Ordering::Relaxed) {
                        assert_eq!(said["changed"], "no", "{said}");
                        return;
                    }
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        Self { heard, stop, people }
    }

    /// Returns the ranks that were acknowledged so far.
    pub(crate) fn heard(&self) -> BTreeMap<String, u64> {
        self.heard.lock().unwrap().clone()
    }

    /// Waits until so many more were acknowledged.
    pub(crate) async fn hears(&self, more: usize) {
        let (wanted, end) = (self.heard().len() + more, Instant::now() + PATIENCE);
        while self.heard.lock().unwrap().len() < wanted {
            assert!(Instant::now() < end, "nothing is acknowledged");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until all have ended, told so or since their space has moved; returns what they heard.
    pub(crate) async fn goes_home(mut self, is_sent: bool) -> BTreeMap<String, u64> {
        self.stop.store(is_sent, Ordering::Relaxed);
        while let Some(one) = self.people.join_next().await {
            one.unwrap();
        }
        self.heard()
    }
}

/// Moves a space away from three servers while many claim; gives who was acknowledged and is not in its new place, and how
/// many were acknowledged.
async fn moved_in_a_flood(setup: Setup<'_>, mistake: Option<&str>) -> Option<(Vec<String>, usize)> {
    let scene = Scene::set(setup).await?;
    let crowd = Crowd::comes_to(&scene).await;
    crowd.hears(300).await;
    let folder = Folder::new("moves");
    let text = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, url) = (text("file"), scene.url());
    let mut export = verb(&["journal", "export", "--store", &url, "--output", &file]);
    if let Some(mistake) = mistake {
        export.env("FIRSTCOME_INJECT", mistake);
    }
    let ended = block_in_place(|| export.output().unwrap());
    assert!(ended.status.success(), "{ended:?}");
    if mistake.is_some() {
        crowd.hears(50).await;
    }
    let heard = crowd.goes_home(mistake.is_some()).await;
    done(&["journal", "import", &file, "--data", &text("new"), "--ledger", "none"]);
    let data = text("new");
    let mut alone = Server::alone(&data, &[("LEDGER", "none")]).await;
    alone.start().await;
    alone.ready().await;
    let there = ranks(&alone).await;
    let lost = heard.iter().filter(|(who, rank)| there.get(*who) != Some(*rank));
    Some((lost.map(|(who, _)| who.clone()).collect(), heard.len()))
}

/// Kills imports after so many, and so many more, messages to the store, until one comes to its end.
async fn killed_imports(setup: Setup<'_>) {
    let Some(scene) = Scene::without_nodes(setup).await else { return };
    let folder = Folder::new("moves");
    let text = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut alone = embedded(&folder.path().join("one")).await;
    alone.talk().open("spring", 1_000).await;
    for number in 1..=5 {
        alone.talk().wins("spring", &format!("s{number}")).await;
    }
    assert!(alone.ends().await.success());
    let file = text("file");
    let first = done(&["journal", "export", "--data", &text("one"), "--output", &file]);
    let (mut killed, url) = (0, scene.url());
    for messages in (1..).step_by(2) {
        assert!(messages < 1_000, "no import comes to its end");
        let proxy = Proxy::start(scene.port()).await;
        // So that there is time for the kill between two messages.
        proxy.set(ProxyFault::Delay(Duration::from_millis(10)));
        let through = scene.url_through(proxy.port());
        let to = ["journal", "import", &file, "--store", &through, "--ledger", "none"];
        let mut import = verb(&to).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let ended = loop {
            if let Some(ended) = import.try_wait().unwrap() {
                break Some(ended);
            }
            if proxy.requests() >= messages {
                import.kill().unwrap();
                import.wait().unwrap();
                break None;
            }
            sleep(Duration::from_micros(100)).await;
        };
        if ended.is_some_and(|ended| ended.success()) {
            break;
        }
        assert_eq!(ended, None, "it was not killed");
        killed += 1;
        let (code, said) = run(&["journal", "verify", "--store", &url]);
        if code == 0 {
            // Killed after the last step, before it said so.
            break;
        }
        assert_eq!((code, said.contains("has no space")), (3, true), "{said}");
    }
    assert!(killed > 3, "the story is about nothing: {killed} were killed");
    let audited = done(&["audit", "--store", &url]);
    assert_eq!(audited["digest_recomputed"], first["digest"]);
    assert_eq!(audited["ok"], true, "{audited}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_into_a_folder_that_is_killed_leaves_no_journal_and_can_be_run_again() {
    let folder = Folder::new("moves");
    let text = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut alone = embedded(&folder.path().join("one")).await;
    alone.talk().open("spring", 1_000).await;
    alone.talk().wins("spring", "ann").await;
    assert!(alone.ends().await.success());
    let file = text("file");
    let first = done(&["journal", "export", "--data", &text("one"), "--output", &file]);
    let (mut killed, mut millis, mut again) = (0, 0, 0);
    loop {
        millis += 1;
        assert!(millis < 1_000, "no import comes to its end");
        let to = ["journal", "import", &file, "--data", &text("new")];
        let mut import = verb(&to).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_millis(millis)).await;
        let has_ended = import.try_wait().unwrap().is_some_and(|ended| ended.success());
        if !has_ended {
            import.kill().unwrap();
            import.wait().unwrap();
        }
        // It came to its end, or was killed after its last step.
        if folder.path().join("new/journal.sqlite").exists() {
            if killed > 0 {
                break;
            }
            // None was killed before, on a busy machine: from the beginning.
            (millis, again) = (0, again + 1);
            assert!(again < 20, "no import was killed in time");
            std::fs::remove_dir_all(folder.path().join("new")).unwrap();
            continue;
        }
        assert!(!has_ended, "it made no journal");
        killed += 1;
    }
    let audited = done(&["audit", "--data", &text("new")]);
    assert_eq!((&audited["digest_recomputed"], &audited["ok"]), (&first["digest"], &true.into()));
    let alone = embedded(&folder.path().join("new")).await;
    assert_eq!(alone.talk().wins("spring", "ann").await, 1);
    assert_eq!(alone.talk().wins("spring", "bob").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_altered_is_refused_and_nothing_changes() {
    let Some(scene) = Scene::without_nodes(Setup::default()).await else { return };
    let folder = Folder::new("moves");
    let text = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut alone = embedded(&folder.path().join("one")).await;
    alone.talk().open("spring", 1_000).await;
    alone.talk().wins("spring", "ann").await;
    assert!(alone.ends().await.success());
    done(&["journal", "export", "--data", &text("one"), "--output", &text("file")]);
    let mut bytes = std::fs::read(text("file")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(text("file"), bytes).unwrap();
    let url = scene.url();
    for to in [["--store", &url[..]], ["--data", &text("new")]] {
        let file = text("file");
        let (code, said) = run(&[&["journal", "import", &file][..], &to].concat());
        assert_eq!((code, said.contains("torn or altered")), (1, true), "{said}");
    }
    assert_eq!(scene.redis().ask("DBSIZE"), ":0");
    assert!(!folder.path().join("new").exists());
    let (code, said) = run(&["audit", "--file", &text("file")]);
    assert_eq!((code, said.contains("torn or altered")), (1, true), "{said}");
}
