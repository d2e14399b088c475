//! A store whose settings are turned down under servers that run: claims are refused until they are back, and everybody is
//! told why.

use crate::primary::Primary;
use crate::scene::{Scene, Setup};
use crate::server::{PATIENCE, Server};
use crate::space::{logged, until};
use crate::talk::condition;
use firstcome_testbed::RedisSettings;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The longest time until an idle server has noticed, and a moment.
const NOTICED_WITHIN: Duration = Duration::from_secs(13);

/// What the operator of a store does.
struct Change<'a> {
    /// What it is about.
    setting: &'a str,
    down: &'a str,
    back: &'a str,
    /// What must be named as the remedy.
    fix: &'a str,
}

/// Does what an operator does, so that it is in effect afterwards.
async fn run(scene: &Scene, words: &str) {
    match &scene.primary {
        Primary::Redis(redis) => assert_eq!(redis.ask(words), "+OK"),
        Primary::Postgres(postgres) => {
            postgres.sql("postgres", words);
            postgres.sql("postgres", "SELECT pg_reload_conf()");
            sleep(Duration::from_millis(200)).await;
        }
        Primary::MariaDb(mariadb, _) => drop(mariadb.sql(words)),
        Primary::Cluster(_) | Primary::Nats(_) | Primary::NatsCluster(_) => {
            panic!("no story of it has an operator")
        }
    }
}

/// Counts the lines of an event.
fn lines(server: &Server, event: &str) -> usize {
    server.errors().matches(&format!("\"event\":\"{event}\"")).count()
}

/// Waits until a server says that it is not ready, and why; everything that it says then agrees.
async fn is_not_ready(server: &Server, change: &Change<'_>, since: Instant) {
    let is_said = |said: &str| {
        let words = ["\"reasons\":[\"durability_unproven: ", change.setting, change.fix];
        words.iter().all(|word| said.contains(word))
    };
    let said = loop {
        let said = condition(server.port()).await;
        if is_said(&said) {
            break said;
        }
        assert!(since.elapsed() < NOTICED_WITHIN, "{said} {}", server.errors());
        sleep(Duration::from_millis(20)).await;
    };
    assert!(said.contains("\"durability\":\"memory: "), "{said}");
    assert!(said.contains("\"durability_trouble\":\"durability_unproven: "), "{said}");
    assert_eq!(server.talk().count("firstcome_durability_trouble").await, 1);
    assert_eq!(server.talk().count("firstcome_ready").await, 0);
}

async fn is_ready(server: &Server) -> Value {
    let fsync = |said: &Value| {
        let name = said["durability"].as_str().unwrap_or_default();
        said["status"] == "ready" && name.starts_with("fsync: ")
    };
    let said = until(server, "/readyz", fsync).await;
    assert_eq!(said["durability_trouble"], Value::Null, "{said}");
    said
}

