//! Which crate may depend on which.

use crate::{cargo, root};
use serde_json::Value;

/// A crate, the crates of this workspace it may depend on, and what it is for.
type Row = (&'static str, &'static [&'static str], &'static str);

/// Every crate, each below the ones it depends on. Dependencies of tests, benches and examples alone are not listed.
const CRATES: [Row; 20] = [
    ("firstcome-inject", &[], "says which mistake is made on purpose; nothing in a shipped build"),
    ("firstcome-core", &["inject"], "the rules and the stored bytes, without clock or network"),
    ("firstcome-store", &[], "connections to Redis and SQL databases"),
    ("firstcome-lock-macros", &[], "the attribute `#[locked]`"),
    ("firstcome-lock", &["store", "lock-macros"], "distributed locks and elections"),
    ("firstcome-shedlock", &["store"], "locks shared with ShedLock of Java"),
    ("firstcome-journal", &["core", "inject", "store"], "the order of all commands, stored"),
    ("firstcome-faults", &["journal"], "a journal that loses calls and answers, for tests"),
    (
        "firstcome-virtual",
        &["core", "inject", "journal"],
        "a simulated store, clock and network that nodes can run on",
    ),
    (
        "firstcome-node",
        &["core", "inject", "journal", "lock", "store"],
        "one node: replica, ledger",
    ),
    ("firstcome-api", &[], "the documents of the HTTP interface"),
    ("firstcome-client", &["api"], "asks a server over HTTP"),
    ("firstcome-webhooks", &["core", "node"], "delivers results to other services"),
    (
        "firstcome-http",
        &["api", "core", "inject", "journal", "node", "webhooks"],
        "serves a node over HTTP",
    ),
    ("firstcome-rush", &["api", "client", "core"], "the load test and the demo"),
    (
        "firstcome",
        &[
            "api", "client", "core", "http", "inject", "journal", "lock", "node", "rush", "store",
            "webhooks",
        ],
        "the program: its command line and configuration",
    ),
    ("firstcome-model", &["core"], "the rules once more, which tests compare them with"),
    (
        "firstcome-sim",
        &["core", "inject", "journal", "lock", "model", "node", "virtual"],
        "the simulation: worlds of nodes that are drawn from a number, and their judge",
    ),
    ("firstcome-testbed", &[], "real servers for the tests"),
    ("xtask", &[], "the project's own tasks"),
];

/// Crates that a crate must not have below it, however deep.
const ABSENT: [(&str, &[&str]); 3] = [
    ("firstcome-node", &["axum", "hyper", "http", "clap", "utoipa"]),
    ("firstcome-model", &["tokio"]),
    ("firstcome-sim", &["axum", "clap", "utoipa"]),
];

#[test]
fn crates_depend_one_way() {
    let said = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let workspace: Value = serde_json::from_str(&said).expect("JSON");
    let packages = workspace["packages"].as_array().expect("packages");
    let mut wrong = Vec::new();
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let Some((_, allowed, purpose)) = CRATES.iter().find(|row| row.0 == name) else {
            wrong.push(format!("{name} is not in the table of crates"));
            continue;
        };
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            // Those of the build and of tests have a kind; those of the workspace have a path.
            if !dependency["kind"].is_null() || dependency["path"].is_null() {
                continue;
            }
            let on = dependency["name"].as_str().expect("a name");
            if !allowed.contains(&on.trim_start_matches("firstcome-")) {
                wrong.push(format!("{name} ({purpose}) depends on {on}"));
            }
        }
    }
    for (name, ..) in CRATES {
        if !packages.iter().any(|package| package["name"] == name) {
            wrong.push(format!("{name} is in the table of crates and does not exist"));
        }
    }
    // Cargo refuses loops by itself, but not those through the dependencies of tests.
    for (index, (name, allowed, _)) in CRATES.iter().enumerate() {
        let below = CRATES[..index].iter().map(|row| row.0.trim_start_matches("firstcome-"));
        let below: Vec<&str> = below.collect();
        for on in allowed.iter().filter(|on| !below.contains(on)) {
            wrong.push(format!("{name} stands above {on} in the table of crates"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn crates_do_not_bring_what_they_have_no_use_for() {
    let mut wrong = Vec::new();
    for (name, absent) in ABSENT {
        let tree = ["tree", "-p", name, "-e", "normal", "--all-features", "--prefix", "none"];
        for line in cargo(&tree).lines() {
            let on = line.split(' ').next().unwrap_or_default();
            if absent.contains(&on) {
                wrong.push(format!(
                    "{name} depends on {on}: cargo tree -p {name} -e normal -i {on}"
                ));
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Features of a published crate, and crates that must not come with them.
const WITHOUT: [(&str, &str, &[&str]); 9] = [
    (
        "firstcome-lock",
        "",
        &["redis", "rustls", "ring", "tokio-postgres", "mysql_async", "async-nats", "rusqlite"],
    ),
    ("firstcome-lock", "redis", &["rustls", "ring", "tokio-postgres", "mysql_async", "async-nats"]),
    ("firstcome-lock", "postgres", &["redis", "rustls", "ring", "mysql_async", "rusqlite"]),
    ("firstcome-lock", "mysql", &["redis", "rustls", "ring", "tokio-postgres", "rusqlite"]),
    ("firstcome-lock", "nats", &["redis", "tokio-postgres", "mysql_async", "rusqlite"]),
    ("firstcome-lock", "sqlite", &["redis", "rustls", "ring", "tokio-postgres", "mysql_async"]),
    ("firstcome-shedlock", "postgres", &["redis", "rustls", "ring", "firstcome-lock"]),
    ("firstcome-client", "", &["rustls", "ring", "firstcome-core", "jiff", "utoipa", "axum"]),
    ("firstcome-client", "tls", &["aws-lc-rs", "openssl", "firstcome-core", "jiff"]),
];

#[test]
fn a_store_brings_no_crate_of_another_one_and_tls_comes_when_asked_for() {
    for (name, features, absent) in WITHOUT {
        let tree = ["tree", "-p", name, "-e", "normal", "--prefix", "none"];
        let tree = cargo(&[&tree[..], &["--no-default-features", "--features", features]].concat());
        let brought: Vec<&str> = tree
            .lines()
            .filter_map(|line| line.split(' ').next())
            .filter(|on| absent.contains(on))
            .collect();
        assert_eq!(brought, [""; 0], "{name} with the features {features:?}");
    }
}

/// The shipped program can make no mistake on purpose, whatever its environment says.
#[test]
fn the_shipped_program_has_no_fault_injection() {
    let tree = ["tree", "-p", "firstcome", "--all-features", "--prefix", "none"];
    let with = |kinds: &str| {
        let tree = cargo(&[&tree[..], &["-e", kinds]].concat());
        let lines = tree.lines().filter(|line| line.starts_with("firstcome"));
        lines
            .filter(|line| line.contains(" feature \"inject\""))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(with("normal,build,features"), [""; 0]);
    assert_ne!(with("normal,build,dev,features"), [""; 0], "its own tests do have it");
}

/// A feature is for everybody who depends on a crate: this one is asked for by nobody else, and turns nothing off by itself.
#[test]
fn mistakes_of_locks_are_made_by_tests_and_the_simulation_alone() {
    let (mut callers, mut folders) = (Vec::new(), vec![root().join("crates")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let relative = path.strip_prefix(root()).expect("below it").display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if relative.contains("/src/") && relative.ends_with(".rs") {
                let text = std::fs::read_to_string(&path).expect("text");
                if text.contains("firstcome_lock::Mistake") {
                    callers.push(relative);
                }
            }
        }
    }
    callers.retain(|path| !path.starts_with("crates/xtask/"));
    assert_eq!(callers, ["crates/firstcome-sim/src/nodes.rs"]);
}
