//! `rehearse`: settings are tried with a crowd, in a space of their own, and nothing is left of it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::scene::{Said, Scene, said};

/// The pools of the settings.
const ALL: [&str; 3] = ["main", "hall", "codes"];
const PLACES: [&str; 1] = ["main"];

/// What every rehearsal here is small with.
const SMALL: [&str; 6] = ["--subjects", "120", "--connections", "20", "--seed", "7"];

/// Settings with a pool of each kind, or with places only, which takes less time.
fn write_settings(scene: &Scene, pools: &[&str]) {
    let seats: Vec<Value> = (1..=12)
        .map(|number| json!({"name": format!("A{number}"), "section": "A", "row": "1", "number": number.to_string()}))
        .collect();
    let all = [
        json!({"name": "main", "capacity": 50}),
        json!({"name": "hall", "kind": "seated", "seats": seats}),
        json!({"name": "codes", "kind": "coded", "capacity": 20, "codes": {"key": "2027-03"}}),
    ];
    let wanted = |pool: &Value| pools.contains(&pool["name"].as_str().unwrap());
    let pools: Vec<Value> = all.into_iter().filter(wanted).collect();
    let settings = json!({
        "title": "Summer", "opens_at": "2040-03-01T10:00:00[Asia/Seoul]", "closes_at": "2040-03-02T10:00:00Z",
        "limits": {"campaign": 2}, "hold_ttl_ms": 480_000, "pools": pools,
    });
    std::fs::write(scene.path().join("summer.json"), settings.to_string()).unwrap();
}

fn rehearse(scene: &Scene, more: &[&str], environment: &[(&str, &str)]) -> Said {
    let args = [&["rehearse", "summer.json"], &SMALL[..], more].concat();
    said(&scene.program(&args).envs(environment.iter().copied()).output().unwrap())
}

/// Everything that must be so of a rehearsal of these settings.
#[track_caller]
fn was_good(said: &Said, pools: &[&str]) {
    assert_eq!(said.code, 0, "{said:?}");
    let shown = said.json();
    assert_eq!(shown["kept"], true, "{shown}");
    let names: Vec<_> =
        shown["pools"].as_array().unwrap().iter().map(|p| p["pool"].clone()).collect();
    assert_eq!(names, pools);
    let main = &shown["pools"][0];
    assert_eq!((&main["claims"], &main["left"]), (&50.into(), &0.into()), "{main}");
    assert_eq!((&main["first_rank"], &main["last_rank"]), (&1.into(), &50.into()), "{main}");
    assert!(main["sold_out_after_ms"].is_u64() && main["rush"]["answered"] == 180, "{main}");
    assert_eq!(main["rush"]["promises"][0]["words"], "places = winners: 50 of 50", "{main}");
    // Somebody may leave with a seat when nobody else comes.
    let hall = &shown["pools"][1];
    let claims_and_left = hall["claims"].as_u64().zip(hall["left"].as_u64());
    let whole = claims_and_left.is_none_or(|(claims, left)| claims > 0 && claims + left == 12);
    assert!(whole, "{hall}");
    let proofs: Vec<_> =
        shown["proofs"].as_array().unwrap().iter().map(|p| p["name"].clone()).collect();
    assert_eq!(proofs, ["digest", "ledger"]);
    assert_eq!((&shown["audit"]["ok"], &shown["folder"]), (&true.into(), &Value::Null), "{shown}");
}