async fn is_turned_down_and_back(setup: Setup<'_>, change: Change<'_>, at_once: bool) {
    let Some(mut scene) = Scene::without_nodes(setup).await else { return };
    scene.change("DURABILITY", "fsync");
    scene.add().await;
    scene.add().await;
    scene.change("WHEN_LESS_DURABLE", "warn");
    scene.add().await;
    scene.all_ready().await;
    // Nobody asks the second one for anything.
    let [busy, idle, warns] = &scene.nodes[..] else { panic!("there are three") };
    busy.talk().open("spring", 100_000).await;
    let mut won = 0;
    for round in 0..2 {
        for server in &scene.nodes {
            is_ready(server).await;
        }
        let mut claims = 0;
        let mut claim = async || {
            claims += 1;
            busy.talk().claim("spring", &format!("ann-{round}-{claims}")).await
        };
        assert_eq!(claim().await["outcome"], "won");
        won += 1;
        run(&scene, change.down).await;
        let since = Instant::now();
        if !at_once {
            // Until the next look it is not known.
            while claim().await["outcome"] == "won" {
                won += 1;
                assert!(since.elapsed() < NOTICED_WITHIN, "{}", busy.errors());
                sleep(Duration::from_millis(50)).await;
            }
        }
        let mut refused = 0;
        while refused < 20 || since.elapsed() < Duration::from_secs(1) {
            let said = claim().await;
            assert_eq!((&said["outcome"], &said["changed"]), (&"unavailable".into(), &"no".into()));
            assert!(said["detail"].to_string().contains(change.fix), "{said}");
            refused += 1;
        }
        if at_once {
            is_not_ready(busy, &change, Instant::now() - (NOTICED_WITHIN - Duration::from_secs(3)))
                .await;
        }
        for server in [busy, idle] {
            is_not_ready(server, &change, since).await;
        }
        let warned = |said: &Value| {
            said["status"] == "ready" && said["durability_trouble"].to_string().contains(change.fix)
        };
        until(warns, "/readyz", warned).await;
        warns.talk().wins("spring", &format!("bob-{round}")).await;
        won += 1;
        run(&scene, change.back).await;
        for server in &scene.nodes {
            is_ready(server).await;
            let end = Instant::now() + PATIENCE;
            while lines(server, "durability_proven") <= round {
                assert!(Instant::now() < end, "{}", server.errors());
                sleep(Duration::from_millis(20)).await;
            }
            for event in ["durability_unproven", "durability_proven"] {
                assert_eq!(lines(server, event), round + 1, "{}", server.errors());
            }
            // It is no store that is lost: that is said only where one does not answer, as on a busy machine.
            let errors = server.errors();
            let mut lost = errors.lines().filter(|line| line.contains("\"event\":\"store_lost\""));
            assert!(lost.all(|line| line.contains("does not answer:")), "{errors}");
        }
        busy.talk().wins("spring", &format!("cid-{round}")).await;
        won += 1;
    }
    let agreed = scene.agrees("spring").await;
    assert_eq!(agreed.results.len(), won, "what was refused is not there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_whose_fsync_is_turned_off_gets_no_claim_until_it_is_on_again() {
    let change = Change {
        setting: "fsync is off",
        down: "ALTER SYSTEM SET fsync = off",
        back: "ALTER SYSTEM SET fsync = on",
        fix: "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()",
    };
    is_turned_down_and_back(Setup::on_postgres(), change, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb_whose_commits_do_not_wait_for_the_disk_gets_no_claim_until_they_do_again() {
    let change = Change {
        setting: "innodb_flush_log_at_trx_commit is not 1",
        down: "SET GLOBAL innodb_flush_log_at_trx_commit = 0",
        back: "SET GLOBAL innodb_flush_log_at_trx_commit = 1",
        fix: "SET GLOBAL innodb_flush_log_at_trx_commit = 1",
    };
    is_turned_down_and_back(Setup::on_mariadb(), change, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_that_does_not_sync_its_file_any_more_gets_no_claim_after_the_next_look() {
    let more = ["--appendonly", "yes", "--appendfsync", "always"].map(str::to_owned).into();
    let redis = RedisSettings { more, ..RedisSettings::default() };
    let change = Change {
        setting: "fsync needs it to write to the disk before each answer",
        down: "CONFIG SET appendfsync no",
        back: "CONFIG SET appendfsync always",
        fix: "CONFIG SET appendfsync always",
    };
    is_turned_down_and_back(Setup { redis, ..Setup::default() }, change, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standbys_that_commits_wait_for_are_named_as_they_come_and_go() {
    let setup = Setup { replica: true, ..Setup::on_postgres() };
    let Some(mut scene) = Scene::without_nodes(setup).await else { return };
    scene.add().await.ready().await;
    let server = &scene.nodes[0];
    let alone = is_ready(server).await["durability"].clone();
    logged(server, "store_warning").await;
    let warnings = lines(server, "store_warning");
    run(&scene, "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'").await;
    let names = |said: &Value| said["durability"].to_string().contains("ANY 1 (*)");
    let said = until(server, "/readyz", names).await;
    assert_eq!((&said["status"], &said["durability_trouble"]), (&"ready".into(), &Value::Null));
    logged(server, "durability_changed").await;
    assert_eq!(lines(server, "store_warning"), warnings);
    run(&scene, "ALTER SYSTEM SET synchronous_standby_names = ''").await;
    until(server, "/readyz", |said| said["durability"] == alone).await;
    let end = Instant::now() + PATIENCE;
    while lines(server, "store_warning") == warnings {
        assert!(Instant::now() < end, "{}", server.errors());
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(lines(server, "durability_changed"), 2, "{}", server.errors());
    assert_eq!(lines(server, "durability_unproven"), 0, "{}", server.errors());
}
