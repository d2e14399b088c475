//! Several servers on one Redis, PostgreSQL, MariaDB or NATS, as their operator meets them.

use firstcome_testbed::{Folder, MariaDb, Nats, Postgres, RedisServer};
use std::time::{Duration, Instant};

use crate::scene::{KEY, Said, Scene, Server, said};

/// Has a program be of a build that reads one level more than there is.
const NEXT_LEVEL: [(&str, &str); 1] = [("FIRSTCOME_INJECT_LEVEL", "1")];

/// Runs a verb that reads the store.
fn look(scene: &Scene, redis: &RedisServer, args: &[&str]) -> Said {
    look_at(scene, &redis.url(), args)
}

fn look_at(scene: &Scene, url: &str, args: &[&str]) -> Said {
    let mut command = scene.program(args);
    command.env("FIRSTCOME_STORE", url).env("FIRSTCOME_KEY", KEY);
    said(&command.output().unwrap())
}

fn create(scene: &Scene, server: &Server, campaign: &str) {
    server.ask(scene, &["campaign", "create", campaign, "--places", "9", "--opens", "now"]).ends(0);
}

/// Asks until something is so, at most for a minute.
fn within_a_minute(mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "it is not so after a minute");
    }
}

/// Waits until a server says that somebody leads.
fn leader(scene: &Scene, server: &Server) -> String {
    loop {
        let nodes = server.ask(scene, &["nodes", "--json"]).json();
        if let Some(node) = nodes["leader"]["node"].as_str() {
            return node.to_owned();
        }
    }
}

#[test]
fn an_operator_sees_the_servers_the_journal_and_that_all_agree() {
    let Some(redis) = RedisServer::start() else { return };
    let scene = Scene::new();
    sees_all(&scene, &redis.url(), &[]);
    assert_eq!(redis.ask("XDEL fc:{main}:journal 2-0"), ":1");
    finds_entry_2_missing(&scene, &redis.url());
}

#[test]
fn an_operator_sees_the_same_of_a_postgres_with_the_ledger_in_the_same_database() {
    let Some(postgres) = Postgres::shared() else { return };
    let url = postgres.new_database();
    let scene = Scene::new();
    sees_all(&scene, &url, &["--ledger", &url, "--durability", "memory"]);
    let (_, database) = url.rsplit_once('/').unwrap();
    let database = database.split('?').next().unwrap();
    postgres.sql(database, "DELETE FROM fc_journal_main.entries WHERE position = 2");
    finds_entry_2_missing(&scene, &url);
    let said = look_at(&scene, &url, &["journal", "verify", "--space", "other"]);
    assert!(said.code == 3 && said.talk.contains("no space \"other\""), "{said:?}");
}

#[test]
fn an_operator_sees_the_same_of_a_mariadb_with_the_ledger_on_the_same_server() {
    let Some(mariadb) = MariaDb::shared() else { return };
    let url = mariadb.new_database();
    let scene = Scene::new();
    // The ledger of another test's space would be that of this one.
    mariadb.sql("DROP DATABASE IF EXISTS firstcome_main");
    sees_all(&scene, &url, &["--ledger", &url, "--durability", "memory"]);
    let args = ["--store", &url, "--ledger", &url, "--durability", "memory"];
    let server = scene.serve_with(&args);
    while server.ask(&scene, &["settle", "status", "--json"]).json()["settled"] != 2 {}
    drop(server);
    assert_eq!(mariadb.sql("SELECT COUNT(*) FROM firstcome_main.claims_utc"), "2");
    let said = look_at(&scene, &url, &["audit", "--json", "--ledger", &url]).json();
    assert_eq!((&said["ledger_equal"], &said["ledger_through"]), (&true.into(), &2.into()));
    let (_, database) = url.rsplit_once('/').unwrap();
    mariadb.sql(&format!("DELETE FROM {database}.fc_journal_main_entries WHERE position = 2"));
    finds_entry_2_missing(&scene, &url);
    let said = look_at(&scene, &url, &["journal", "verify", "--space", "other"]);
    assert!(said.code == 3 && said.talk.contains("no space \"other\""), "{said:?}");
}