fn names_in(scene: &Scene) -> Vec<String> {
    let entries = std::fs::read_dir(scene.path()).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_rehearsal_beside_a_server_leaves_its_campaigns_and_its_folder_as_they_were() {
    let scene = Scene::new();
    write_settings(&scene, &ALL);
    let server = scene.serve();
    server
        .ask(&scene, &["campaign", "create", "spring", "--places", "5", "--opens", "now"])
        .ends(0);
    server.ask(&scene, &["claim", "spring", "ann"]).ends(0);
    let campaigns =
        || server.ask(&scene, &["campaign", "list", "--json"]).json()["campaigns"].clone();
    let before = (campaigns(), names_in(&scene));
    // A second time it is as the first time.
    for pools in [&ALL[..], &PLACES] {
        write_settings(&scene, pools);
        let said = rehearse(&scene, &["--json"], &[]);
        was_good(&said, pools);
        assert_eq!(said.json()["space"], "main-rehearsal");
        assert!(said.talk.contains("main: 50 units, 180 claims come"), "{said:?}");
        let note = said.talk.contains("a hold lasts 5 s instead of 480 s");
        assert_eq!(note, pools == ALL, "only where somebody holds: {said:?}");
        let (now, names) = (campaigns(), names_in(&scene));
        assert_eq!(now[0]["left"], 4, "{now}");
        assert_eq!((now.as_array().unwrap().len(), names), (1, before.1.clone()));
    }
    let said = rehearse(&scene, &["--in", "1s", "--requests", "300", "--rate", "2000"], &[]);
    assert!(said.code == 0 && said.talk.contains("opens in 1"), "{said:?}");
    for part in [
        "main (counted): 50 of 50 claimed, ranks 1 to 50, sold out",
        "[ok] the ledger has exactly these results",
        "[ok] every promise was kept",
        "p99.9",
    ] {
        assert!(said.out.contains(part), "{part:?} in {}", said.out);
    }
}

#[test]
fn a_file_that_cannot_be_rehearsed_is_refused_by_its_name() {
    let scene = Scene::new();
    let pool = |pool: Value| json!({"pools": [pool]}).to_string();
    for (text, why) in [
        ("nonsense".to_owned(), "is not JSON"),
        (r#"{"place": 5}"#.to_owned(), "unknown field `place`"),
        (pool(json!({"name": "main", "capacity": 0})), "summer.json: "),
        (pool(json!({"name": "hall", "kind": "seated"})), "pool hall has no seats"),
        (
            pool(json!({"name": "bring", "kind": "coded", "codes": {"source": "imported"}})),
            "pool bring has imported codes",
        ),
    ] {
        std::fs::write(scene.path().join("summer.json"), &text).unwrap();
        let said = rehearse(&scene, &[], &[]);
        assert!(said.code == 2 && said.talk.contains(why), "{text}: {said:?}");
        assert!(said.talk.contains("summer.json"), "{said:?}");
    }
    write_settings(&scene, &PLACES);
    let said = rehearse(&scene, &["--hold-ttl", "2d"], &[]);
    assert!(said.code == 2 && said.talk.contains("--hold-ttl"), "{said:?}");
    assert_eq!(rehearse(&scene, &["--in", "2h"], &[]).code, 2);
    // What the server refuses is refused, and leaves nothing.
    let huge = pool(json!({"name": "main", "capacity": 4_294_967_294_u32}));
    std::fs::write(scene.path().join("summer.json"), huge).unwrap();
    let said = rehearse(&scene, &[], &[]);
    assert!(said.code == 1 && said.talk.contains("memory"), "{said:?}");
    assert_eq!(names_in(&scene), ["summer.json"]);
    write_settings(&scene, &PLACES);
    // Where a folder of that name is something else, it is left alone.
    let other = scene.path().join("firstcome-data-rehearsal");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("mine"), "mine").unwrap();
    let said = rehearse(&scene, &[], &[]);
    assert!(said.code == 1 && said.talk.contains("no rehearsal made it"), "{said:?}");
    assert!(other.join("mine").exists());
}

/// A rehearsal that waits for its opening, whose server answers.
fn waiting(scene: &Scene, environment: &[(&str, &str)]) -> Child {
    let args = [&["rehearse", "summer.json", "--in", "1h"], &SMALL[..]].concat();
    let mut command = scene.program(&args);
    command.envs(environment.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let talk = BufReader::new(child.stderr.as_mut().unwrap());
    let opens = talk.lines().map(Result::unwrap).find(|line| line.contains("opens in"));
    assert!(opens.is_some(), "it ended");
    child
}

fn interrupt(mut child: Child) -> Option<i32> {
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    // Its talk is read to the end, so that it is not ended by a closed pipe instead.
    std::io::copy(child.stderr.as_mut().unwrap(), &mut std::io::sink()).unwrap();
    child.wait().unwrap().code()
}

#[test]
fn one_rehearsal_at_a_time_and_what_a_killed_one_left_is_cleared_away() {
    let scene = Scene::new();
    write_settings(&scene, &PLACES);
    let first = waiting(&scene, &[]);
    let said = rehearse(&scene, &[], &[]);
    assert!(said.code == 1 && said.talk.contains("a rehearsal is under way in"), "{said:?}");
    assert_eq!(interrupt(first), Some(130));
    assert_eq!(names_in(&scene), ["summer.json"]);
    let mut second = waiting(&scene, &[]);
    second.kill().unwrap();
    second.wait().unwrap();
    let folder = scene.path().join("firstcome-data-rehearsal");
    assert!(folder.exists());
    // Its server ends with it, and then the folder is nobody's.
    while firstcome_journal::folder::owner(&folder).is_some() {}
    was_good(&rehearse(&scene, &["--json"], &[]), &PLACES);
    assert_eq!(names_in(&scene), ["summer.json"]);
    let said = rehearse(&scene, &["--keep"], &[]);
    assert!(said.code == 0 && said.talk.contains("the next rehearsal removes it"), "{said:?}");
    let audit = scene.run(&["audit", "--data", "firstcome-data-rehearsal"]);
    assert_eq!(audit.code, 0, "{audit:?}");
    was_good(&rehearse(&scene, &["--json"], &[]), &PLACES);
}

#[test]
fn a_rehearsal_on_a_redis_has_a_space_of_its_own_and_removes_it() {
    use firstcome_testbed::RedisServer;
    let Some(redis) = RedisServer::start() else { return };
    let (scene, url) = (Scene::new(), redis.url());
    write_settings(&scene, &PLACES);
    let store = [("FIRSTCOME_STORE", url.as_str())];
    let server = scene.serve_with(&["--store", &url]);
    server
        .ask(&scene, &["campaign", "create", "spring", "--places", "5", "--opens", "now"])
        .ends(0);
    // The leader's lock has an end of its own.
    let keys = || redis.ask("EVAL \"return #redis.call('keys','fc:{main-rehearsal}:[^l]*')\" 0");
    for _ in 0..2 {
        was_good(&rehearse(&scene, &["--json"], &store), &PLACES);
        assert_eq!(keys(), ":0");
    }
    let first = waiting(&scene, &store);
    assert_ne!(keys(), ":0");
    let said = rehearse(&scene, &[], &store);
    assert!(
        said.code == 1 && said.talk.contains("under way in the space main-rehearsal"),
        "{said:?}"
    );
    assert_eq!(interrupt(first), Some(130));
    assert_eq!(keys(), ":0");
    let nodes = server.ask(&scene, &["nodes", "--json"]).json();
    assert_eq!(nodes["nodes"].as_array().map(Vec::len), Some(1), "{nodes}");
    let list = server.ask(&scene, &["campaign", "list", "--json"]).json();
    assert_eq!(
        (&list["campaigns"][0]["left"], &list["archived"]),
        (&5.into(), &json!([])),
        "{list}"
    );
    // A space of that name which somebody made for something else stays as it is.
    let other = Scene::new();
    let theirs = other.serve_with(&["--store", &url, "--space", "main-rehearsal"]);
    theirs
        .ask(&other, &["campaign", "create", "theirs", "--places", "5", "--opens", "now"])
        .ends(0);
    drop(theirs);
    let before = keys();
    assert_ne!(before, ":0");
    let said = rehearse(&scene, &[], &store);
    assert!(said.code == 1 && said.talk.contains("no rehearsal made it"), "{said:?}");
    assert_eq!(keys(), before);
    drop(redis);
    let said = rehearse(&scene, &[], &store);
    assert!(said.code == 3 && said.talk.contains("cannot be used"), "{said:?}");
}

#[test]
fn a_rehearsal_on_a_postgres_removes_its_schema() {
    let Some(postgres) = firstcome_testbed::Postgres::shared() else { return };
    let (scene, url) = (Scene::new(), postgres.new_database());
    write_settings(&scene, &ALL);
    was_good(
        &rehearse(&scene, &["--json", "--durability", "memory"], &[("FIRSTCOME_STORE", &url)]),
        &ALL,
    );
    let (_, database) = url.rsplit_once('/').unwrap();
    let left = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'f%'";
    assert_eq!(postgres.sql(database.split('?').next().unwrap(), left).trim(), "0");
}

#[test]
fn a_rehearsal_on_a_mariadb_removes_its_tables() {
    let Some(mariadb) = firstcome_testbed::MariaDb::shared() else { return };
    let (scene, url) = (Scene::new(), mariadb.new_database());
    write_settings(&scene, &ALL);
    was_good(
        &rehearse(&scene, &["--json", "--durability", "memory"], &[("FIRSTCOME_STORE", &url)]),
        &ALL,
    );
    let (_, database) = url.rsplit_once('/').unwrap();
    let left = format!(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{database}' AND table_name LIKE 'fc\\_%'"
    );
    assert_eq!(mariadb.sql(&left), "0");
}

#[test]
fn a_rehearsal_on_nats_has_streams_of_its_own_and_removes_them() {
    let Some(nats) = firstcome_testbed::Nats::start() else { return };
    let (scene, url) = (Scene::new(), nats.url());
    write_settings(&scene, &ALL);
    let store = [("FIRSTCOME_STORE", url.as_str())];
    let server = scene.serve_with(&["--store", &url]);
    server
        .ask(&scene, &["campaign", "create", "spring", "--places", "5", "--opens", "now"])
        .ends(0);
    let streams = || {
        let said = nats.ask("/jsz?streams=true").unwrap();
        let names = said.split("\"name\": \"").skip(1).filter_map(|rest| rest.split('"').next());
        names.filter(|name| name.contains("main-rehearsal")).count()
    };
    // A second time it is as the first time.
    for pools in [&ALL[..], &PLACES] {
        write_settings(&scene, pools);
        was_good(&rehearse(&scene, &["--json"], &store), pools);
        assert_eq!(streams(), 0);
    }
    let first = waiting(&scene, &store);
    assert_eq!(streams(), 2);
    let said = rehearse(&scene, &[], &store);
    assert!(
        said.code == 1 && said.talk.contains("under way in the space main-rehearsal"),
        "{said:?}"
    );
    assert_eq!(interrupt(first), Some(130));
    assert_eq!(streams(), 0);
    let list = server.ask(&scene, &["campaign", "list", "--json"]).json();
    assert_eq!(list["campaigns"][0]["left"], 5, "{list}");
    // A space of that name which somebody made for something else stays as it is.
    let other = Scene::new();
    let theirs = other.serve_with(&["--store", &url, "--space", "main-rehearsal"]);
    theirs
        .ask(&other, &["campaign", "create", "theirs", "--places", "5", "--opens", "now"])
        .ends(0);
    drop(theirs);
    let said = rehearse(&scene, &[], &store);
    assert!(said.code == 1 && said.talk.contains("no rehearsal made it"), "{said:?}");
    assert_eq!(streams(), 2);
}
