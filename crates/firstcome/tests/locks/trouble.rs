//! Whatever is in the way is named, with what to do.

use firstcome_testbed::{OldServer, RedisServer, RedisSettings, free_port};

use crate::scene::{program, said};

/// Runs the program with a store.
fn with_store(store: &str, args: &[&str]) -> crate::scene::Said {
    said(&program(args).env("FIRSTCOME_STORE", store).output().unwrap())
}

const LOCK: [&str; 4] = ["lock", "a", "--", "true"];
const ELECT: [&str; 4] = ["elect", "a", "--", "true"];

#[test]
fn without_a_store_there_is_nowhere_to_keep_a_lock() {
    for args in [LOCK, ELECT] {
        let said = said(&program(&args).output().unwrap());
        said.complains(125, "no store is given", "FIRSTCOME_STORE");
        with_store("", &args).complains(125, "no store is given", "--store");
    }
    let said = said(&program(&["locks", "list"]).output().unwrap());
    said.complains(2, "no store is given", "--store redis://");
}

#[test]
fn a_store_that_is_not_known_is_named() {
    with_store("oracle://localhost/x", &LOCK).complains(
        125,
        "this build keeps no locks in `oracle://`",
        "redis://",
    );
    with_store("localhost:6379", &LOCK).complains(125, "the store's address", "write redis://");
    with_store("etcd://h", &["locks", "list"]).complains(
        2,
        "this build keeps no locks in `etcd://`",
        "redis://",
    );
    with_store("mysql://h", &["locks", "list"]).complains(2, "the store's address", "mysql://user");
}

#[test]
fn a_store_that_is_away_is_named_and_the_command_does_not_run() {
    let place = format!("127.0.0.1:{}", free_port());
    let said = with_store(&format!("redis://{place}"), &["lock", "a", "--", "echo", "ran"]);
    assert!(said.out.is_empty() && said.talk.contains(&place), "{said:?}");
    said.complains(125, "the store at 127.0.0.1", "see that the server runs");
    with_store(&format!("redis://{place}"), &["locks", "inspect", "a", "--json"]).ends(3);
}

#[test]
fn a_wrong_password_is_said_and_never_printed() {
    let settings = RedisSettings { password: Some("right".to_owned()), ..RedisSettings::default() };
    let Some(redis) = RedisServer::with(settings) else { return };
    let url = redis.url().replace("right", "secret-but-wrong");
    let said = with_store(&url, &LOCK);
    assert!(!said.talk.contains("secret"), "{said:?}");
    said.complains(125, "the store denies access", "password");
    with_store(&redis.url(), &LOCK).ends(0);
}

#[test]
fn what_cannot_be_used_is_said_before_anything_happens() {
    let Some(redis) = RedisServer::start() else { return };
    let url = redis.url();
    let lock = |name: &str, more: &[&str]| {
        with_store(&url, &[&["lock", name], more, &["--", "echo", "ran"]].concat())
    };
    lock("", &[]).complains(125, "the lock's name cannot be used: it is empty", "4096");
    lock("a", &["--lease", "1ms"]).complains(125, "a lease of 1ms is outside", "range");
    lock("a", &["--lease", "0s"]).complains(125, "a lease of 0ns is outside", "range");
    lock(&"x".repeat(65_536), &[]).complains(125, "the lock's name cannot be used: it is", "4096");
    for name in ["{", "}", "{}", "a{", "{a", "a{}b", "a}b", "}a{", "a}", "{}a{b}"] {
        lock(name, &[]).complains(125, "the lock's name cannot be used: its braces", "user:{42}");
        let said = with_store(&url, &["elect", name, "--", "echo", "ran"]);
        said.complains(125, "the lock's name cannot be used: its braces", "user:{42}");
        let said = with_store(&url, &["locks", "inspect", name]);
        said.complains(2, "the lock's name cannot be used: its braces", "user:{42}");
    }
    for name in ["{a}", "a{b}", "{a}b", "a{b}c"] {
        assert_eq!(lock(name, &["--lease", "36525d", "--wait", "36525d"]).ends(0), "ran");
    }
    for option in ["--lease", "--wait", "--grace"] {
        for time in ["36526d", "99999999999999999999d", "18446744073709551615ms"] {
            let said = lock("a", &[option, time]);
            assert!(said.code == 125 && said.out.is_empty(), "{said:?}");
            assert!(said.talk.contains(time), "{said:?}");
        }
    }
    for said in [lock("a", &["--wait", "soon"]), lock("a", &["--lease", "5"]), lock("a", &["--x"])]
    {
        assert!(said.code == 125 && said.out.is_empty(), "{said:?}");
    }
    assert_eq!(with_store(&url, &["lock", "a"]).code, 125);
    assert_eq!(with_store(&url, &["elect", "a", "--every", "0s", "--", "true"]).code, 125);
    with_store(&url, &["lock", "--help"]).ends(0);
}

/// A second shell's verbs on a store that refuses: each names what is in the way.
#[test]
fn a_store_that_cannot_be_used_is_named() {
    let old = OldServer::start();
    for args in [LOCK, ELECT] {
        let said = with_store(&old.url(), &args);
        assert!(said.talk.contains("4.0.14") && said.talk.contains("clock"), "{said:?}");
        said.complains(125, "the store runs version", "newer server");
    }
    with_store(&old.url(), &["locks", "list"]).complains(3, "the store runs version", "newer");

    let Some(redis) = RedisServer::start() else { return };
    let settings = RedisSettings { replica_of: Some(redis.port()), ..RedisSettings::default() };
    let Some(replica) = RedisServer::with(settings) else { return };
    with_store(&replica.url(), &LOCK).complains(125, "the store at", "master's address");
    let said = with_store(&replica.url(), &["lock", "a", "--wait", "0s", "--", "true"]);
    said.complains(125, "the store at", "Sentinel");
    with_store(&replica.url(), &["locks", "release", "a"]).complains(3, "the store at", "master");

    assert_eq!(redis.ask("ACL SETUSER ann on >pw ~b ~fc:fence:{b} +@all"), "+OK");
    let url = format!("redis://ann:pw@127.0.0.1:{}", redis.port());
    with_store(&url, &LOCK).complains(
        125,
        "the store denies access",
        "the rights listed in the docs",
    );
    with_store(&url, &["locks", "inspect", "a"]).complains(
        3,
        "the store denies access",
        "the rights listed in the docs",
    );

    for words in ["SET a 1", "LPUSH boss 1", "HSET hash name bob"] {
        assert!(!redis.ask(words).starts_with('-'));
    }
    let url = redis.url();
    with_store(&url, &LOCK).complains(125, "a key holds a value of another kind", "another name");
    let said = with_store(&url, &["elect", "boss", "--", "true"]);
    said.complains(125, "a key holds a value of another kind", "another name");
    let said = with_store(&url, &["locks", "inspect", "hash"]);
    said.complains(3, "a key holds a value of another kind", "another name");
}
