//! Stores that a server does not begin on: one sentence, one hint, and nothing changed.

use firstcome_testbed::{RedisServer, RedisSettings};

use crate::scene::{KEY, Said, Scene, said};

fn serve(scene: &Scene, args: &[&str]) -> Said {
    let mut command = scene.program(&["serve", "--listen", "127.0.0.1:0"]);
    said(&command.args(args).env("FIRSTCOME_ADMIN_KEY", KEY).output().unwrap())
}

/// Asserts that a server ends with this sentence and hint, and that the store is as it was.
#[track_caller]
fn refused(redis: &RedisServer, args: &[&str], sentence: &str, hint: &str) {
    let before = redis.ask("DEBUG DIGEST");
    let said = serve(&Scene::new(), args);
    assert_eq!((said.code, said.out.as_str()), (3, ""), "{said:?}");
    assert!(said.talk.contains(sentence), "{said:?}");
    let hints: Vec<&str> = said.talk.lines().filter(|line| line.starts_with("hint: ")).collect();
    assert!(hints.len() == 1 && hints[0].contains(hint), "{said:?}");
    assert_eq!(redis.ask("DEBUG DIGEST"), before, "the store must be as it was");
}

fn debuggable() -> Option<RedisServer> {
    let more = ["--enable-debug-command", "yes"].map(str::to_owned).to_vec();
    RedisServer::with(RedisSettings { more, ..RedisSettings::default() })
}

/// A store without a mark: nobody ran while it was emptied. What a server knows of a space from elsewhere it does not begin anew.
#[test]
fn a_server_that_knows_of_a_space_begins_no_other_in_an_emptied_store() {
    let Some(redis) = RedisServer::start() else { return };
    let (scene, url) = (Scene::new(), redis.url());
    let stays_empty = |more: &[&str], words: [&str; 2]| {
        let said = serve(&scene, &[&["--new-space", "--store", url.as_str()], more].concat());
        assert_eq!((said.code, said.out.as_str()), (3, ""), "{said:?}");
        for word in words {
            assert!(said.talk.contains(word), "{word}: {said:?}");
        }
        assert_eq!(redis.ask("DBSIZE"), ":0", "nothing is begun");
    };
    let ledger = ["--ledger", "sqlite:ledger.sqlite"];
    let both = [&["--store", url.as_str(), "--data", "kept"][..], &ledger].concat();
    drop(scene.serve_with(&both));
    let known = std::fs::read_to_string(scene.path().join("kept/spaces")).unwrap();
    let space = known.strip_prefix("main ").unwrap().trim();
    assert_eq!(redis.ask("FLUSHALL"), "+OK");
    stays_empty(&["--data", "kept"], ["kept/spaces", "nodes reseed"]);
    stays_empty(&ledger, ["the ledger is of space", space]);
    stays_empty(&["--space-id", space], ["nothing of space", space]);
    let silent = ["--ledger", "postgres://fc@127.0.0.1:1/none"];
    stays_empty(&silent, ["the ledger cannot be asked", "has no space \"main\""]);
    let said = serve(&scene, &["--space-id", "12", "--store", &url]);
    assert!(said.code == 2 && said.talk.contains("32 hexadecimal digits"), "{said:?}");
    std::fs::remove_file(scene.path().join("kept/spaces")).unwrap();
    drop(scene.serve_with(&["--store", &url, "--data", "kept"]));
    let begun = std::fs::read_to_string(scene.path().join("kept/spaces")).unwrap();
    assert_ne!(begun, known, "a new one");
    let both = ["--store", url.as_str(), "--data", "kept", "--space-id", space];
    let said = serve(&scene, &both);
    assert!(said.code == 3 && said.talk.contains("kept/spaces says"), "{said:?}");
    let other = ["--store", url.as_str(), "--space-id", space];
    let said = serve(&scene, &other);
    assert!(said.code == 3 && said.talk.contains("not of"), "{said:?}");
}