#[test]
fn an_operator_sees_the_same_of_a_nats_server() {
    let Some(nats) = Nats::start() else { return };
    let scene = Scene::new();
    sees_all(&scene, &nats.url(), &[]);
    let said = look_at(&scene, &nats.url(), &["journal", "verify", "--space", "other"]);
    assert!(said.code == 3 && said.talk.contains("no space \"other\""), "{said:?}");
}

#[test]
fn what_mariadb_cannot_keep_is_refused_before_anything_is_made() {
    let Some(mariadb) = MariaDb::shared() else { return };
    let url = mariadb.new_database();
    let scene = Scene::new();
    let refused = |more: &[&str]| {
        let args = [&["serve", "--listen", "127.0.0.1:0", "--store", &url], more].concat();
        let mut command = scene.program(&args);
        said(&command.env("FIRSTCOME_ADMIN_KEY", KEY).output().unwrap())
    };
    let said = refused(&["--durability", "copies=1"]);
    assert!(said.code == 2 && said.talk.contains("semi-synchronous"), "{said:?}");
    // The servers of the tests run with innodb_flush_log_at_trx_commit = 2.
    let said = refused(&[]);
    assert!(said.code == 3 && said.talk.contains("--durability memory"), "{said:?}");
    let said = refused(&["--space", &"x".repeat(42)]);
    assert!(said.code == 2 && said.talk.contains("fc_journal_SPACE_"), "{said:?}");
    let (_, database) = url.rsplit_once('/').unwrap();
    assert_eq!(mariadb.sql(&format!("SHOW TABLES IN {database}")), "");
}

#[test]
fn what_postgres_cannot_keep_is_refused_before_anything_is_made() {
    let Some(postgres) = Postgres::shared() else { return };
    let url = postgres.new_database();
    let scene = Scene::new();
    let refused = |more: &[&str]| {
        let args = [&["serve", "--listen", "127.0.0.1:0", "--store", &url], more].concat();
        let mut command = scene.program(&args);
        said(&command.env("FIRSTCOME_ADMIN_KEY", KEY).output().unwrap())
    };
    let said = refused(&["--durability", "copies=1"]);
    assert!(said.code == 2 && said.talk.contains("synchronous_standby_names"), "{said:?}");
    // The servers of the tests run with fsync = off.
    let said = refused(&[]);
    assert!(said.code == 3 && said.talk.contains("--durability memory"), "{said:?}");
    let said = refused(&["--space", &"x".repeat(51)]);
    assert!(said.code == 2 && said.talk.contains("fc_journal_SPACE"), "{said:?}");
    let (_, database) = url.rsplit_once('/').unwrap();
    let made = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'fc%'";
    assert_eq!(postgres.sql(database.split('?').next().unwrap(), made), "0");
}

/// Two servers share a store, and all that is shown of it agrees.
fn sees_all(scene: &Scene, url: &str, more: &[&str]) {
    let args = [&["--store", url][..], more].concat();
    let servers = [scene.serve_with(&args), scene.serve_with(&args)];
    create(scene, &servers[0], "spring");
    servers[1].ask(scene, &["claim", "spring", "ann"]).ends(0);
    servers[0].ask(scene, &["claim", "spring", "bob"]).ends(0);

    let leads = leader(scene, &servers[1]);
    let shown = loop {
        let shown = servers[1].ask(scene, &["nodes"]).ends(0);
        if servers.iter().all(|server| shown.contains(&server.url)) {
            break shown;
        }
    };
    assert!(
        shown.contains(&format!("{}, term ", &leads[..8])) && shown.contains("this one"),
        "{shown}"
    );
    assert!(servers[0].ask(scene, &["nodes", "forks"]).ends(0).contains("no report of a fork"));
    let said = servers[0].ask(scene, &["nodes", "reseed"]);
    assert!(said.code == 2 && said.talk.contains("use --yes"), "{said:?}");
    let said = servers[0].ask(scene, &["nodes", "reseed", "--yes"]);
    assert!(said.code == 1 && said.talk.contains("nothing_lost"), "{said:?}");

    let shown = look_at(scene, url, &["journal", "show"]).ends(0);
    assert!(shown.contains("subject ann") && shown.contains("subject bob"), "{shown}");
    assert_eq!(look_at(scene, url, &["journal", "verify", "--json"]).json()["ok"], true);
    let exported = look_at(scene, url, &["journal", "show", "--all", "--stored"]).ends(0);
    assert!(exported.lines().count() >= 3, "{exported}");
    let both = ["--server", &servers[0].url, "--server", &servers[1].url];
    let audit = look_at(scene, url, &[&["audit", "--json"], both.as_slice()].concat());
    assert_eq!(audit.code, 0, "{audit:?}");
    let report = audit.json();
    assert_eq!(report["from"], "beginning");
    assert_eq!(report["servers"].as_array().map(Vec::len), Some(2), "{report}");
    assert_eq!(report["servers"][1]["digest"], report["digest_recomputed"], "{report}");
}

