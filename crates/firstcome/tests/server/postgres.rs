//! A server whose ledger is in PostgreSQL.

use crate::process::{Server, cannot_serve, serve, verb};
use crate::settling::{has_term, settled};
use crate::wire::Talk;
use firstcome_testbed::{Postgres, PostgresSettings};
use serde_json::{Value, json};

/// How long a test waits for a database that came back before it gives up.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);

/// Returns the numbers in the ledger of a space, in order.
fn numbers(server: &Postgres, space: &str) -> Vec<u64> {
    let sql = format!("SELECT number FROM firstcome_{space}.results ORDER BY 1");
    server.sql("ledger", &sql).lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn killed_while_it_settles_it_settles_every_result_once() {
    let Some(postgres) = Postgres::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = postgres.url();
    let settings = [("SETTLE_INTERVAL_MS", "1"), ("LEDGER", &url), ("SPACE", "killed")];
    let mut claims = 0;
    for round in 0..5 {
        let server = Server::with(folder.path(), &settings);
        let mut talk = server.talk();
        if round == 0 {
            talk.open_campaign("drop", 1_000_000);
        }
        has_term(&mut talk);
        for _ in 0..100 {
            claims += 1;
            talk.claim("drop", &format!("s{claims}")).says(201, "won");
        }
        let cancel = format!("/v1/campaigns/drop/claims/s{claims}?rank={claims}&by=subject");
        talk.try_ask("DELETE", &cancel, None).unwrap().says(200, "cancelled");
        server.kill();
    }
    let server = Server::with(folder.path(), &settings);
    let mut talk = server.talk();
    assert_eq!(settled(&mut talk), 5 * 101);
    assert_eq!(numbers(postgres, "killed"), (1..=5 * 101).collect::<Vec<_>>());
    let status = talk.get("/v1/settling").json();
    assert_eq!((&status["ledger"], &status["lag"]), (&json!("postgres"), &json!(0)));
    assert!(status["term"].as_u64() >= Some(6), "{status}");
    // Closed and archived, its results come from the database.
    let before = talk.get("/v1/campaigns/drop/results?limit=10000").json();
    talk.post("/v1/campaigns/drop/close", &json!({})).says(200, "changed");
    talk.post("/v1/campaigns/drop/archive", &json!({})).says(200, "changed");
    let after = talk.get("/v1/campaigns/drop/results?limit=10000").json();
    assert_eq!(before["results"], after["results"]);
    let settings = [("LEDGER", &*url), ("SPACE", "killed")];
    let (code, said, why) = verb(folder.path(), &settings, &["audit", "--json"]);
    assert_eq!(code, 0, "{said}{why}");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["ledger_equal"], json!(true));
}

#[test]
fn a_database_that_is_gone_stops_no_sale_and_loses_nothing() {
    let settings = PostgresSettings { fsync: true, ..PostgresSettings::default() };
    let Some(mut postgres) = Postgres::with(settings) else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = postgres.url();
    let settings = [("SETTLE_INTERVAL_MS", "1"), ("LEDGER", &*url)];
    postgres.kill();
    // Gone at the start already.
    let server = Server::with(folder.path(), &settings);
    let mut talk = server.talk();
    talk.open_campaign("drop", 1_000);
    for round in 0..3 {
        for n in 0..10 {
            talk.claim("drop", &format!("s{round}-{n}")).says(201, "won");
        }
        let ready = loop {
            let ready = talk.get("/readyz");
            if ready.json()["settle_trouble"].is_string() {
                break ready;
            }
        };
        assert_eq!(ready.status, 200);
        let (ready, text) = (ready.json(), talk.get("/metrics").text());
        assert_eq!(ready["lag"], json!(10));
        assert!(text.contains("firstcome_results_waiting 10\n"), "{text}");
        // Its leader is there, only the ledger is not.
        assert_eq!(ready["leaderless_ms"], json!(0));
        assert!(text.contains("firstcome_leaderless_seconds 0\n"), "{text}");
        let (code, said, _) = verb(folder.path(), &[], &["settle", "status"]);
        assert!(code == 1 && said.contains("waiting  10 results") && said.contains("out of reach"));
        postgres.restart();
        // It may be some seconds until the next try, and a busy disk may take its time with the first connection.
        let begun = std::time::Instant::now();
        while talk.get("/readyz").json()["lag"] != json!(0) {
            assert!(begun.elapsed() < PATIENCE, "{}", talk.get("/readyz").text());
        }
        assert_eq!(settled(&mut talk), (round + 1) * 10);
        postgres.kill();
    }
    postgres.restart();
    assert_eq!(numbers(&postgres, "main"), (1..=30).collect::<Vec<_>>());
}

#[test]
fn where_the_database_is_is_told_to_nobody_without_a_key() {
    let folder = tempfile::tempdir().unwrap();
    // Nothing listens there.
    let url = "postgres://ann@127.0.0.1:1/shop";
    let server = Server::with(folder.path(), &[("LEDGER", url)]);
    let mut talk = server.talk();
    let begun = std::time::Instant::now();
    let trouble = loop {
        if let Some(trouble) = talk.get("/readyz").json()["settle_trouble"].as_str() {
            break trouble.to_owned();
        }
        assert!(begun.elapsed() < PATIENCE);
    };
    assert!(trouble.contains("127.0.0.1:1"), "{trouble}");
    for key in ["a-guessed-key---", ""] {
        let ready = Talk::to(server.address, key).unwrap().get("/readyz");
        assert_eq!(
            (ready.status, &ready.json()["settle_trouble"]),
            (200, &json!("ledger_unavailable"))
        );
        assert!(!ready.text().contains("127.0.0.1:1"), "{}", ready.text());
    }
}

#[test]
fn a_database_that_cannot_be_used_is_said_at_the_start() {
    let Some(postgres) = Postgres::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let wrong = postgres.url().replace("secret-of", "wrong");
    let why = cannot_serve(serve(folder.path(), &[("LEDGER", &wrong)]));
    assert!(why.contains("password authentication failed"), "{why}");
    assert!(why.contains("check user and password") && !why.contains("wrong-the-tests"), "{why}");
    // The ledger of another journal.
    let url = postgres.url();
    let settings = [("LEDGER", &*url), ("SPACE", "taken")];
    has_term(&mut Server::with(folder.path(), &settings).talk());
    let other = tempfile::tempdir().unwrap();
    let why = cannot_serve(serve(other.path(), &settings));
    assert!(why.contains("the ledger is of space"), "{why}");
}
