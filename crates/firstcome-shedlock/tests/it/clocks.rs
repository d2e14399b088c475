//! Clients whose clocks are an hour off, in processes of their own.

use std::process::Stdio;

use firstcome_shedlock::{PostgresOptions, ShedLock, Table};
use firstcome_testbed::Postgres;
use tokio::process::Command;

use crate::scene::{fresh, on};
use crate::stage::{SECOND, ms};

const URL: &str = "FIRSTCOME_TEST_SHEDLOCK_URL";
const TABLE: &str = "FIRSTCOME_TEST_SHEDLOCK_TABLE";
const MODE: &str = "FIRSTCOME_TEST_SHEDLOCK_MODE";

fn table(name: &str, client_time: bool) -> Table {
    let table = Table::default().name(name);
    if client_time { table.client_time() } else { table }
}

/// Tries to take `x` once and says what came of it; nothing, in the process that runs the tests.
#[tokio::test]
async fn an_actor() {
    let Ok(url) = std::env::var(URL) else { return };
    let table = table(&std::env::var(TABLE).unwrap(), std::env::var(MODE).unwrap() == "client");
    let client = ShedLock::postgres(PostgresOptions::new(url), table).await.unwrap();
    let lock = client.lock("x", 60 * SECOND, ms(0)).await.unwrap();
    println!("\ngot {}", lock.is_some());
    if let Some(lock) = lock {
        lock.unlock().await.unwrap();
    }
}

/// Returns whether a process whose clock is off by `hours` gets `x`, and is able to give it back.
async fn gets(server: &Postgres, name: &str, client_time: bool, hours: i64) -> bool {
    let output = Command::new("faketime")
        .args(["-f", &format!("{hours:+}h")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "clocks::an_actor", "--nocapture"])
        // What runs on the monotonic clock goes on running, as it does on a real machine.
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env(URL, server.url())
        .env(TABLE, name)
        .env(MODE, if client_time { "client" } else { "database" })
        .stderr(Stdio::inherit())
        .output()
        .await
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines().find_map(|line| line.strip_prefix("got ")).unwrap_or_else(|| panic!("{said}"))
        == "true"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_the_databases_clock_nobody_elses_matters() {
    let Some(server) = Postgres::shared() else { return };
    let name = fresh("clock");
    let ann = on(server, table(&name, false)).await;
    for hours in [1, -1] {
        let lock = ann.lock("x", 600 * SECOND, ms(0)).await.unwrap().expect("it is free");
        assert!(!gets(server, &name, false, hours).await);
        lock.unlock().await.unwrap();
        assert!(gets(server, &name, false, hours).await);
    }
}

/// What client time is worth: a clock that is ahead takes what is held, one behind is refused what is free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_the_clients_clocks_they_have_to_agree() {
    let Some(server) = Postgres::shared() else { return };
    let name = fresh("clock");
    let ann = on(server, table(&name, true)).await;
    let held = ann.lock("x", 600 * SECOND, ms(0)).await.unwrap().expect("it is free");
    assert!(!gets(server, &name, true, 0).await);
    assert!(gets(server, &name, true, 1).await, "two hold it");
    assert!(held.remaining() > 300 * SECOND);
    // It was given back by a clock that is ahead, so it is not free here for an hour.
    assert!(ann.lock("x", 600 * SECOND, ms(0)).await.unwrap().is_none());
    let lock = ann.lock("y", 600 * SECOND, ms(0)).await.unwrap().expect("it is free");
    lock.unlock().await.unwrap();
    assert!(!gets(server, &name, true, -1).await);
}