fn finds_entry_2_missing(scene: &Scene, url: &str) {
    let said = look_at(scene, url, &["journal", "verify", "--json"]);
    assert_eq!((said.code, said.json()["position"].as_u64()), (1, Some(2)), "{said:?}");
    let said = look_at(scene, url, &["audit", "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(said.json()["differences"][0]["position"], 2, "{said:?}");
}

#[test]
fn a_store_that_was_emptied_gets_a_servers_state_on_the_operators_word() {
    let Some(redis) = RedisServer::start() else { return };
    reseeds(&redis.url(), || assert_eq!(redis.ask("FLUSHALL"), "+OK"));
}

#[test]
fn a_nats_server_that_was_emptied_gets_a_servers_state_on_the_operators_word() {
    let Some(mut nats) = Nats::start() else { return };
    reseeds(&nats.url(), || {
        nats.kill();
        nats.replace_data(&Folder::new("nats-empty"));
        nats.restart();
    });
}

fn reseeds(url: &str, empty: impl FnOnce()) {
    let scene = Scene::new();
    let server = scene.serve_with(&["--store", url]);
    create(&scene, &server, "spring");
    server.ask(&scene, &["claim", "spring", "ann"]).ends(0);
    empty();
    let said = loop {
        let said = server.ask(&scene, &["nodes", "reseed", "--yes", "--timeout", "30s"]);
        // It has not looked since.
        if !said.talk.contains("nothing_lost") {
            break said;
        }
    };
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.talk.contains("Kept: ") && said.talk.contains("Lost: "), "{said:?}");
    assert!(said.talk.lines().all(|line| line.chars().count() <= 80), "{said:?}");
    let said = server.ask(&scene, &["claim", "spring", "ann"]).ends(0);
    assert!(said.starts_with("ann already has rank 1 "), "{said}");
    assert!(server.ask(&scene, &["claim", "spring", "bob"]).ends(0).contains("rank 2"));
    let audit = look_at(&scene, url, &["audit", "--json", "--server", &server.url]);
    assert_eq!((audit.code, audit.json()["from"].as_str()), (0, Some("snapshot")), "{audit:?}");
}

#[test]
fn two_spaces_on_one_redis_never_touch() {
    let Some(redis) = RedisServer::start() else { return };
    let scene = Scene::new();
    let url = redis.url();
    let [east, west] =
        ["east", "west"].map(|space| scene.serve_with(&["--store", &url, "--space", space]));
    for server in [&east, &west] {
        create(&scene, server, "spring");
    }
    for subject in ["ann", "bob"] {
        east.ask(&scene, &["claim", "spring", subject]).ends(0);
    }
    assert!(west.ask(&scene, &["claim", "spring", "cem"]).ends(0).contains("rank 1"));
    for (space, server, has, lacks) in
        [("east", &east, "ann", "cem"), ("west", &west, "cem", "ann")]
    {
        let shown = look(&scene, &redis, &["journal", "show", "--space", space]).ends(0);
        assert!(shown.contains(has) && !shown.contains(lacks), "{shown}");
        let audit = look(&scene, &redis, &["audit", "--space", space, "--server", &server.url]);
        assert_eq!(audit.code, 0, "{audit:?}");
        let nodes = server.ask(&scene, &["nodes", "--json"]).json();
        assert_eq!(nodes["nodes"].as_array().map(Vec::len), Some(1), "{nodes}");
    }
    let keys = redis.ask("KEYS *");
    let strange = keys.lines().filter(|line| !line.starts_with(['*', '$']));
    let strange = strange.filter(|key| !key.contains("{east}") && !key.contains("{west}"));
    assert_eq!(strange.collect::<Vec<_>>(), [""; 0], "every key names its space");
}

/// Somebody else wrote over it. The entries are all there: the server begins with them, and the next snapshot takes its place.
#[test]
fn a_damaged_snapshot_keeps_no_server_from_starting_while_the_entries_are_there() {
    let Some(redis) = RedisServer::start() else { return };
    let (scene, url) = (Scene::new(), redis.url());
    let server = scene.serve_with(&["--store", &url]);
    create(&scene, &server, "spring");
    server.ask(&scene, &["claim", "spring", "ann"]).ends(0);
    drop(server);
    let garbage = [
        "HSET fc:{main}:manifests position zz bytes x pieces y",
        "HSET fc:{main}:manifests position 2 bytes x pieces 00000000000000000000000000000001",
    ];
    for wrong in garbage {
        assert_eq!(redis.ask("DEL fc:{main}:manifests"), ":0", "no snapshot was due");
        assert!(redis.ask(wrong).starts_with(':'), "{wrong}");
        let server = scene.serve_with(&["--store", &url, "--snapshot-every", "1s"]);
        server.ask(&scene, &["claim", "spring", "ann"]).ends(0);
        within_a_minute(|| redis.ask("HSTRLEN fc:{main}:manifests bytes").len() > 2);
        server.ask(&scene, &["claim", "spring", "bob"]).ends(0);
        drop(server);
        drop(scene.serve_with(&["--store", &url]));
        assert_eq!(redis.ask("DEL fc:{main}:manifests"), ":1");
    }
}

#[test]
fn servers_on_one_machine_settle_into_one_file_whoever_leads() {
    let Some(redis) = RedisServer::start() else { return };
    let scene = Scene::new();
    let url = redis.url();
    let args = ["--store", &url, "--ledger", "sqlite:ledger.sqlite", "--leader-lease-ms", "500"];
    let [first, second] = std::thread::scope(|starts| {
        let both = [(); 2].map(|()| starts.spawn(|| scene.serve_with(&args)));
        both.map(|start| start.join().unwrap())
    });
    create(&scene, &first, "spring");
    let settled = |server: &Server, count: u64| loop {
        let status = server.ask(&scene, &["settle", "status", "--json"]).json();
        if status["settled"] == count {
            break;
        }
        assert!(status["settled"].as_u64() < Some(count), "{status}");
    };
    first.ask(&scene, &["claim", "spring", "ann"]).ends(0);
    settled(&second, 1);
    let leads = leader(&scene, &second);
    // It may lead before the other one has heard that it is there.
    let at = loop {
        let nodes = second.ask(&scene, &["nodes", "--json"]).json();
        let nodes = nodes["nodes"].as_array().unwrap();
        if let Some(at) = nodes.iter().find(|node| node["node"] == leads.as_str()) {
            break at.clone();
        }
    };
    let (leader, other) =
        if at["address"] == first.url.as_str() { (first, second) } else { (second, first) };
    drop(leader);
    other.ask(&scene, &["claim", "spring", "bob"]).ends(0);
    settled(&other, 2);
    let ledger = ["--ledger", "sqlite:ledger.sqlite", "--server", &other.url, "--json"];
    let audit = look(&scene, &redis, &[&["audit"], ledger.as_slice()].concat());
    assert_eq!(audit.code, 0, "{audit:?}");
    assert_eq!(audit.json()["ledger_equal"], true);
    assert_eq!(audit.json()["ledger_through"], 2);

    // The file is lost with nobody there: who leads next says so, and names what brings it back.
    drop(other);
    for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
        drop(std::fs::remove_file(scene.path().join(name)));
    }
    let third = scene.serve_with(&args);
    let said = loop {
        let said = third.ask(&scene, &["settle", "status"]);
        if said.code == 1 {
            break said.out;
        }
    };
    assert!(said.contains("ledger_behind") && said.contains("firstcome settle rebuild"), "{said}");
    drop(third);
    let named = ["--ledger", "sqlite:ledger.sqlite", "--json"];
    let rebuilt = look(&scene, &redis, &[&["settle", "rebuild"], named.as_slice()].concat());
    assert_eq!(rebuilt.code, 0, "{rebuilt:?}");
    assert_eq!((&rebuilt.json()["written"], &rebuilt.json()["through"]), (&2.into(), &2.into()));
    let fourth = scene.serve_with(&args);
    fourth.ask(&scene, &["claim", "spring", "cid"]).ends(0);
    settled(&fourth, 3);

    // A server that was started without the ledger says what is wrong, not that there is none.
    drop(fourth);
    let fifth =
        scene.serve_with(&["--store", &url, "--ledger", "none", "--leader-lease-ms", "500"]);
    let said = loop {
        let said = fifth.ask(&scene, &["settle", "status"]);
        if said.code == 1 {
            break said.out;
        }
    };
    assert!(said.contains("ledger   none") && said.contains("no_ledger: "), "{said}");
    assert!(said.contains("restart this one with the same `ledger` setting"), "{said}");
}