#[test]
fn a_server_ends_where_a_store_cannot_keep_what_is_promised() {
    let Some(redis) = debuggable() else { return };
    let url = redis.url();
    let with = |more: &[&'static str]| [&["--store", url.as_str()], more].concat();
    refused(
        &redis,
        &with(&["--durability", "copies=2"]),
        "copies=2 needs",
        "connect more replicas",
    );
    refused(
        &redis,
        &with(&["--durability", "fsync"]),
        "append-only file",
        "CONFIG SET appendonly yes",
    );
    assert_eq!(redis.ask("CONFIG SET maxmemory-policy allkeys-lru"), "+OK");
    refused(&redis, &with(&[]), "allkeys-lru", "CONFIG SET maxmemory-policy noeviction");
    assert_eq!(redis.ask("CONFIG SET maxmemory-policy noeviction"), "+OK");

    let replica = RedisSettings {
        replica_of: Some(redis.port()),
        more: ["--enable-debug-command", "yes"].map(str::to_owned).to_vec(),
        ..RedisSettings::default()
    };
    let replica = RedisServer::with(replica).unwrap();
    refused(
        &replica,
        &["--store", &replica.url()],
        "read-only replica",
        "give the master's address",
    );
    // One replica, and two are wanted.
    refused(
        &redis,
        &with(&["--durability", "copies=2"]),
        "copies=2 needs",
        "connect more replicas",
    );
}

#[test]
fn a_server_ends_where_the_keys_are_not_its_own() {
    let Some(redis) = debuggable() else { return };
    let store = ["--store".to_owned(), redis.url()];
    let store = [store[0].as_str(), store[1].as_str()];
    for (words, sentence) in [
        ("SET fc:{main}:head x", "the key fc:{main}:head is a string"),
        ("LPUSH fc:{main}:journal x", "the key fc:{main}:journal is a list"),
        ("HSET fc:{main}:head mine x", "a hash without a space"),
    ] {
        assert!(!redis.ask(words).starts_with('-'));
        refused(&redis, &store, sentence, "use another space name or another database");
        assert_eq!(redis.ask("FLUSHALL"), "+OK");
    }
    let newer = "HSET fc:{main}:head space 000102030405060708090a0b0c0d0e0f level 99 position 0";
    assert_eq!(redis.ask(newer), ":3");
    refused(&redis, &store, "the store is of level 99", "start a newer build of firstcome");
    for verb in [["journal", "verify"].as_slice(), &["journal", "show"], &["audit"]] {
        let scene = Scene::new();
        let said = scene.run(&[verb, &store].concat());
        assert!(said.code == 3 && said.talk.contains("hint: "), "{verb:?}: {said:?}");
    }
}

#[test]
fn a_server_ends_where_it_is_not_let_in() {
    let locked = RedisSettings { password: Some("secret".to_owned()), ..RedisSettings::default() };
    let Some(redis) = RedisServer::with(locked) else { return };
    let port = redis.port();
    let answer = redis.ask("ACL SETUSER ann on >pw ~* +info +ping +client");
    assert!(!answer.starts_with('-'), "{answer}");
    for (login, hint) in [
        ("", "check user and password"),
        (":wrong@", "check user and password"),
        ("ann:pw@", "docs/reference/in-redis.md"),
    ] {
        let url = format!("redis://{login}127.0.0.1:{port}");
        let said = serve(&Scene::new(), &["--store", &url]);
        assert_eq!((said.code, said.out.as_str()), (3, ""), "{said:?}");
        assert!(said.talk.contains("the store denies access"), "{said:?}");
        assert!(said.talk.contains(hint), "{login}: {said:?}");
        assert!(!said.talk.contains("wrong") && !said.talk.contains(":pw"), "{said:?}");
    }
    assert_eq!(redis.ask("DBSIZE"), ":0");
}

#[test]
fn a_store_that_is_away_is_said_to_be() {
    let said = serve(&Scene::new(), &["--store", "redis://127.0.0.1:1"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(
        said.talk.contains("cannot be reached") && said.talk.contains("hint: check that it runs")
    );
}

#[test]
fn a_ledger_of_one_server_is_refused_where_servers_share_a_store() {
    for more in [[].as_slice(), &["--data", "here"]] {
        let scene = Scene::new();
        let args = ["--store", "redis://127.0.0.1:1", "--ledger", "sqlite"];
        let said = serve(&scene, &[&args, more].concat());
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.talk.contains("whichever server leads must find the same ledger"), "{said:?}");
        assert!(!scene.path().join("here").exists());
    }
    let said = Scene::new().run(&["serve", "--store", "redis://127.0.0.1:1"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.talk.contains("set FIRSTCOME_ADMIN_KEY"), "{said:?}");
}