/// Builds of the next level come one after the other; then the space is raised, and an older build does not come back.
#[test]
fn a_space_is_raised_by_an_admin_and_then_no_older_build_serves_it() {
    let Some(redis) = RedisServer::start() else { return };
    let scene = Scene::new();
    let url = redis.url();
    let next = || scene.serve_in(&["--store", &url], &NEXT_LEVEL);
    let servers = [scene.serve_with(&["--store", &url]), next()];
    create(&scene, &servers[0], "spring");
    servers[1].ask(&scene, &["claim", "spring", "ann"]).ends(0);
    assert!(servers[1].ask(&scene, &["nodes"]).ends(0).contains("level       1"));
    let asked = servers[1].ask(&scene, &["nodes", "raise-level"]);
    assert!(asked.code == 2 && asked.talk.contains("backup"), "{asked:?}");
    let refused = servers[1].ask(&scene, &["nodes", "raise-level", "--yes"]);
    assert!(refused.code == 1 && refused.talk.contains("reads up to level 1"), "{refused:?}");
    let [older, other] = servers;
    drop(older);
    let servers = [next(), other];
    // It was killed: the others wait until it was silent for ten seconds.
    within_a_minute(|| {
        servers[0].ask(&scene, &["nodes", "raise-level", "--yes"]).out.contains("at level 2")
    });
    servers[1].ask(&scene, &["claim", "spring", "bob"]).ends(0);
    within_a_minute(|| servers[1].ask(&scene, &["nodes"]).ends(0).contains("level       2"));
    within_a_minute(|| redis.ask("HGET fc:{main}:head level").contains('2'));
    let reads = |args: &[&str]| {
        let mut command = scene.program(args);
        command.env("FIRSTCOME_STORE", &url).env("FIRSTCOME_KEY", KEY).envs(NEXT_LEVEL);
        said(&command.output().unwrap())
    };
    let shown = reads(&["journal", "show"]).ends(0);
    assert!(shown.contains("raise, level 2"), "{shown}");
    let both = ["--server", &servers[0].url, "--server", &servers[1].url];
    let audit = reads(&[&["audit", "--json"], both.as_slice()].concat());
    assert_eq!(audit.code, 0, "{audit:?}");
    let mut older = scene.program(&["serve", "--listen", "127.0.0.1:0", "--store", &url]);
    let refused = said(&older.env("FIRSTCOME_ADMIN_KEY", KEY).output().unwrap());
    assert!(refused.code != 0 && refused.talk.contains("of level 2"), "{refused:?}");
}

#[test]
fn a_data_folder_is_raised_without_a_server() {
    let scene = Scene::new();
    let server = scene.serve();
    create(&scene, &server, "spring");
    let raise = ["journal", "raise-level"];
    let next = || said(&scene.program(&raise).envs(NEXT_LEVEL).output().unwrap());
    assert_ne!(next().code, 0, "a server has the folder");
    drop(server);
    assert!(scene.run(&raise).ends(0).contains("at level 1 already"));
    let next = next();
    assert!(next.clone().ends(0).contains("level 2"), "{next:?}");
    let refused = scene.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(refused.code != 0 && refused.talk.contains("of level 2"), "{refused:?}");
    let server = scene.serve_in(&[], &NEXT_LEVEL);
    server.ask(&scene, &["claim", "spring", "ann"]).ends(0);
    let nowhere = scene.run(&["journal", "raise-level", "--data", "nowhere"]);
    assert!(nowhere.code != 0 && !scene.path().join("nowhere").exists(), "{nowhere:?}");
}
